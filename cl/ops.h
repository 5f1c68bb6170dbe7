/* SPDX-License-Identifier: MIT */
/* The operators, written once: valid C11 (host twins) and OpenCL C 1.2 (kernels), with the same bits in both.
 *
 * Parameters, defined before each inclusion (kernels: by -D; C includes the file once for each pair):
 *   DTYPE          a name of dtype.def: I8 ... BOOL
 *   OP             a name of op.def: SUM ... PREMUL_SUM; in kernels also USER, an operator of the caller's
 *   DIVIDE_IN_F64  for kernels on a device whose f32 division is not correctly rounded (OpenCL 1.2 allows 2.5 ulp):
 *                  divide as f64; rounding that quotient to f32 gives the right bits (53 >= 2 * 24 + 2).  Not by a
 *                  cast, of which NVIDIA's compiler makes an f32 division again.  src/dev defines it.
 *
 * Definitions for that pair:
 *   ELEM                      type of an element in memory (narrow types: its bits)
 *   ACC                       type of the accumulator: ELEM, but float for narrow types, which round once, when stored
 *   ACC  OPS(load)(p, i)      element p[i]; bool becomes 0 or 1
 *   void OPS(store)(p, i, a)  p[i] = a, rounded to nearest even
 *   OPS_FACTOR                type of a call's factor: ACC for floating-point types, float (unused) for the others
 *   ACC  OPS(raw)(a, factor)  the contribution of an original value (square_add: its square; premul_sum: factor * a;
 *                             logical operators: 1 or 0, and so are partial results)
 *   ACC  OPS(fold)(a, b)      a op b; sources are folded from left to right
 *   ACC  OPS(final)(a, n)     applied after the last source, n = number of ranks (mean divides)
 *   ACC  OPS(identity)()      fold(identity, a) = a
 * C names carry the parameters: OPS(fold) is op_F32_SUM_fold there and op_fold in a kernel.
 *
 * The rules: integer sums and products wrap (computed unsigned, so they are defined in C).  mean divides once, towards
 * zero, in signed arithmetic for signed types.  min and max keep a NaN, and the first of equal zeros.  bool: sum, max,
 * square_add are "or"; prod, min, mean (all of n values true) are "and".  minloc and maxloc take the lower index of
 * equal values and of two NaNs.  Payloads of NaNs are not promised. */

#define OPS_JOIN2_(a, b) a##b
#define OPS_JOIN2(a, b) OPS_JOIN2_(a, b)

#ifndef DTYPE
#error "DTYPE is not defined: a name of dtype.def, such as F32"
#endif
#ifndef OP
#error "OP is not defined: a name of op.def, such as SUM"
#endif

#ifndef CHOIR_CL_OPS_H /* what is needed once */
#define CHOIR_CL_OPS_H

/* For #if only; an unknown name is 0 there. */
#define OPS_DTYPE_I8 1
#define OPS_DTYPE_U8 2
#define OPS_DTYPE_I16 3
#define OPS_DTYPE_U16 4
#define OPS_DTYPE_I32 5
#define OPS_DTYPE_U32 6
#define OPS_DTYPE_I64 7
#define OPS_DTYPE_U64 8
#define OPS_DTYPE_F16 9
#define OPS_DTYPE_BF16 10
#define OPS_DTYPE_F32 11
#define OPS_DTYPE_F64 12
#define OPS_DTYPE_BOOL 13
#define OPS_DTYPE_F8E4M3 14
#define OPS_DTYPE_F8E5M2 15
#define OPS_DTYPE_F32_I32 16
#define OPS_DTYPE_F64_I32 17
#define OPS_DTYPE_I32_I32 18
#define OPS_DTYPE_I64_I32 19

#define OPS_OP_SUM 1
#define OPS_OP_PROD 2
#define OPS_OP_MIN 3
#define OPS_OP_MAX 4
#define OPS_OP_MEAN 5
#define OPS_OP_SQUARE_ADD 6
#define OPS_OP_LOGICAL_AND 7
#define OPS_OP_LOGICAL_OR 8
#define OPS_OP_BAND 9
#define OPS_OP_BOR 10
#define OPS_OP_BXOR 11
#define OPS_OP_LOCAL 12
#define OPS_OP_PREMUL_SUM 13
#define OPS_OP_LOGICAL_XOR 14
#define OPS_OP_MINLOC 15
#define OPS_OP_MAXLOC 16
#define OPS_OP_USER 255 /* of the caller's, in kernels only: its text defines user_fold and so on */

#define OPS_TYPE OPS_JOIN2(OPS_DTYPE_, DTYPE)
#define OPS_KIND OPS_JOIN2(OPS_OP_, OP)
#define OPS_IS_LOGICAL                                                                                                 \
	(OPS_KIND == OPS_OP_LOGICAL_AND || OPS_KIND == OPS_OP_LOGICAL_OR || OPS_KIND == OPS_OP_LOGICAL_XOR)
#define OPS_IS_NARROW                                                                                                  \
	(OPS_TYPE == OPS_DTYPE_F16 || OPS_TYPE == OPS_DTYPE_BF16 || OPS_TYPE == OPS_DTYPE_F8E4M3 ||                    \
	 OPS_TYPE == OPS_DTYPE_F8E5M2)
#define OPS_IS_SIGNED (OPS_TYPE == OPS_DTYPE_I8 || OPS_TYPE == OPS_DTYPE_I16 ||                                        \
	               OPS_TYPE == OPS_DTYPE_I32 || OPS_TYPE == OPS_DTYPE_I64)

#ifdef __OPENCL_VERSION__
#define OPS(name) op_##name
#define OPS_GLOBAL __global
#else
#define OPS(name) OPS_JOIN4(op, DTYPE, OP, name)
#define OPS_JOIN4_(a, b, c, d) a##_##b##_##c##_##d
#define OPS_JOIN4(a, b, c, d) OPS_JOIN4_(a, b, c, d)
#define OPS_GLOBAL
#endif

#endif /* once */

#include "ops_types.h"
#include "ops_dtype.h"

#if OPS_KIND == 0
#error "OP is no name of op.def"
#elif OPS_IS_PAIR && OPS_KIND != OPS_OP_MINLOC && OPS_KIND != OPS_OP_MAXLOC &&                                         \
    OPS_KIND != OPS_OP_LOCAL && OPS_KIND != OPS_OP_USER
#error "pairs have the operators MINLOC, MAXLOC and LOCAL"
#elif (OPS_KIND == OPS_OP_MINLOC || OPS_KIND == OPS_OP_MAXLOC) && !OPS_IS_PAIR
#error "MINLOC and MAXLOC are defined for pairs only"
#elif OPS_IS_LOGICAL && OPS_IS_FLOAT
#error "logical operators are not defined for floating-point types"
#elif (OPS_KIND == OPS_OP_BAND || OPS_KIND == OPS_OP_BOR || OPS_KIND == OPS_OP_BXOR) && OPS_IS_FLOAT
#error "bitwise operators are not defined for floating-point types"
#elif OPS_KIND == OPS_OP_PREMUL_SUM && !OPS_IS_FLOAT
#error "premul_sum is defined for floating-point types only"
#endif

#if OPS_KIND == OPS_OP_USER
#include "text_before.h"
/* CHOIR_TEXT */
#include "text_behind.h"
#ifndef USER_HAS_fold
#error "src/dev puts the text of the operator above: user_fold, and with a USER_HAS_ each raw, final and identity"
#endif
#endif

static inline ACC OPS(load)(const OPS_GLOBAL ELEM *p, size_t i)
{
#if OPS_TYPE == OPS_DTYPE_F16 && defined(__OPENCL_VERSION__)
	return vload_half(i, (const __global half *)p);
#elif OPS_TYPE == OPS_DTYPE_F16
	return ops_from_half(p[i]);
#elif OPS_TYPE == OPS_DTYPE_BF16
	return ops_from_bf16(p[i]);
#elif OPS_TYPE == OPS_DTYPE_F8E4M3
	return ops_from_f8e4m3(p[i]);
#elif OPS_TYPE == OPS_DTYPE_F8E5M2
	return ops_from_f8e5m2(p[i]);
#elif OPS_IS_BOOL
	return p[i] != 0;
#else
	return p[i];
#endif
}

static inline void OPS(store)(OPS_GLOBAL ELEM *p, size_t i, ACC a)
{
#if OPS_TYPE == OPS_DTYPE_F16 && defined(__OPENCL_VERSION__)
	vstore_half_rte(a, i, (__global half *)p);
#elif OPS_TYPE == OPS_DTYPE_F16
	p[i] = ops_to_half(a);
#elif OPS_TYPE == OPS_DTYPE_BF16
	p[i] = ops_to_bf16(a);
#elif OPS_TYPE == OPS_DTYPE_F8E4M3
	p[i] = ops_to_f8e4m3(a);
#elif OPS_TYPE == OPS_DTYPE_F8E5M2
	p[i] = ops_to_f8e5m2(a);
#else
	p[i] = a;
#endif
}

static inline ACC OPS(raw)(ACC a, OPS_FACTOR factor)
{
	(void)factor;
#if OPS_KIND == OPS_OP_USER && defined(USER_HAS_raw)
	return user_raw(a);
#elif OPS_KIND == OPS_OP_SQUARE_ADD && OPS_IS_FLOAT
	return a * a;
#elif OPS_KIND == OPS_OP_SQUARE_ADD && !OPS_IS_BOOL
	return (ACC)(1u * (OPS_UNSIGNED)a * (OPS_UNSIGNED)a); /* 1u: two u16 would be multiplied as int, and overflow */
#elif OPS_IS_LOGICAL && !OPS_IS_BOOL
	return a != 0;
#elif OPS_KIND == OPS_OP_PREMUL_SUM
	return a * factor;
#else
	return a;
#endif
}

#if OPS_KIND == OPS_OP_MINLOC || OPS_KIND == OPS_OP_MAXLOC
/* Whether b's value is taken before a's whatever the indices are; a NaN before every number. */
static inline int OPS(is_better)(ACC a, ACC b)
{
#if OPS_TYPE == OPS_DTYPE_F32_I32 || OPS_TYPE == OPS_DTYPE_F64_I32
	if (a.value != a.value || b.value != b.value)
		return a.value == a.value;
#endif
#if OPS_KIND == OPS_OP_MINLOC
	return b.value < a.value;
#else
	return b.value > a.value;
#endif
}

static inline ACC OPS(better)(ACC a, ACC b)
{
	if (OPS(is_better)(a, b))
		return b;
	return OPS(is_better)(b, a) || a.index <= b.index ? a : b;
}
#endif

static inline ACC OPS(fold)(ACC a, ACC b)
{
#if OPS_KIND == OPS_OP_USER
	return user_fold(a, b);
#elif OPS_KIND == OPS_OP_LOCAL
	(void)b;
	return a;
#elif OPS_IS_PAIR
	return OPS(better)(a, b);
#elif OPS_KIND == OPS_OP_LOGICAL_AND ||                                                                                \
    (OPS_IS_BOOL && (OPS_KIND == OPS_OP_PROD || OPS_KIND == OPS_OP_MIN || OPS_KIND == OPS_OP_MEAN))
	return a & b;
#elif OPS_KIND == OPS_OP_LOGICAL_OR || \
	(OPS_IS_BOOL && (OPS_KIND == OPS_OP_SUM || OPS_KIND == OPS_OP_MAX || OPS_KIND == OPS_OP_SQUARE_ADD))
	return a | b;
#elif OPS_KIND == OPS_OP_SUM || OPS_KIND == OPS_OP_MEAN || OPS_KIND == OPS_OP_SQUARE_ADD ||                            \
    OPS_KIND == OPS_OP_PREMUL_SUM
#if OPS_IS_FLOAT
	return a + b;
#else
	return (ACC)((OPS_UNSIGNED)a + (OPS_UNSIGNED)b);
#endif
#elif OPS_KIND == OPS_OP_PROD
#if OPS_IS_FLOAT
	return a * b;
#else
	return (ACC)(1u * (OPS_UNSIGNED)a * (OPS_UNSIGNED)b);
#endif
#elif OPS_KIND == OPS_OP_MIN
#if OPS_IS_FLOAT
	return b < a || b != b ? b : a;
#else
	return b < a ? b : a;
#endif
#elif OPS_KIND == OPS_OP_MAX
#if OPS_IS_FLOAT
	return b > a || b != b ? b : a;
#else
	return b > a ? b : a;
#endif
#elif OPS_KIND == OPS_OP_BAND
	return (ACC)(a & b);
#elif OPS_KIND == OPS_OP_BOR
	return (ACC)(a | b);
#elif OPS_KIND == OPS_OP_BXOR || OPS_KIND == OPS_OP_LOGICAL_XOR
	return (ACC)(a ^ b);
#endif
}

static inline ACC OPS(final)(ACC a, int n)
{
#if OPS_KIND == OPS_OP_USER && defined(USER_HAS_final)
	return user_final(a, n);
#elif OPS_KIND == OPS_OP_MEAN && OPS_IS_FLOAT && OPS_TYPE != OPS_DTYPE_F64 && defined(DIVIDE_IN_F64)
	return convert_float_rte((double)a / (double)(ACC)n);
#elif OPS_KIND == OPS_OP_MEAN && !OPS_IS_BOOL
	return (ACC)(a / (OPS_DIVISOR)n);
#else
	(void)n;
	return a;
#endif
}

static inline ACC OPS(identity)(void)
{
#if OPS_KIND == OPS_OP_USER && defined(USER_HAS_identity)
	return user_identity();
#elif OPS_IS_PAIR
	ACC a = { .value = OPS_KIND == OPS_OP_MINLOC ? OPS_HIGHEST : OPS_LOWEST, .index = 2147483647 };

	return a;
#elif OPS_KIND == OPS_OP_MIN
	return OPS_HIGHEST;
#elif OPS_KIND == OPS_OP_MAX
	return OPS_LOWEST;
#elif OPS_KIND == OPS_OP_BAND && !OPS_IS_BOOL
	return (ACC)-1;
#elif OPS_KIND == OPS_OP_PROD || OPS_KIND == OPS_OP_LOGICAL_AND || OPS_KIND == OPS_OP_BAND ||                          \
    (OPS_KIND == OPS_OP_MEAN && OPS_IS_BOOL)
	return 1;
#else
	return 0;
#endif
}
