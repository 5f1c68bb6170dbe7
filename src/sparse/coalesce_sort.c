/* SPDX-License-Identifier: MIT */
/* The sort route of the host twin: for ranges far larger than the number of pairs.  One read and one write of all entries per 8 bits of range, then
 * the rows in sorted order. */
#include "sparse/coalesce.h"
#include "sparse/rows.h"

#define BATCH 512

static void write_index(void *ind, struct index_form form, uint64_t i, int64_t index)
{
	if (form.bytes == 4)
		((int32_t *)ind)[i] = (int32_t)(index - form.base);
	else
		((int64_t *)ind)[i] = index - form.base;
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

#define KEY uint32_t
#define NAME(x) narrow_##x
#include "sparse/radix.inc"

#define KEY uint64_t
#define NAME(x) wide_##x
#include "sparse/radix.inc"

choir_status coalesce_sort_count(struct coalesce *job)
{
	uint64_t span = (uint64_t)(job->call.range.hi - job->call.range.lo);
	unsigned key_bits = span == 0 ? 0 : 64 - (unsigned)__builtin_clzll(span);

	job->wide = span > UINT32_MAX || job->pairs > UINT32_MAX;
	return job->wide ? wide_count(job, key_bits) : narrow_count(job, key_bits);
}

choir_status coalesce_sort_fill(struct coalesce *job, void *ind, struct index_form form, void *out)
{
	const struct coalesce_call *call = &job->call;
	struct rows rows = { .dtype = call->dtype, .op = call->op, .raw = call->raw, .final = call->final,
			     .n_ranks = call->n_ranks, .width = call->width, .acc = out };

	if (rows_acc_bytes(call->dtype) != choir_dtype_bytes(call->dtype)) {
		TRY(pool_take(&job->acc, job->count * call->width * rows_acc_bytes(call->dtype), "the accumulators"));
		rows.acc = job->acc.ptr;
	}
	if (job->wide)
		wide_fill(job, ind, form, &rows);
	else
		narrow_fill(job, ind, form, &rows);
	rows_finish(&rows, out, job->count);
	return CHOIR_SUCCESS;
}
