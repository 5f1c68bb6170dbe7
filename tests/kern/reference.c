/* SPDX-License-Identifier: MIT */
#include "reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* An element as one of: a two's complement integer of the type's width, extended; a real number. */
struct value {
	uint64_t bits;
	double real;
};

bool reference_is_float(choir_dtype dtype)
{
	return dtype == CHOIR_F16 || dtype == CHOIR_BF16 || dtype == CHOIR_F32 || dtype == CHOIR_F64;
}

static bool is_signed(choir_dtype dtype)
{
	return dtype == CHOIR_I8 || dtype == CHOIR_I16 || dtype == CHOIR_I32 || dtype == CHOIR_I64;
}

/* A small float of `mantissa` stored bits and 5 or 8 exponent bits, by its definition. */
static double from_small(uint16_t bits, int mantissa, int bias)
{
	int exponent = (bits & 0x7fff) >> mantissa;
	int fraction = bits & ((1 << mantissa) - 1);
	double value;

	if (exponent == 2 * bias + 1)
		value = fraction != 0 ? NAN : INFINITY;
	else if (exponent == 0)
		value = ldexp(fraction, 1 - bias - mantissa);
	else
		value = ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
	return bits & 0x8000 ? -value : value;
}

/* Rounds to the nearest multiple of the unit at that size, ties to even (the default rounding of nearbyint), then finds
 * the bits. */
static uint16_t to_small(double value, int mantissa, int bias)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	uint16_t infinity = (uint16_t)((2 * bias + 1) << mantissa);
	double size = fabs(value);
	int exponent;

	if (isnan(value))
		return sign | infinity | 1 << (mantissa - 1);
	if (isinf(value))
		return sign | infinity;
	if (size == 0)
		return sign;
	frexp(size, &exponent); /* size = [0.5, 1) * 2^exponent */
	int unit = exponent - 1 - mantissa;
	if (unit < 1 - bias - mantissa)
		unit = 1 - bias - mantissa;
	double units = nearbyint(ldexp(size, -unit));
	if (ldexp(units, unit) >= ldexp(1, bias + 1))
		return sign | infinity;
	/* units < 2^mantissa: subnormal; else the leading one adds 1 to the exponent field, as does a carry. */
	return sign | (uint16_t)(((unit - (1 - bias - mantissa)) << mantissa) + (int)units);
}

double reference_from_f16(uint16_t bits)
{
	return from_small(bits, 10, 15);
}

uint16_t reference_to_f16(double value)
{
	return to_small(value, 10, 15);
}

uint16_t reference_to_bf16(double value)
{
	return to_small(value, 7, 127);
}

/* Cuts to the width of the type. */
static uint64_t cut(choir_dtype dtype, uint64_t bits)
{
	int shift = 64 - 8 * (int)choir_dtype_bytes(dtype);

	return is_signed(dtype) ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits << shift >> shift;
}

static struct value load(choir_dtype dtype, const unsigned char *p)
{
	struct value v = { 0, 0 };
	size_t bytes = choir_dtype_bytes(dtype);
	float f;

	memcpy(&v.bits, p, bytes); /* little endian, as every machine we run on */
	if (dtype == CHOIR_F16)
		v.real = from_small((uint16_t)v.bits, 10, 15);
	if (dtype == CHOIR_BF16)
		v.real = from_small((uint16_t)v.bits, 7, 127);
	if (dtype == CHOIR_F32) {
		memcpy(&f, p, 4);
		v.real = f;
	}
	if (dtype == CHOIR_F64)
		memcpy(&v.real, p, 8);
	if (dtype == CHOIR_BOOL)
		v.bits = v.bits != 0;
	v.bits = cut(dtype, v.bits);
	return v;
}

static void store(choir_dtype dtype, unsigned char *p, struct value v)
{
	float f = (float)v.real;
	uint16_t small;

	if (dtype == CHOIR_F16 || dtype == CHOIR_BF16) {
		small = dtype == CHOIR_F16 ? to_small(v.real, 10, 15) : to_small(v.real, 7, 127);
		memcpy(p, &small, 2);
	} else if (dtype == CHOIR_F32) {
		memcpy(p, &f, 4);
	} else if (dtype == CHOIR_F64) {
		memcpy(p, &v.real, 8);
	} else {
		memcpy(p, &v.bits, choir_dtype_bytes(dtype));
	}
}

/* One operation on reals, rounded to what the type accumulates in: double arithmetic rounded once more to float is
 * float arithmetic (53 >= 2 * 24 + 2). */
static double fold_real(choir_dtype dtype, choir_op op, double a, double b)
{
	double r = a;

	if (op == CHOIR_OP_SUM || op == CHOIR_OP_MEAN || op == CHOIR_OP_SQUARE_ADD || op == CHOIR_OP_PREMUL_SUM)
		r = a + b;
	else if (op == CHOIR_OP_PROD)
		r = a * b;
	else if ((op == CHOIR_OP_MIN || op == CHOIR_OP_MAX) && (isnan(a) || isnan(b)))
		r = NAN;
	else if (op == CHOIR_OP_MIN)
		r = b < a ? b : a;
	else if (op == CHOIR_OP_MAX)
		r = b > a ? b : a;
	return dtype == CHOIR_F64 ? r : (double)(float)r;
}

static uint64_t fold_bool(choir_op op, uint64_t a, uint64_t b)
{
	switch (op) {
	case CHOIR_OP_PROD:
	case CHOIR_OP_MIN:
	case CHOIR_OP_MEAN: /* trues / values, towards zero: 1 only if all are */
	case CHOIR_OP_LOGICAL_AND:
	case CHOIR_OP_BAND:
		return a && b;
	case CHOIR_OP_BXOR:
		return a != b;
	case CHOIR_OP_LOCAL:
		return a;
	default:
		return a || b;
	}
}

static uint64_t fold_int(choir_dtype dtype, choir_op op, uint64_t a, uint64_t b)
{
	bool b_less = is_signed(dtype) ? (int64_t)b < (int64_t)a : b < a;

	switch (op) {
	case CHOIR_OP_PROD:
		return a * b;
	case CHOIR_OP_MIN:
		return b_less ? b : a;
	case CHOIR_OP_MAX:
		return b_less ? a : b;
	case CHOIR_OP_BAND:
		return a & b;
	case CHOIR_OP_BOR:
		return a | b;
	case CHOIR_OP_BXOR:
		return a ^ b;
	case CHOIR_OP_LOCAL:
		return a;
	default:
		return a + b;
	}
}

static struct value square(choir_dtype dtype, struct value v)
{
	v.real = dtype == CHOIR_F64 ? v.real * v.real : (double)(float)(v.real * v.real);
	v.bits = dtype == CHOIR_BOOL ? v.bits : cut(dtype, v.bits * v.bits);
	return v;
}

/* The factor is a float too, for all but f64. */
static struct value scale(choir_dtype dtype, struct value v, double factor)
{
	v.real = dtype == CHOIR_F64 ? v.real * factor : (double)(float)(v.real * (double)(float)factor);
	return v;
}

static struct value fold(choir_dtype dtype, choir_op op, struct value a, struct value b)
{
	if (reference_is_float(dtype))
		a.real = fold_real(dtype, op, a.real, b.real);
	else
		a.bits = dtype == CHOIR_BOOL ? fold_bool(op, a.bits, b.bits)
		                             : cut(dtype, fold_int(dtype, op, a.bits, b.bits));
	return a;
}

static struct value divide(choir_dtype dtype, struct value v, int n)
{
	if (reference_is_float(dtype))
		v.real = dtype == CHOIR_F64 ? v.real / n : (double)(float)(v.real / n);
	else if (dtype != CHOIR_BOOL)
		v.bits = is_signed(dtype) ? (uint64_t)((int64_t)v.bits / n) : v.bits / (uint64_t)n;
	return v;
}

void reference_reduce(const struct reduce_call *call, void *dst, const void *const *src)
{
	size_t bytes = choir_dtype_bytes(call->dtype);

	for (size_t i = 0; i < call->count; i++) {
		struct value acc = { 0, 0 };

		for (uint32_t k = 0; k < call->n_src; k++) {
			struct value v = load(call->dtype, (const unsigned char *)src[k] + i * bytes);

			if (call->op == CHOIR_OP_SQUARE_ADD && k >= call->raw_from)
				v = square(call->dtype, v);
			if (call->op == CHOIR_OP_PREMUL_SUM && k >= call->raw_from)
				v = scale(call->dtype, v, call->factor);
			acc = k == 0 ? v : fold(call->dtype, call->op, acc, v);
		}
		if (call->final && call->op == CHOIR_OP_MEAN)
			acc = divide(call->dtype, acc, call->n_ranks);
		store(call->dtype, (unsigned char *)dst + i * bytes, acc);
	}
}

bool reference_same(choir_dtype dtype, const void *a, const void *b)
{
	if (memcmp(a, b, choir_dtype_bytes(dtype)) == 0)
		return true;
	return reference_is_float(dtype) && isnan(load(dtype, a).real) && isnan(load(dtype, b).real);
}

void reference_assert(const struct reduce_call *call, const unsigned char *got, const unsigned char *want,
                      const char *what)
{
	size_t bytes = choir_dtype_bytes(call->dtype);

	for (size_t i = 0; i < call->count; i++)
		if (!reference_same(call->dtype, got + i * bytes, want + i * bytes)) {
			uint64_t g = 0, w = 0;

			memcpy(&g, got + i * bytes, bytes);
			memcpy(&w, want + i * bytes, bytes);
			fail_msg("%s: %s %s, %u sources, element %zu of %zu: 0x%llx, wanted 0x%llx", what,
			         choir_dtype_name(call->dtype), choir_op_name(call->op), call->n_src, i,
			         (size_t)call->count, (unsigned long long)g, (unsigned long long)w);
		}
}
