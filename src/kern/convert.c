/* SPDX-License-Identifier: MIT */
#include "kern/convert.h"

#include "base/copy.h"
#include "base/dtype.h"

#include <string.h>

#define EACH_OP "kern/convert_op.inc"
#include "kern/each_dtype.inc"

struct conversion {
	void (*widen)(float *to, const void *from, size_t n);
	void (*narrow)(void *to, const float *from, size_t n);
};

#define CELLS_SIGNED(dtype)   0
#define CELLS_UNSIGNED(dtype) 0
#define CELLS_BOOL(dtype)     0
#define CELLS_REAL(dtype)     0
#define CELLS_NARROW(dtype)   op_##dtype##_SUM_widen, op_##dtype##_SUM_narrow
#define CELLS_PAIR(dtype)     0

static const struct conversion conversions[N_DTYPES] = {
#include "kern/each_cell.inc"
};

/* Through a batch on the stack, since in place the two views would alias. */
#define BATCH 512

static void widen_all(choir_dtype from, unsigned char *out, const unsigned char *in, uint64_t n)
{
	size_t bytes = choir_dtype_bytes(from);
	float wide[BATCH];
	uint16_t narrow[BATCH];

	for (uint64_t i = 0; i < n; i += BATCH) {
		size_t some = n - i < BATCH ? (size_t)(n - i) : BATCH;

		memcpy(narrow, in + i * bytes, some * bytes);
		conversions[from].widen(wide, narrow, some);
		memcpy(out + i * sizeof *wide, wide, some * sizeof *wide);
	}
}

static void narrow_all(choir_dtype to, unsigned char *out, const unsigned char *in, uint64_t n)
{
	size_t bytes = choir_dtype_bytes(to);
	float wide[BATCH];
	uint16_t narrow[BATCH];

	for (uint64_t i = 0; i < n; i += BATCH) {
		size_t some = n - i < BATCH ? (size_t)(n - i) : BATCH;

		memcpy(wide, in + i * sizeof *wide, some * sizeof *wide);
		conversions[to].narrow(narrow, wide, some);
		memcpy(out + i * bytes, narrow, some * bytes);
	}
}

void convert_values(choir_dtype to, void *out, choir_dtype from, const void *in, uint64_t n)
{
	if (to == from && (n == 0 || out == in))
		return;
	if (to == from)
		copy_host_plain(out, in, n * choir_dtype_bytes(to));
	else if (to == CHOIR_F32)
		widen_all(from, out, in, n);
	else
		narrow_all(to, out, in, n);
}
