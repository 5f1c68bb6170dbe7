/* SPDX-License-Identifier: MIT */
/* For ops.h: the types of elements in C and in OpenCL C, and the narrow floating-point types from and to f32. */
#ifndef CHOIR_CL_OPS_TYPES_H
#define CHOIR_CL_OPS_TYPES_H

#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
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

#endif
