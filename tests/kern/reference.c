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
	int32_t index; /* of a pair, whose bytes are kept as they are */
	const unsigned char *pair;
};

bool reference_is_float(choir_dtype dtype)
{
	return reference_is_narrow(dtype) || dtype == CHOIR_F32 || dtype == CHOIR_F64;
}

bool reference_is_narrow(choir_dtype dtype)
{
	return dtype == CHOIR_F16 || dtype == CHOIR_BF16 || dtype == CHOIR_F8E4M3 || dtype == CHOIR_F8E5M2;
}

bool reference_is_pair(choir_dtype dtype)
{
	return dtype >= CHOIR_F32_I32 && dtype <= CHOIR_I64_I32;
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

/* OCP's 8-bit types by their definitions: e5m2 is the upper half of an f16; e4m3 has numbers where others have
 * infinities, a NaN in the last place alone, and saturates. */
static double value_of_f8(choir_dtype dtype, uint8_t bits)
{
	int exponent = bits >> 3 & 15, fraction = bits & 7;
	double size = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);

	if (dtype == CHOIR_F8E5M2)
		return from_small((uint16_t)(bits << 8), 10, 15);
	if ((bits & 0x7f) == 0x7f)
		return NAN;
	return bits & 0x80 ? -size : size;
}

double reference_from_f8(choir_dtype dtype, uint8_t bits)
{
	static double values[2][256];
	double *all = values[dtype == CHOIR_F8E4M3];

	for (int code = 255; code >= 0 && all[1] == 0; code--) /* 1 is the last one that is not 0 */
		all[code] = value_of_f8(dtype, (uint8_t)code);
	return all[bits];
}

/* The nearest of all finite values; of two equally near ones the one with the even code. */
uint8_t reference_to_f8(choir_dtype dtype, double value)
{
	uint8_t sign = signbit(value) ? 0x80 : 0, most = dtype == CHOIR_F8E4M3 ? 0x7e : 0x7b, best = 0;
	static double values[2][0x7f];
	double size = fabs(value), *finite = values[dtype == CHOIR_F8E4M3];

	if (isnan(value))
		return sign | 0x7f;
	for (uint8_t code = 1; code <= most && finite[1] == 0; code++)
		finite[most + 1 - code] = reference_from_f8(dtype, (uint8_t)(most + 1 - code));
	if (dtype == CHOIR_F8E5M2 && size >= 61440) /* the middle of the largest and what would come next */
		return sign | 0x7c;
	for (uint8_t step = 64; step > 0; step /= 2)
		if (best + step <= most && finite[best + step] <= size)
			best = (uint8_t)(best + step);
	if (best < most) {
		double below = size - finite[best], above = finite[best + 1] - size;

		best = (uint8_t)(best + (above < below || (above == below && best % 2 != 0)));
	}
	return sign | best;
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

/* An integer value is a real too: i64 is compared as bits. */
static struct value load_pair(choir_dtype dtype, const unsigned char *p)
{
	size_t bytes = choir_dtype_bytes(dtype);
	struct value v = { 0 };
	int32_t narrow;
	float f;

	v.pair = p;
	memcpy(&v.index, p + bytes / 2, sizeof v.index);
	memcpy(&narrow, p, sizeof narrow);
	memcpy(&f, p, sizeof f);
	v.bits = (uint64_t)(int64_t)narrow;
	if (dtype == CHOIR_I64_I32)
		memcpy(&v.bits, p, sizeof v.bits);
	v.real = f;
	if (dtype == CHOIR_F64_I32)
		memcpy(&v.real, p, sizeof v.real);
	return v;
}

/* -1: a comes first, 1: b does, by value (a NaN before all), then by index. */
static int pair_order(choir_dtype dtype, choir_op op, const struct value *a, const struct value *b)
{
	bool is_float = dtype == CHOIR_F32_I32 || dtype == CHOIR_F64_I32;
	int less = is_float ? a->real < b->real : (int64_t)a->bits < (int64_t)b->bits;
	int more = is_float ? a->real > b->real : (int64_t)a->bits > (int64_t)b->bits;
	int by_value = op == CHOIR_OP_MINLOC ? more - less : less - more;

	if (is_float && (isnan(a->real) || isnan(b->real)))
		by_value = (isnan(b->real) != 0) - (isnan(a->real) != 0);
	return by_value != 0 ? by_value : (b->index < a->index) - (a->index < b->index);
}

static struct value load(choir_dtype dtype, const unsigned char *p)
{
	struct value v = { 0 };
	size_t bytes = choir_dtype_bytes(dtype);
	float f;

	if (reference_is_pair(dtype))
		return load_pair(dtype, p);
	memcpy(&v.bits, p, bytes); /* little endian, as every machine we run on */
	if (dtype == CHOIR_F16)
		v.real = from_small((uint16_t)v.bits, 10, 15);
	if (dtype == CHOIR_BF16)
		v.real = from_small((uint16_t)v.bits, 7, 127);
	if (dtype == CHOIR_F8E4M3 || dtype == CHOIR_F8E5M2)
		v.real = reference_from_f8(dtype, *p);
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

	if (reference_is_pair(dtype)) {
		memcpy(p, v.pair, choir_dtype_bytes(dtype));
	} else if (dtype == CHOIR_F8E4M3 || dtype == CHOIR_F8E5M2) {
		*p = reference_to_f8(dtype, v.real);
	} else if (dtype == CHOIR_F16 || dtype == CHOIR_BF16) {
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
	case CHOIR_OP_LOGICAL_XOR:
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
	case CHOIR_OP_LOGICAL_AND: /* of ones and zeros */
		return a & b;
	case CHOIR_OP_BOR:
	case CHOIR_OP_LOGICAL_OR:
		return a | b;
	case CHOIR_OP_BXOR:
	case CHOIR_OP_LOGICAL_XOR:
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
	if (reference_is_pair(dtype))
		return op != CHOIR_OP_LOCAL && pair_order(dtype, op, &a, &b) > 0 ? b : a;
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

static bool is_logical(choir_op op)
{
	return op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR || op == CHOIR_OP_LOGICAL_XOR;
}

void reference_reduce(const struct reduce_call *call, void *dst, const void *const *src)
{
	size_t bytes = choir_dtype_bytes(call->dtype);

	for (size_t i = 0; i < call->count; i++) {
		struct value acc = { 0 };

		for (uint32_t k = 0; k < call->n_src; k++) {
			struct value v = load(call->dtype, (const unsigned char *)src[k] + i * bytes);

			if (call->op == CHOIR_OP_SQUARE_ADD && k >= call->raw_from)
				v = square(call->dtype, v);
			if (is_logical(call->op) && k >= call->raw_from)
				v.bits = v.bits != 0;
			if (call->op == CHOIR_OP_PREMUL_SUM && k >= call->raw_from)
				v = scale(call->dtype, v, call->factor);
			acc = k == 0 ? v : fold(call->dtype, call->op, acc, v);
		}
		if (call->final && call->op == CHOIR_OP_MEAN)
			acc = divide(call->dtype, acc, call->n_ranks);
		store(call->dtype, (unsigned char *)dst + i * bytes, acc);
	}
}

static bool same_pair(choir_dtype dtype, const void *a, const void *b)
{
	struct value v = load(dtype, a), w = load(dtype, b);
	bool is_float = dtype == CHOIR_F32_I32 || dtype == CHOIR_F64_I32;

	if (v.index != w.index)
		return false;
	return is_float && isnan(v.real) && isnan(w.real) ? true : memcmp(a, b, choir_dtype_bytes(dtype) / 2) == 0;
}

bool reference_same(choir_dtype dtype, const void *a, const void *b)
{
	if (reference_is_pair(dtype))
		return same_pair(dtype, a, b);
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

			memcpy(&g, got + i * bytes, bytes < 8 ? bytes : 8);
			memcpy(&w, want + i * bytes, bytes < 8 ? bytes : 8);
			fail_msg("%s: %s %s, %u sources, element %zu of %zu: 0x%llx, wanted 0x%llx", what,
			         choir_dtype_name(call->dtype), choir_op_name(call->op), call->n_src, i,
			         (size_t)call->count, (unsigned long long)g, (unsigned long long)w);
		}
}
