/* SPDX-License-Identifier: MIT */
#include "world/values.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Halves and bfloat16s of small integers and their products: exact, so truncating conversions will do. */
static uint16_t half_of(double value)
{
	int exponent;
	double m;

	if (value == 0)
		return 0;
	m = frexp(fabs(value), &exponent); /* m in [0.5, 1) */
	return (uint16_t)((value < 0) << 15 | (exponent + 14) << 10 | ((int)(m * 2048) & 1023));
}

static double of_half(uint16_t h)
{
	double m = (h & 1023) + ((h >> 10 & 31) != 0 ? 1024 : 0);

	return ldexp(h >> 15 ? -m : m, ((h >> 10 & 31) != 0 ? h >> 10 & 31 : 1) - 25);
}

static uint16_t bfloat_of(double value)
{
	float f = (float)value;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return (uint16_t)(bits >> 16);
}

static double of_bfloat(uint16_t b)
{
	uint32_t bits = (uint32_t)b << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

void value_store(choir_dtype dtype, void *array, size_t i, double value)
{
	switch (dtype) {
	case CHOIR_I8: ((int8_t *)array)[i] = (int8_t)(int64_t)value; break;
	case CHOIR_U8: ((uint8_t *)array)[i] = (uint8_t)(int64_t)value; break;
	case CHOIR_I16: ((int16_t *)array)[i] = (int16_t)(int64_t)value; break;
	case CHOIR_U16: ((uint16_t *)array)[i] = (uint16_t)(int64_t)value; break;
	case CHOIR_I32: ((int32_t *)array)[i] = (int32_t)(int64_t)value; break;
	case CHOIR_U32: ((uint32_t *)array)[i] = (uint32_t)(int64_t)value; break;
	case CHOIR_I64: ((int64_t *)array)[i] = (int64_t)value; break;
	case CHOIR_U64: ((uint64_t *)array)[i] = (uint64_t)(int64_t)value; break;
	case CHOIR_F16: ((uint16_t *)array)[i] = half_of(value); break;
	case CHOIR_BF16: ((uint16_t *)array)[i] = bfloat_of(value); break;
	case CHOIR_F32: ((float *)array)[i] = (float)value; break;
	case CHOIR_F64: ((double *)array)[i] = value; break;
	case CHOIR_BOOL: ((uint8_t *)array)[i] = value != 0; break;
	}
}

double value_load(choir_dtype dtype, const void *array, size_t i)
{
	switch (dtype) {
	case CHOIR_I8: return ((const int8_t *)array)[i];
	case CHOIR_U8: return ((const uint8_t *)array)[i];
	case CHOIR_I16: return ((const int16_t *)array)[i];
	case CHOIR_U16: return ((const uint16_t *)array)[i];
	case CHOIR_I32: return ((const int32_t *)array)[i];
	case CHOIR_U32: return ((const uint32_t *)array)[i];
	case CHOIR_I64: return (double)((const int64_t *)array)[i];
	case CHOIR_U64: return (double)((const uint64_t *)array)[i];
	case CHOIR_F16: return of_half(((const uint16_t *)array)[i]);
	case CHOIR_BF16: return of_bfloat(((const uint16_t *)array)[i]);
	case CHOIR_F32: return ((const float *)array)[i];
	case CHOIR_F64: return ((const double *)array)[i];
	case CHOIR_BOOL: return ((const uint8_t *)array)[i];
	}
	return NAN;
}

static bool is_float(choir_dtype dtype)
{
	return dtype == CHOIR_F16 || dtype == CHOIR_BF16 || dtype == CHOIR_F32 || dtype == CHOIR_F64;
}

double value_factor(choir_op op)
{
	return op == CHOIR_OP_PREMUL_SUM ? 0.5 : 1;
}

double value_input(choir_dtype dtype, choir_op op, int n, int rank, size_t i)
{
	size_t h = (i * 2654435761u + (size_t)rank * 40503u) >> 7;

	if (dtype == CHOIR_BOOL)
		return h % 3 == 0;
	switch (op) {
	case CHOIR_OP_PROD: return (i + (size_t)rank) % 4 == 0 ? 2 : 1; /* 2^(n/4+1) at most */
	/* sums of up to 16 ranks fit a bf16, 21 an i8 */
	case CHOIR_OP_MEAN: return is_float(dtype) ? (double)(h % 2) * n : (double)(h % 7);
	case CHOIR_OP_SQUARE_ADD: return (double)(h % 3);
	default: return (double)(h % 7);
	}
}

static double fold(choir_dtype dtype, choir_op op, double a, double b)
{
	bool boolean = dtype == CHOIR_BOOL;

	switch (op) {
	case CHOIR_OP_SUM: return boolean ? a != 0 || b != 0 : a + b;
	case CHOIR_OP_SQUARE_ADD: return boolean ? a != 0 || b != 0 : a + b * b;
	case CHOIR_OP_MEAN: return a + b;
	case CHOIR_OP_PREMUL_SUM: return a + value_factor(op) * b;
	case CHOIR_OP_PROD: return boolean ? a != 0 && b != 0 : a * b;
	case CHOIR_OP_MIN: return a < b ? a : b;
	case CHOIR_OP_MAX: return a > b ? a : b;
	case CHOIR_OP_LOGICAL_AND: return a != 0 && b != 0;
	case CHOIR_OP_LOGICAL_OR: return a != 0 || b != 0;
	case CHOIR_OP_BAND: return (double)((int64_t)a & (int64_t)b);
	case CHOIR_OP_BOR: return (double)((int64_t)a | (int64_t)b);
	case CHOIR_OP_BXOR: return (double)((int64_t)a ^ (int64_t)b);
	}
	return NAN;
}

double value_reduced(choir_dtype dtype, choir_op op, int n, size_t i)
{
	double first = value_input(dtype, op, n, 0, i) * value_factor(op),
	       acc = op == CHOIR_OP_SQUARE_ADD && dtype != CHOIR_BOOL ? first * first : first;

	for (int r = 1; r < n; r++)
		acc = fold(dtype, op, acc, value_input(dtype, op, n, r, i));
	return op == CHOIR_OP_MEAN ? trunc(acc / n) : acc;
}
