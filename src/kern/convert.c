/* SPDX-License-Identifier: MIT */
#include "kern/convert.h"

#include <string.h>

#define OP SUM
#define DTYPE F16
#include "ops.h"
#undef DTYPE
#define DTYPE BF16
#include "ops.h"
#undef DTYPE
#undef OP

/* Through a batch on the stack, since in place the two views would alias. */
#define BATCH 512

static void widen(choir_dtype from, float *out, const uint16_t *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = from == CHOIR_F16 ? op_F16_SUM_load(in, i) : op_BF16_SUM_load(in, i);
}

static void narrow(choir_dtype to, uint16_t *out, const float *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (to == CHOIR_F16)
			op_F16_SUM_store(out, i, in[i]);
		else
			op_BF16_SUM_store(out, i, in[i]);
}

static void widen_all(choir_dtype from, unsigned char *out, const unsigned char *in, uint64_t n)
{
	float wide[BATCH];
	uint16_t narrow_ones[BATCH];

	for (uint64_t i = 0; i < n; i += BATCH) {
		size_t some = n - i < BATCH ? (size_t)(n - i) : BATCH;

		memcpy(narrow_ones, in + i * sizeof *narrow_ones, some * sizeof *narrow_ones);
		widen(from, wide, narrow_ones, some);
		memcpy(out + i * sizeof *wide, wide, some * sizeof *wide);
	}
}

static void narrow_all(choir_dtype to, unsigned char *out, const unsigned char *in, uint64_t n)
{
	float wide[BATCH];
	uint16_t narrow_ones[BATCH];

	for (uint64_t i = 0; i < n; i += BATCH) {
		size_t some = n - i < BATCH ? (size_t)(n - i) : BATCH;

		memcpy(wide, in + i * sizeof *wide, some * sizeof *wide);
		narrow(to, narrow_ones, wide, some);
		memcpy(out + i * sizeof *narrow_ones, narrow_ones, some * sizeof *narrow_ones);
	}
}

void convert_values(choir_dtype to, void *out, choir_dtype from, const void *in, uint64_t n)
{
	if (to == from && (n == 0 || out == in))
		return;
	if (to == from)
		memcpy(out, in, n * choir_dtype_bytes(to));
	else if (to == CHOIR_F32)
		widen_all(from, out, in, n);
	else
		narrow_all(to, out, in, n);
}
