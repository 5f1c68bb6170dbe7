/* SPDX-License-Identifier: MIT */
/* Which numbers.  Every partial sum must be exact even in bf16 (integers up to 256) and every wrap must be modular, in
 * any order.  f8e5m2 is exact for integers up to 8 only: the ranks above 7 add zeros, and so on.
 * sum, square_add   -2..1 (unsigned: 0..3): exact up to 64 ranks
 * premul_sum        the same, times 2
 * prod              1 or 2, and 1 on ranks above 7: at most 2^7
 * minloc, maxloc    the others' numbers, as pairs (values_encode)
 * mean              base + d, the d of all ranks adding up to zero: the mean is base, whoever divides and how; of
 *                   integers rank 0 has up to 3 more, which a division towards zero drops
 * logical           an odd number of seven bits, or 0
 * the others        seven bits, moved below zero for signed types
 * bool              0 or 1 */
#include "values.h"

#include <string.h>

enum { PREMUL_FACTOR = 2 };

static uint32_t hash(uint32_t i, uint32_t salt)
{
	uint32_t h = i * 0x9e3779b1u + salt;

	h ^= h >> 15;
	h *= 0x85ebca77u;
	return h ^ h >> 13;
}

static uint32_t salt_of(const struct values *v, uint32_t stream, size_t first)
{
	return hash(stream, v->seed * 0xc2b2ae3du + (uint32_t)(first >> 32) * 0x27d4eb2fu);
}

static bool is_signed(choir_dtype dtype)
{
	return dtype != CHOIR_U8 && dtype != CHOIR_U16 && dtype != CHOIR_U32 && dtype != CHOIR_U64 &&
	       dtype != CHOIR_BOOL;
}

static bool is_tiny(choir_dtype dtype)
{
	return dtype == CHOIR_F8E4M3 || dtype == CHOIR_F8E5M2;
}

/* +1, -1 in pairs of ranks, 0 for the last of an odd number. */
static int32_t mean_part(const struct values *v, int rank)
{
	if (rank == v->n_ranks - 1 && v->n_ranks % 2 == 1)
		return 0;
	return rank % 2 == 0 ? 1 : -1;
}

/* What the division drops. */
static int32_t mean_rest(const struct values *v, int rank)
{
	bool whole = v->dtype != CHOIR_F16 && v->dtype != CHOIR_BF16 && v->dtype != CHOIR_F32 &&
	             v->dtype != CHOIR_F64 && !is_tiny(v->dtype);

	return rank == 0 && whole ? (v->n_ranks <= 3 ? v->n_ranks - 1 : 3) : 0;
}

static void mean_values(const struct values *v, int rank, size_t first, size_t n, int32_t *out)
{
	uint32_t salt = salt_of(v, 0, first);
	int32_t part = mean_part(v, rank), rest = mean_rest(v, rank), flip = is_signed(v->dtype) ? 2 : 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t h = hash((uint32_t)(first + i), salt);
		int32_t base = !is_tiny(v->dtype) ? 1 + (int32_t)(h >> 8 & 1) : v->n_ranks <= 8;
		int32_t value = base + part + ((h >> 20 & 1) != 0 ? rest : 0);

		out[i] = (int32_t)(h >> 16 & 2) & flip ? -value : value;
	}
}

static bool is_logical(choir_op op)
{
	return op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR || op == CHOIR_OP_LOGICAL_XOR;
}

void values_of(const struct values *v, int rank, size_t first, size_t n, int32_t *out)
{
	uint32_t salt = salt_of(v, 1 + (uint32_t)rank, first), mask = 127;
	int32_t shift = is_signed(v->dtype) ? -64 : 0;

	if (v->dtype == CHOIR_BOOL) {
		mask = 1;
	} else if (v->op == CHOIR_OP_MEAN) {
		mean_values(v, rank, first, n, out);
		return;
	} else if (v->op == CHOIR_OP_SUM || v->op == CHOIR_OP_SQUARE_ADD || v->op == CHOIR_OP_PREMUL_SUM) {
		mask = is_tiny(v->dtype) ? (rank < 8 ? 1 : 0) : 3;
		shift = is_tiny(v->dtype) ? 0 : shift != 0 ? -2 : 0;
	} else if (v->op == CHOIR_OP_PROD) {
		mask = rank < 7 ? 1 : 0;
		shift = 1;
	} else if (is_tiny(v->dtype)) {
		mask = 15;
		shift = -8;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = (int32_t)(hash((uint32_t)(first + i), salt) >> 8 & mask) + shift;
	for (size_t i = 0; i < n && is_logical(v->op); i++)
		out[i] = out[i] % 2 != 0 ? out[i] : 0;
}

static int32_t fold(choir_op op, bool boolean, int32_t a, int32_t b)
{
	b = is_logical(op) ? b != 0 : b;
	switch (op) {
	case CHOIR_OP_SUM:
		return boolean ? a | b : a + b;
	case CHOIR_OP_PROD:
		return a * b; /* bool: and */
	case CHOIR_OP_MIN:
		return a < b ? a : b;
	case CHOIR_OP_MAX:
		return a > b ? a : b;
	case CHOIR_OP_SQUARE_ADD:
		return boolean ? a | b : a + b * b;
	case CHOIR_OP_LOGICAL_AND:
	case CHOIR_OP_BAND:
		return a & b;
	case CHOIR_OP_LOGICAL_OR:
	case CHOIR_OP_BOR:
		return a | b;
	case CHOIR_OP_MINLOC: /* by value, then by index */
		return a < b ? a : b;
	case CHOIR_OP_MAXLOC: /* by value, then against the index */
		return (a ^ 7) > (b ^ 7) ? a : b;
	case CHOIR_OP_BXOR:
	case CHOIR_OP_LOGICAL_XOR:
		return a ^ b;
	default:
		return a + b; /* mean and premul_sum: the rest is below */
	}
}

choir_op values_op(choir_op op)
{
	return strncmp(choir_op_name(op), "user_sum", strlen("user_sum")) == 0 ? CHOIR_OP_SUM : op;
}

double values_factor(choir_op op)
{
	return op == CHOIR_OP_PREMUL_SUM ? PREMUL_FACTOR : 1;
}

void values_reduced(const struct values *v, int ranks, int me, size_t first, size_t n, int32_t *out)
{
	int32_t part[VALUES_BLOCK];

	values_of(v, v->op == CHOIR_OP_LOCAL ? me : 0, first, n, out);
	if (v->op == CHOIR_OP_LOCAL)
		return;
	for (size_t i = 0; i < n && v->op == CHOIR_OP_SQUARE_ADD; i++)
		out[i] *= out[i];
	for (size_t i = 0; i < n && is_logical(v->op); i++)
		out[i] = out[i] != 0;
	for (int r = 1; r < ranks; r++) {
		values_of(v, r, first, n, part);
		for (size_t i = 0; i < n; i++)
			out[i] = fold(v->op, v->dtype == CHOIR_BOOL, out[i], part[i]);
	}
	for (size_t i = 0; i < n && v->op == CHOIR_OP_MEAN; i++)
		out[i] /= v->n_ranks;
	for (size_t i = 0; i < n && v->op == CHOIR_OP_PREMUL_SUM; i++)
		out[i] *= PREMUL_FACTOR;
}

static void encode_f32(const int32_t *in, size_t n, unsigned char *out)
{
	for (size_t i = 0; i < n; i++) {
		float x = (float)in[i];

		memcpy(out + 4 * i, &x, 4);
	}
}

/* bf16 is the upper half of an f32; f16 has 5 bits of exponent and 10 of fraction.  Small integers lose nothing in
 * either. */
static void encode_16(choir_dtype dtype, const int32_t *in, size_t n, unsigned char *out)
{
	for (size_t i = 0; i < n; i++) {
		float x = (float)in[i];
		uint32_t bits;
		uint16_t half;

		memcpy(&bits, &x, 4);
		half = (uint16_t)(bits >> 16);
		if (dtype == CHOIR_F16 && in[i] != 0)
			half = (uint16_t)((half & 0x8000u) | (((bits >> 23 & 255u) - 127 + 15) << 10) |
			                  (bits >> 13 & 1023u));
		memcpy(out + 2 * i, &half, 2);
	}
}

/* Integers of up to four bits, as f8e4m3 (3 bits of fraction) or f8e5m2 (2): exact for those that values_of makes. */
static void encode_8(choir_dtype dtype, const int32_t *in, size_t n, unsigned char *out)
{
	int fraction = dtype == CHOIR_F8E4M3 ? 3 : 2, bias = dtype == CHOIR_F8E4M3 ? 7 : 15;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits;
		float x = (float)in[i];

		memcpy(&bits, &x, 4);
		out[i] = (unsigned char)(bits >> 24 & 0x80);
		if (in[i] != 0)
			out[i] |= (unsigned char)((((bits >> 23 & 255) - 127 + (uint32_t)bias) << fraction) |
			                          (bits >> (23 - fraction) & ((1u << fraction) - 1)));
	}
}

static void encode_integer(const int32_t *in, size_t n, size_t bytes, unsigned char *out)
{
	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < bytes; b++)
			out[i * bytes + b] = (unsigned char)((uint64_t)(int64_t)in[i] >> 8 * b);
}

static void encode_f64(const int32_t *in, size_t n, unsigned char *out)
{
	for (size_t i = 0; i < n; i++) {
		double x = in[i];

		memcpy(out + 8 * i, &x, 8);
	}
}

static void encode_pairs(choir_dtype dtype, const int32_t *in, size_t n, unsigned char *out)
{
	size_t bytes = choir_dtype_bytes(dtype), value_bytes = bytes / 2;
	bool is_float = dtype == CHOIR_F32_I32 || dtype == CHOIR_F64_I32;

	memset(out, 0, n * bytes);
	for (size_t i = 0; i < n; i++, out += bytes) {
		int32_t index = in[i] & 7, value = (in[i] - index) / 8;

		if (is_float && value_bytes == 4)
			encode_f32(&value, 1, out);
		else if (is_float)
			encode_f64(&value, 1, out);
		else
			encode_integer(&value, 1, value_bytes, out);
		memcpy(out + value_bytes, &index, sizeof index);
	}
}

void values_encode(choir_dtype dtype, const int32_t *in, size_t n, void *out)
{
	if (dtype == CHOIR_F32)
		encode_f32(in, n, out);
	else if (dtype == CHOIR_F64)
		encode_f64(in, n, out);
	else if (dtype == CHOIR_F16 || dtype == CHOIR_BF16)
		encode_16(dtype, in, n, out);
	else if (is_tiny(dtype))
		encode_8(dtype, in, n, out);
	else if (dtype >= CHOIR_F32_I32 && dtype <= CHOIR_I64_I32)
		encode_pairs(dtype, in, n, out);
	else
		encode_integer(in, n, choir_dtype_bytes(dtype), out);
}
