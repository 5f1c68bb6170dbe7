/* SPDX-License-Identifier: MIT */
/* Folds the rows of each segment into one, in the order of the entries, which is input order.  segment_fold reads rows
 * at the positions that the entries carry; segment_take folds elements that the entries carry themselves.
 * Options: DTYPE, OP (ops.h); RAW, FINAL, INDEX (fold_options.h; the indices are those that segment_take writes); KEY,
 * VALUE (entry.h); GROUP, SPAN (walk.h; SPAN is segment_fold's). */
#include "ops.h"

#include "entry.h"

#include "fold_options.h"

#include "walk.h"

static ACC load_term(__global const ELEM *rows, ulong at)
{
	const ACC x = OPS(load)(rows, at);

	return RAW ? OPS(raw)(x, 1) : x;
}

/* rows_at: elements to skip in rows.  start[s] .. start[s + 1] - 1 are segment s, of *count. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void segment_fold(__global const ELEM *rows, ulong rows_at, __global const entry *entries, __global const uint *start,
                  __global const uint *count, ulong width, int n_ranks, __global ELEM *out)
{
	for (walk at = walk_from(*count, width); at.i < at.end; at = walk_on(at)) {
		const uint from = start[at.row], end = start[at.row + 1];
		ACC acc = load_term(rows, rows_at + entries[from].value * width + at.column);

		for (uint k = from + 1; k < end; k++)
			acc = OPS(fold)(acc, load_term(rows, rows_at + entries[k].value * width + at.column));
		OPS(store)(out, at.i, FINAL ? OPS(final)(acc, n_ranks) : acc);
	}
}

/* Work-item t folds the segments that start in its span and writes them, with their indices key + shift, from heads[t]
 * on (heads: after scan_group). */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void segment_take(__global const entry *entries, uint n, uint span, __global const uint *heads, long shift, int n_ranks,
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
