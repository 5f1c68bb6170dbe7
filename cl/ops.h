/* SPDX-License-Identifier: MIT */
/* The operators, written once: valid C11 (host twins) and OpenCL C 1.2 (kernels), with the same bits in both.
 *
 * Parameters, defined before each inclusion (kernels: by -D; C includes the file once for each pair):
 *   DTYPE          a name of dtype.def: I8 ... BOOL
 *   OP             a name of op.def: SUM ... PREMUL_SUM; in kernels also USER, an operator of the caller's
 *   DIVIDE_IN_F64  for kernels on a device whose f32 division is not correctly rounded (OpenCL 1.2 allows 2.5 ulp):
 *                  divide as f64; rounding that quotient to f32 gives the right bits (53 >= 2 * 24 + 2).  src/dev
 *                  defines it.
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
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define OPS(name) op_##name
#define OPS_GLOBAL __global
typedef char i8;
typedef uchar u8, b8, f8e4m3, f8e5m2;
typedef short i16;
typedef ushort u16, f16, bf16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#else
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define OPS(name) OPS_JOIN4(op, DTYPE, OP, name)
#define OPS_JOIN4_(a, b, c, d) a##_##b##_##c##_##d
#define OPS_JOIN4(a, b, c, d) OPS_JOIN4_(a, b, c, d)
#define OPS_GLOBAL
typedef int8_t i8;
typedef uint8_t u8, b8, f8e4m3, f8e5m2;
typedef int16_t i16;
typedef uint16_t u16, f16, bf16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

static inline f32 as_float(u32 bits)
{
	f32 value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline u32 as_uint(f32 value)
{
	u32 bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* vload_half for C, without branches so that loops become vector code. */
static inline f32 ops_from_half(f16 half)
{
	u32 sign = (u32)(half & 0x8000) << 16;
	u32 rest = (u32)(half & 0x7fff) << 13;
	u32 normal = rest + (112u << 23);                                       /* exponent bias 15 -> 127 */
	/* infinity and NaN: exponent 31 -> 255 */
	u32 special = rest + (224u << 23);
	/* m * 2^-24: (1 + m / 1024) * 2^-14 - 2^-14, exact */
	u32 tiny = as_uint(as_float(rest + (113u << 23)) - as_float(113u << 23));
	u32 bits = rest >= (31u << 23) ? special : rest >= (1u << 23) ? normal : tiny;

	return as_float(sign | bits | (rest > (31u << 23) ? 0x400000u : 0u)); /* a NaN becomes quiet */
}

/* vstore_half_rte for C. */
static inline f16 ops_to_half(f32 value)
{
	u32 bits = as_uint(value);
	u32 sign = bits >> 16 & 0x8000;
	u32 rest = bits & 0x7fffffff;
	u32 normal = (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13; /* may carry into infinity, rightly */
	/* Below 2^-14 the half's unit is 2^-24, which is the float's unit at 0.5: the addition rounds to it. */
	u32 tiny = as_uint(as_float(rest) + 0.5f) - as_uint(0.5f);
	u32 large = rest > 0x7f800000u ? 0x7e00 | (rest >> 13 & 0x3ff) : 0x7c00;
	u32 half = rest >= 0x47800000u ? large : rest >= 0x38800000u ? normal : tiny;

	return (f16)(sign | half);
}
#endif

static inline f32 ops_from_bf16(bf16 bits)
{
	return as_float((u32)bits << 16);
}

/* Nearest, ties to even; a NaN becomes quiet, lest rounding turns it into infinity. */
static inline bf16 ops_to_bf16(f32 value)
{
	u32 bits = as_uint(value);
	u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	u32 quiet = bits >> 16 | 0x40;

	return (bf16)((bits & 0x7fffffff) > 0x7f800000u ? quiet : rounded);
}

/* f8e4m3: 4 bits of exponent, bias 7; 0x7f is its NaN; no infinity.  Without branches, as ops_from_half. */
static inline f32 ops_from_f8e4m3(f8e4m3 small)
{
	u32 sign = (u32)(small & 0x80) << 24;
	u32 rest = (u32)(small & 0x7f) << 20;
	u32 normal = rest + (120u << 23);                                       /* exponent bias 7 -> 127 */
	/* m * 2^-9: (1 + m / 8) * 2^-6 - 2^-6, exact */
	u32 tiny = as_uint(as_float(rest + (121u << 23)) - as_float(121u << 23));
	u32 bits = rest >= (1u << 23) ? normal : tiny;

	return as_float(sign | (rest == (0x7fu << 20) ? 0x7fc00000u : bits));
}

/* Saturates: what rounds to more than 448 becomes 448. */
static inline f8e4m3 ops_to_f8e4m3(f32 value)
{
	u32 bits = as_uint(value);
	u32 sign = bits >> 24 & 0x80;
	u32 rest = bits & 0x7fffffff;
	u32 normal = (rest - (120u << 23) + 0x7ffff + (rest >> 20 & 1)) >> 20;
	/* Below 2^-6 the unit is 2^-9, which is the float's unit at 2^14: the addition rounds to it. */
	u32 tiny = as_uint(as_float(rest) + 16384.0f) - as_uint(16384.0f);
	u32 finite = normal > 0x7e ? 0x7e : normal;
	u32 large = rest > 0x7f800000u ? 0x7f : 0x7e;
	u32 small = rest >= 0x44000000u ? large : rest >= 0x3c800000u ? finite : tiny;

	return (f8e4m3)(sign | small);
}

/* f8e5m2: the upper half of an f16. */
static inline f32 ops_from_f8e5m2(f8e5m2 small)
{
	u32 sign = (u32)(small & 0x80) << 24;
	u32 rest = (u32)(small & 0x7f) << 21;
	u32 normal = rest + (112u << 23);
	u32 special = rest + (224u << 23);
	u32 tiny = as_uint(as_float(rest + (113u << 23)) - as_float(113u << 23));
	u32 bits = rest >= (31u << 23) ? special : rest >= (1u << 23) ? normal : tiny;

	return as_float(sign | bits | (rest > (31u << 23) ? 0x400000u : 0u));
}

/* Rounds the float itself: rounding an f16 would be the second rounding. */
static inline f8e5m2 ops_to_f8e5m2(f32 value)
{
	u32 bits = as_uint(value);
	u32 sign = bits >> 24 & 0x80;
	u32 rest = bits & 0x7fffffff;
	u32 normal = (rest - (112u << 23) + 0xfffff + (rest >> 21 & 1)) >> 21; /* may carry into infinity, rightly */
	/* Below 2^-14 the unit is 2^-16, the float's at 128. */
	u32 tiny = as_uint(as_float(rest) + 128.0f) - as_uint(128.0f);
	u32 large = rest > 0x7f800000u ? 0x7e : 0x7c;
	u32 small = rest >= 0x47800000u ? large : rest >= 0x38800000u ? normal : tiny;

	return (f8e5m2)(sign | small);
}

/* Pairs, as <choir/types.h> has them. */
typedef struct {
	f32 value;
	i32 index;
} f32_i32;
typedef struct {
	i32 value, index;
} i32_i32;
typedef struct {
	i64 value;
	i32 index, unused;
} i64_i32;
#ifndef __OPENCL_VERSION__
typedef struct {
	f64 value;
	i32 index, unused;
} f64_i32;
#endif

#endif /* once */

/* The data type: ELEM, ACC, OPS_UNSIGNED (the type that integers are computed in), OPS_DIVISOR (the type that mean
 * divides by), OPS_FACTOR, and the ends of the range. */
#undef ELEM
#undef ACC
#undef OPS_UNSIGNED
#undef OPS_DIVISOR
#undef OPS_FACTOR
#undef OPS_LOWEST
#undef OPS_HIGHEST
#undef OPS_IS_FLOAT
#undef OPS_IS_BOOL
#undef OPS_IS_PAIR
#define OPS_IS_FLOAT 0
#define OPS_IS_BOOL 0
#define OPS_IS_PAIR 0

#if OPS_TYPE == OPS_DTYPE_I8
#define ELEM i8
#define OPS_UNSIGNED u8
#define OPS_DIVISOR i32
#define OPS_LOWEST (-128)
#define OPS_HIGHEST 127
#elif OPS_TYPE == OPS_DTYPE_U8
#define ELEM u8
#define OPS_UNSIGNED u8
#define OPS_DIVISOR u32
#define OPS_LOWEST 0
#define OPS_HIGHEST 255
#elif OPS_TYPE == OPS_DTYPE_I16
#define ELEM i16
#define OPS_UNSIGNED u16
#define OPS_DIVISOR i32
#define OPS_LOWEST (-32768)
#define OPS_HIGHEST 32767
#elif OPS_TYPE == OPS_DTYPE_U16
#define ELEM u16
#define OPS_UNSIGNED u16
#define OPS_DIVISOR u32
#define OPS_LOWEST 0
#define OPS_HIGHEST 65535
#elif OPS_TYPE == OPS_DTYPE_I32
#define ELEM i32
#define OPS_UNSIGNED u32
#define OPS_DIVISOR i32
#define OPS_LOWEST (-2147483647 - 1)
#define OPS_HIGHEST 2147483647
#elif OPS_TYPE == OPS_DTYPE_U32
#define ELEM u32
#define OPS_UNSIGNED u32
#define OPS_DIVISOR u32
#define OPS_LOWEST 0
#define OPS_HIGHEST 4294967295u
#elif OPS_TYPE == OPS_DTYPE_I64
#define ELEM i64
#define OPS_UNSIGNED u64
#define OPS_DIVISOR i64
#define OPS_LOWEST (-9223372036854775807L - 1)
#define OPS_HIGHEST 9223372036854775807L
#elif OPS_TYPE == OPS_DTYPE_U64
#define ELEM u64
#define OPS_UNSIGNED u64
#define OPS_DIVISOR u64
#define OPS_LOWEST 0
#define OPS_HIGHEST 18446744073709551615uL
#elif OPS_TYPE == OPS_DTYPE_F16
#define ELEM f16
#define ACC f32
#elif OPS_TYPE == OPS_DTYPE_BF16
#define ELEM bf16
#define ACC f32
#elif OPS_TYPE == OPS_DTYPE_F32
#define ELEM f32
#define ACC f32
#elif OPS_TYPE == OPS_DTYPE_F64
#ifdef __OPENCL_VERSION__
typedef double f64;
#endif
#define ELEM f64
#define ACC f64
#elif OPS_TYPE == OPS_DTYPE_BOOL
#define ELEM b8
#define OPS_LOWEST 0
#define OPS_HIGHEST 1
#undef OPS_IS_BOOL
#define OPS_IS_BOOL 1
#elif OPS_TYPE == OPS_DTYPE_F8E4M3
#define ELEM f8e4m3
#define ACC f32
#elif OPS_TYPE == OPS_DTYPE_F8E5M2
#define ELEM f8e5m2
#define ACC f32
#elif OPS_TYPE == OPS_DTYPE_F32_I32
#define ELEM f32_i32
#elif OPS_TYPE == OPS_DTYPE_F64_I32
#ifdef __OPENCL_VERSION__
typedef struct {
	double value;
	i32 index, unused;
} f64_i32;
#endif
#define ELEM f64_i32
#elif OPS_TYPE == OPS_DTYPE_I32_I32
#define ELEM i32_i32
#define OPS_LOWEST (-2147483647 - 1)
#define OPS_HIGHEST 2147483647
#elif OPS_TYPE == OPS_DTYPE_I64_I32
#define ELEM i64_i32
#define OPS_LOWEST (-9223372036854775807L - 1)
#define OPS_HIGHEST 9223372036854775807L
#else
#error "DTYPE is no name of dtype.def"
#endif

#if OPS_TYPE >= OPS_DTYPE_F32_I32 && OPS_TYPE <= OPS_DTYPE_I64_I32
#undef OPS_IS_PAIR
#define OPS_IS_PAIR 1
#endif

#if OPS_IS_NARROW || OPS_TYPE == OPS_DTYPE_F32 || OPS_TYPE == OPS_DTYPE_F64
#undef OPS_IS_FLOAT
#define OPS_IS_FLOAT 1
#define OPS_DIVISOR ACC
#define OPS_FACTOR ACC
#define OPS_LOWEST (-(ACC)INFINITY)
#define OPS_HIGHEST ((ACC)INFINITY)
#else
#define ACC ELEM
#define OPS_FACTOR f32
#endif
#if OPS_TYPE == OPS_DTYPE_F32_I32 || OPS_TYPE == OPS_DTYPE_F64_I32
#define OPS_LOWEST (-INFINITY)
#define OPS_HIGHEST INFINITY
#endif

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
/* CHOIR_TEXT */
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
#elif OPS_KIND == OPS_OP_MEAN && OPS_IS_FLOAT && defined(DIVIDE_IN_F64)
	return (ACC)((double)a / (double)(ACC)n);
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
