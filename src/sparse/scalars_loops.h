/* SPDX-License-Identifier: MIT */
/* The table of scalar loops: one copy a CPU level (bits are counted for each pair: Note [popcount] in bits.c), from the
 * same source and so with the same bits. */
#ifndef SPARSE_SCALARS_LOOPS_H
#define SPARSE_SCALARS_LOOPS_H

#include "sparse/each_cell.h"

#include <choir/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pairs of one list, and where their indices' places are found: as many bits as there are below them. */
struct scalars_run {
	/* the bit, and the value's position in val; at NULL: they stand one after the other */
	const uint32_t *key, *at;
	const void *val;
	size_t n;
	bool raw;
	const uint64_t *bitmap;
	const uint32_t *before; /* bits below each word */
};

#define SCALARS_NO_KEY UINT32_MAX

/* One (dtype, op).  An accumulator has its key beside it: a pair then brings its index to its place by the way, which
 * costs less than finding the indices in the bitmap: 20 000 pairs in 500 000 indices 5 us more here, 20 us less
 * there. */
struct scalars_loops {
	size_t acc_bytes;
	/* n accumulators that the first fold replaces (identity.h): no flag has to say which are untouched. */
	void (*clear)(const void *identity, void *acc, size_t n);
	void (*fold)(const struct scalars_run *run, void *acc);
	/* n accumulators of each of 2 or 3 lists, list after list in memory: folded in their order, finished; some list
	 * has each key, and what has nothing to add changes no bit. */
	void (*finish)(const void *acc, int n_lists, size_t n, int n_ranks, int32_t first_index, int32_t *ind,
	               void *to);
};

extern const struct scalars_loops scalars_base_loops[EACH_DTYPES][EACH_OPS];
extern const struct scalars_loops scalars_avx2_loops[EACH_DTYPES][EACH_OPS]; /* x86-64 only */

#endif
