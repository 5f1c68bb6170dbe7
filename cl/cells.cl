/* SPDX-License-Identifier: MIT */
/* Note [cells].  Folds entries that share a key, on devices whose work-items run one after the other.  The entries are
 * grouped into buckets by the upper bits of their keys (radix.cl), in their order.  A work-item folds one bucket, in
 * order, into a cell for each key the bucket can have; a bitmap records the cells in use.  Three launches: cells_count,
 * scan_group over its counts, cells_take.
 *
 * A cell starts as the value that changes no bit when it is folded, so the first element needs no branch, which a CPU
 * would mispredict; of a caller's operator, where nobody knows such a value, it starts as its first element.
 *
 * Options: DTYPE, OP (ops.h); RAW, FINAL, INDEX (fold_options.h); KEY, VALUE (entry.h); CELL_BITS = the lower bits of a
 * key. */
#include "ops.h"

#include "entry.h"

#include "fold_options.h"

#if !defined CELL_BITS || CELL_BITS < 5
#error "CELL_BITS: the lower bits of a key"
#endif

#define CELLS (1u << CELL_BITS)
#define WORDS (CELLS / 32)

/* The position of the first of n entries in bucket b or a later one. */
static uint bucket_start(__global const entry *entries, uint n, ulong b)
{
	uint lo = 0, hi = n;

	while (lo < hi) {
		const uint mid = lo + (hi - lo) / 2;

		if ((ulong)entries[mid].key >> CELL_BITS < b)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint cell_of(KEY key)
{
	return (uint)key & (CELLS - 1);
}

#define BEGINS_EMPTY (OPS_KIND == OPS_OP_USER)

#if !BEGINS_EMPTY
/* The value that changes no bit when it is folded: for sums of floats the negative zero, since 0 + -0 is 0. */
static ACC nothing(void)
{
#if OPS_IS_FLOAT && (OPS_KIND == OPS_OP_SUM || OPS_KIND == OPS_OP_MEAN || OPS_KIND == OPS_OP_SQUARE_ADD)
	return -(ACC)0;
#else
	return OPS(identity)();
#endif
}
#endif

/* counts[b] = distinct keys of bucket b; bitmap: the cells in use, bucket after bucket. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void cells_count(__global const entry *entries, uint n, __global uint *counts, __global uint *bitmap)
{
	__local uint bits[WORDS];
	const uint b = (uint)get_global_id(0);
	const uint from = bucket_start(entries, n, b), end = bucket_start(entries, n, (ulong)b + 1);
	uint count = 0;

	for (uint w = 0; w < WORDS; w++)
		bits[w] = 0;
	for (uint i = from; i < end; i++) {
		const uint x = cell_of(entries[i].key);

		bits[x / 32] |= 1u << (x % 32);
	}
	for (uint w = 0; w < WORDS; w++) {
		count += popcount(bits[w]);
		bitmap[(ulong)b * WORDS + w] = bits[w];
	}
	counts[b] = count;
}

/* counts, after scan_group: the position where the bucket's indices (key + shift) and elements begin. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void cells_take(__global const entry *entries, uint n, __global const uint *counts, __global const uint *bitmap,
                long shift, int n_ranks, __global INDEX *ind, __global ELEM *out)
{
	__local ACC cells[CELLS];
#if BEGINS_EMPTY
	__local uint begun[WORDS]; /* a bit for each cell */
#endif
	const uint b = (uint)get_global_id(0);
	const uint from = bucket_start(entries, n, b), end = bucket_start(entries, n, (ulong)b + 1);
	uint to = counts[b];

#if BEGINS_EMPTY
	for (uint w = 0; w < WORDS; w++)
		begun[w] = 0;
#else
	for (uint x = 0; x < CELLS; x++)
		cells[x] = nothing();
#endif
	for (uint i = from; i < end; i++) {
		const uint x = cell_of(entries[i].key);
		ACC here = OPS(load)((__global const ELEM *)&entries[i].value, 0);

		if (RAW)
			here = OPS(raw)(here, 1);
#if BEGINS_EMPTY
		cells[x] = begun[x / 32] >> x % 32 & 1 ? OPS(fold)(cells[x], here) : here;
		begun[x / 32] |= 1u << x % 32;
#else
		cells[x] = OPS(fold)(cells[x], here);
#endif
	}
	for (uint w = 0; w < WORDS; w++)
		for (uint left = bitmap[(ulong)b * WORDS + w]; left != 0; left &= left - 1) {
			const uint x = w * 32 + 31 - clz(left & (0 - left));
			const ACC here = cells[x];

			ind[to] = (INDEX)((long)((ulong)b << CELL_BITS | x) + shift);
			OPS(store)(out, to++, FINAL ? OPS(final)(here, n_ranks) : here);
		}
}
