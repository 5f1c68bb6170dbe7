/* SPDX-License-Identifier: MIT */
/* For ops.h, once for each DTYPE: ELEM, ACC, OPS_UNSIGNED (the type that integers are computed in), OPS_DIVISOR (the
 * type that mean divides by), OPS_FACTOR, and the ends of the range. */
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
