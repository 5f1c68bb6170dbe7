/* SPDX-License-Identifier: MIT */
/* One element in the plain references, whatever its type: out of memory, through an operator, and back.  Written apart
 * from cl/ops.h.  Inline: tests take millions of them. */
#ifndef TESTS_SPARSE_VALUE_H
#define TESTS_SPARSE_VALUE_H

#include <choir/types.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A value out of memory: exactly one member counts, by dtype. */
struct value {
	float f;   /* f32 and what is narrower */
	double d;  /* f64 */
	int64_t i; /* integers, sign- or zero-extended; bool */
};

static inline bool value_is_narrow(choir_dtype t)
{
	return t == CHOIR_F16 || t == CHOIR_BF16 || t == CHOIR_F8E4M3 || t == CHOIR_F8E5M2;
}

static inline bool value_is_float(choir_dtype t)
{
	return t == CHOIR_F32 || value_is_narrow(t);
}

static inline bool is_unsigned(choir_dtype t)
{
	return t == CHOIR_U8 || t == CHOIR_U16 || t == CHOIR_U32 || t == CHOIR_U64;
}

static inline float from_half(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	float v = e == 31  ? (m != 0 ? NAN : INFINITY)
	          : e == 0 ? ldexpf((float)m, -24)
	                   : ldexpf((float)(m + 1024), e - 25);

	return (h & 0x8000) != 0 ? -v : v;
}

static inline uint16_t to_half(float v)
{
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	double a = fabs((double)v);
	int e;

	if (isnan(v))
		return 0x7e00;
	if (a >= 65520.0)
		return sign | 0x7c00;
	if (a < ldexp(1, -14))
		return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(a, 24)));
	(void)frexp(a, &e);
	/* a = m * 2^(e - 11) with m in [1024, 2048]; a carry moves into the exponent by itself */
	return (uint16_t)(sign | (((uint16_t)(e + 13) << 10) + (uint16_t)nearbyint(ldexp(a, 11 - e))));
}

static inline float from_bf16(uint16_t b)
{
	uint32_t bits = (uint32_t)b << 16;
	float v;

	memcpy(&v, &bits, 4);
	return v;
}

static inline uint16_t to_bf16(float v)
{
	uint32_t bits, low;

	memcpy(&bits, &v, 4);
	if (isnan(v))
		return 0x7fc0;
	low = bits & 0xffff;
	bits >>= 16;
	if (low > 0x8000 || (low == 0x8000 && (bits & 1) != 0))
		bits++;
	return (uint16_t)bits;
}

/* OCP's f8e4m3 and f8e5m2: `bits` of fraction; e4m3 has one NaN and no infinity. */
static inline float from_8(choir_dtype t, uint8_t b)
{
	int bits = t == CHOIR_F8E4M3 ? 3 : 2, bias = t == CHOIR_F8E4M3 ? 7 : 15, e = (b & 0x7f) >> bits,
	    m = b & ((1 << bits) - 1);
	float v = e == 0 ? ldexpf((float)m, 1 - bias - bits) : ldexpf((float)(m + (1 << bits)), e - bias - bits);

	if (t == CHOIR_F8E4M3 ? (b & 0x7f) == 0x7f : e == 31 && m != 0)
		v = NAN;
	else if (t == CHOIR_F8E5M2 && e == 31)
		v = INFINITY;
	return (b & 0x80) != 0 ? -v : v;
}

/* The code below and the one above it are neighbours: the nearer, or the even one. */
static inline uint8_t to_8(choir_dtype t, float v)
{
	uint8_t sign = signbit(v) ? 0x80 : 0, most = t == CHOIR_F8E4M3 ? 0x7e : 0x7b, low = 0;
	double a = fabs((double)v), from, to;

	if (isnan(v))
		return 0x7f;
	if (t == CHOIR_F8E5M2 && a >= 61440)
		return sign | 0x7c;
	while (low < most && (double)from_8(t, low + 1) <= a)
		low++;
	if (low == most)
		return sign | most;
	from = a - (double)from_8(t, low);
	to = (double)from_8(t, low + 1) - a;
	return sign | (uint8_t)(from < to || (from == to && low % 2 == 0) ? low : low + 1);
}

/* An integer cut to its type. */
static inline int64_t value_cut(choir_dtype t, int64_t i)
{
	switch (choir_dtype_bytes(t)) {
	case 1:
		return t == CHOIR_I8 ? (int8_t)i : (uint8_t)i;
	case 2:
		return t == CHOIR_I16 ? (int16_t)i : (uint16_t)i;
	case 4:
		return t == CHOIR_I32 ? (int64_t)(int32_t)i : (int64_t)(uint32_t)i;
	default:
		return i;
	}
}

static inline struct value value_load(choir_dtype t, const unsigned char *p)
{
	struct value v = { 0 };
	uint16_t half;

	if (t == CHOIR_F8E4M3 || t == CHOIR_F8E5M2) {
		v.f = from_8(t, *p);
	} else if (t == CHOIR_F16 || t == CHOIR_BF16) {
		memcpy(&half, p, 2);
		v.f = t == CHOIR_F16 ? from_half(half) : from_bf16(half);
	} else if (t == CHOIR_F32) {
		memcpy(&v.f, p, 4);
	} else if (t == CHOIR_F64) {
		memcpy(&v.d, p, 8);
	} else {
		memcpy(&v.i, p, choir_dtype_bytes(t));
		v.i = t == CHOIR_BOOL ? v.i != 0 : value_cut(t, v.i);
	}
	return v;
}

static inline void value_store(choir_dtype t, unsigned char *p, struct value v)
{
	uint16_t half;

	if (t == CHOIR_F8E4M3 || t == CHOIR_F8E5M2) {
		*p = to_8(t, v.f);
	} else if (t == CHOIR_F16 || t == CHOIR_BF16) {
		half = t == CHOIR_F16 ? to_half(v.f) : to_bf16(v.f);
		memcpy(p, &half, 2);
	} else if (t == CHOIR_F32) {
		memcpy(p, &v.f, 4);
	} else if (t == CHOIR_F64) {
		memcpy(p, &v.d, 8);
	} else {
		memcpy(p, &v.i, choir_dtype_bytes(t));
	}
}

static inline double float_op(choir_op op, double a, double b, bool narrow)
{
	float x = (float)a, y = (float)b;

	switch (op) {
	case CHOIR_OP_PROD:
		return narrow ? (double)(x * y) : a * b;
	case CHOIR_OP_MIN:
		return isnan(a) || a <= b ? a : b;
	case CHOIR_OP_MAX:
		return isnan(a) || a >= b ? a : b;
	default:
		return narrow ? (double)(x + y) : a + b;
	}
}

static inline int64_t integer_op(choir_dtype t, choir_op op, int64_t a, int64_t b)
{
	bool less = is_unsigned(t) ? (uint64_t)b < (uint64_t)a : b < a;

	if (t == CHOIR_BOOL && (op == CHOIR_OP_SUM || op == CHOIR_OP_SQUARE_ADD))
		return a | b;
	if (t == CHOIR_BOOL && op == CHOIR_OP_MEAN)
		return a & b;
	switch (op) {
	case CHOIR_OP_PROD:
		return value_cut(t, (int64_t)((uint64_t)a * (uint64_t)b));
	case CHOIR_OP_MIN:
		return less ? b : a;
	case CHOIR_OP_MAX:
		return less ? a : b;
	case CHOIR_OP_LOGICAL_AND:
	case CHOIR_OP_BAND:
		return a & b;
	case CHOIR_OP_LOGICAL_OR:
	case CHOIR_OP_BOR:
		return a | b;
	case CHOIR_OP_LOGICAL_XOR:
	case CHOIR_OP_BXOR:
		return a ^ b;
	default:
		return value_cut(t, (int64_t)((uint64_t)a + (uint64_t)b));
	}
}

static inline struct value value_combine(choir_dtype t, choir_op op, struct value a, struct value b)
{
	if (value_is_float(t))
		a.f = (float)float_op(op, a.f, b.f, true);
	else if (t == CHOIR_F64)
		a.d = float_op(op, a.d, b.d, false);
	else
		a.i = integer_op(t, op, a.i, b.i);
	return a;
}

static inline bool value_is_logical(choir_op op)
{
	return op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR || op == CHOIR_OP_LOGICAL_XOR;
}

static inline struct value value_square(choir_dtype t, struct value v)
{
	v.f = v.f * v.f;
	v.d = v.d * v.d;
	if (t != CHOIR_BOOL)
		v.i = value_cut(t, (int64_t)((uint64_t)v.i * (uint64_t)v.i));
	return v;
}

static inline struct value value_divide(choir_dtype t, struct value v, int n)
{
	v.f = v.f / (float)n;
	v.d = v.d / n;
	if (is_unsigned(t))
		v.i = (int64_t)((uint64_t)v.i / (uint64_t)n);
	else if (t != CHOIR_BOOL)
		v.i = v.i / n;
	return v;
}

#endif
