/* SPDX-License-Identifier: MIT */
/* The sort way of the host: for ranges far larger than the number of pairs. */
#include "sparse/prefetch.h"

#include "base/dtype.h"
#include "base/simd.h"
#include "base/user_op.h"
#include "sparse/coalesce.h"
#include "sparse/rows.h"
#include "sparse/scratch.h"

#define BATCH      512
#define GROUP_BITS 8
#define GROUPS     (1u << GROUP_BITS)
#define FEW        32 /* entries for which a histogram is more work than they are */
#define USUAL_BITS 8
#define MOST_BITS  12     /* of a digit: */
#define MANY       8192   /* from here on a histogram of so many digits is little beside the entries, */
#define TOO_MANY   131072 /* up to here the digits' ends stay in the second cache */

/* Note [groups].  A long list is sorted by its uppermost digit in one pass through memory, then each group inside the
 * second cache, and elements travel with their keys: a pass through memory for each digit, and then a fetch of each row
 * from anywhere, are slower.  In the cache few passes by long digits are faster than more by short ones. */

/* Elements of sorted entries, stride bytes from each other; first[i]: the first of its index. */
struct sorted_run {
	const unsigned char *val;
	const uint8_t *first;
	size_t stride, n;
	bool raw, final;
	int n_ranks;
};

#define LOOPS "sparse/sorted_op.inc"
#include "kern/each_dtype.inc"

/* Folds a run to `to`, of which so many are written; carry: the accumulator from one run to the next.  Returns how many
 * are written then. */
struct sorted_loop {
	uint64_t (*fold)(const struct sorted_run *run, void *carry, void *to, uint64_t written);
};

#define CELL(dtype, op) [CHOIR_OP_##op] = { op_##dtype##_##op##_sorted_fold }

static const struct sorted_loop loops[N_DTYPES][N_OPS] = {
#include "kern/each_cell.inc"
};

/* Elements of up to 8 bytes as numbers. */
static inline uint64_t element_at(const void *from, size_t elem_bytes, uint64_t i)
{
	switch (elem_bytes) {
	case 1:
		return ((const uint8_t *)from)[i];
	case 2:
		return ((const uint16_t *)from)[i];
	case 4:
		return ((const uint32_t *)from)[i];
	default:
		return ((const uint64_t *)from)[i];
	}
}

/* The row of the at-th pair of all lists. */
static const unsigned char *row_at(const struct coalesce_call *call, uint64_t at)
{
	const struct coalesce_source *src = call->src;

	while (at >= src->pairs.count) {
		at -= src->pairs.count;
		src++;
	}
	return src->pairs.rows + at * call->width * choir_dtype_bytes(call->dtype);
}

#define KEY     uint32_t
#define NAME(x) narrow_##x
#include "sparse/radix.inc"

#define KEY     uint64_t
#define NAME(x) wide_##x
#include "sparse/radix.inc"

static bool fits(const struct coalesce_call *call, uint64_t pairs)
{
	(void)call;
	(void)pairs;
	return true;
}

static choir_status count(struct coalesce *job)
{
	uint64_t span = (uint64_t)(job->call.range.hi - job->call.range.lo);
	unsigned key_bits = span == 0 ? 0 : 64 - (unsigned)__builtin_clzll(span);

	job->wide = span > UINT32_MAX || job->pairs > UINT32_MAX;
	job->carries = !user_op_is(job->call.op) && job->call.width == 1 &&
	               choir_dtype_bytes(job->call.dtype) <= (job->wide ? 8 : 4);
	return job->wide ? wide_count(job, key_bits) : narrow_count(job, key_bits);
}

static choir_status fill(struct coalesce *job, void *ind, struct index_form form, void *out)
{
	const struct coalesce_call *call = &job->call;
	struct rows rows = { .dtype = call->dtype,
		             .op = call->op,
		             .raw = call->raw,
		             .final = call->final,
		             .n_ranks = call->n_ranks,
		             .width = call->width,
		             .acc = out };

	if (job->carries) {
		(job->wide ? wide_fill_elements : narrow_fill_elements)(job, ind, form, out);
		return CHOIR_SUCCESS;
	}
	if (dtype_acc_bytes(call->dtype) != choir_dtype_bytes(call->dtype)) {
		TRY(pool_take(&job->acc, job->count * call->width * dtype_acc_bytes(call->dtype), "the accumulators"));
		rows.acc = job->acc.ptr;
	}
	(job->wide ? wide_fill_rows : narrow_fill_rows)(job, ind, form, &rows);
	rows_finish(&rows, out, job->count);
	return CHOIR_SUCCESS;
}

const struct coalesce_way coalesce_way_sort = { .name = "sort", .fits = fits, .count = count, .fill = fill };
