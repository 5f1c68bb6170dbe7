/* SPDX-License-Identifier: MIT */
/* The table of scalar loops: one copy a CPU level (bits are counted for each pair: Note [popcount] in bits.c), from the
 * same source and so with the same bits. */
#ifndef SPARSE_SCALARS_LOOPS_H
#define SPARSE_SCALARS_LOOPS_H

#include "base/dtype.h"

#include <choir/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The picked pairs of one list, and the bitmap that gives their positions: the number of bits below. */
struct scalars_run {
	/* each pair's bit, and the position of its value in val; at NULL = values stand in the order of the keys */
	const uint32_t *key, *at;
	const void *val;
	size_t n;
	bool raw;
	const uint64_t *bitmap;
	const uint32_t *before; /* bits below each word */
};

#define SCALARS_NO_KEY UINT32_MAX

/* The loops of one (dtype, op).  Each accumulator stands beside its key: to write the key with each pair costs less
 * than to find the keys in the bitmap afterwards. */
struct scalars_loops {
	size_t acc_bytes;
	/* Fills n accumulators with the identity (identity.h). */
	void (*clear)(const void *identity, void *acc, size_t n);
	void (*fold)(const struct scalars_run *run, void *acc);
	/* Reduces n accumulators of each of 2 or 3 lists, in the order of the lists, and finishes them.  The
	 * accumulator of a list that lacks the key is the identity. */
	void (*finish)(const void *acc, int n_lists, size_t n, int n_ranks, int32_t first_index, int32_t *ind,
	               void *to);
};

extern const struct scalars_loops scalars_base_loops[N_DTYPES][N_OPS];
extern const struct scalars_loops scalars_avx2_loops[N_DTYPES][N_OPS]; /* x86-64 only */

#endif
