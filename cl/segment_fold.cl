/* SPDX-License-Identifier: MIT */
/* Folds the rows of each segment into one, in the order of the entries, which is input order.  segment_fold, after
 * segment_start: rows at the positions that the entries carry, or elements that they carry themselves.  segment_take,
 * right after segment_count: such elements, for devices whose work-items run one after the other.
 * Options: DTYPE, OP (ops.h); RAW, FINAL, INDEX (fold_options.h; the indices are those that segment_take writes); KEY,
 * VALUE (entry.h); CARRIES = 1 if entries carry elements, 0 if positions; GROUP, SPAN (walk.h; SPAN is
 * segment_fold's). */
#include "ops.h"

#include "entry.h"

#include "fold_options.h"

#include "walk.h"

static ACC load_term(__global const ELEM *rows, ulong at)
{
	const ACC x = OPS(load)(rows, at);

	return RAW ? OPS(raw)(x, 1) : x;
}

#ifndef CARRIES
#error "CARRIES: 0 or 1"
#endif

/* Terms that are read before the first of them is folded: the folds wait for each other, the reads need not. */
#define PREFETCH (GROUP == 1 ? 1 : CARRIES ? 32 : 16)

/* The term of entry k. */
static ACC term(__global const entry *entries, uint k, __global const ELEM *rows, ulong rows_at, ulong width,
                ulong column)
{
	return CARRIES ? load_term((__global const ELEM *)&entries[k].value, 0)
	               : load_term(rows, rows_at + entries[k].value * width + column);
}

/* rows_at: elements to skip in rows.  start[s] .. start[s + 1] - 1 are segment s, of *count. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
segment_fold(__global const ELEM *rows, ulong rows_at, __global const entry *entries, __global const uint *start,
             __global const uint *count, ulong width, int n_ranks, __global ELEM *out)
{
	for (walk at = walk_from(*count, width); at.i < at.end; at = walk_on(at)) {
		const uint from = start[at.row], end = start[at.row + 1];
		ACC acc = term(entries, from, rows, rows_at, width, at.column), next[PREFETCH];
		uint k = from + 1;

		for (; end - k >= PREFETCH; k += PREFETCH) {
			for (uint j = 0; j < PREFETCH; j++)
				next[j] = term(entries, k + j, rows, rows_at, width, at.column);
			for (uint j = 0; j < PREFETCH; j++)
				acc = OPS(fold)(acc, next[j]);
		}
		if (k < end) { /* the last batch; a CPU, whose batches are of one, has none */
			for (uint j = 0; j < PREFETCH; j++)
				next[j] = term(entries, min(k + j, end - 1), rows, rows_at, width, at.column);
			for (uint j = 0; j < PREFETCH; j++)
				if (k + j < end)
					acc = OPS(fold)(acc, next[j]);
		}
		OPS(store)(out, at.i, FINAL ? OPS(final)(acc, n_ranks) : acc);
	}
}

/* Work-item t folds the segments that start in its span and writes them, with their indices key + shift, from heads[t]
 * on (heads: after scan_group). */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void segment_take(__global const entry *entries, uint n,
                                                                              uint span, __global const uint *heads,
                                                                              long shift, int n_ranks,
                                                                              __global INDEX *ind, __global ELEM *out)
{
	const uint t = (uint)get_global_id(0), end = (uint)min(((ulong)t + 1) * span, (ulong)n);
	uint i = (uint)min((ulong)t * span, (ulong)n), to = heads[t];

	if (i > 0)
		while (i < end && entries[i].key == entries[i - 1].key)
			i++; /* skips the end of a segment that started in an earlier span */
	while (i < end) {
		const KEY key = entries[i].key;
		ACC acc = load_term((__global const ELEM *)&entries[i].value, 0);

		for (i++; i < n && entries[i].key == key; i++)
			acc = OPS(fold)(acc, load_term((__global const ELEM *)&entries[i].value, 0));
		ind[to] = (INDEX)((long)key + shift);
		OPS(store)(out, to++, FINAL ? OPS(final)(acc, n_ranks) : acc);
	}
}
