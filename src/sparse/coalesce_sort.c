/* SPDX-License-Identifier: MIT */
/* The sort route of the host twin: for ranges far larger than the number of pairs. */
#include "sparse/coalesce.h"
#include "sparse/rows.h"
#include "sparse/scratch.h"

#define BATCH      512
#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)
#define FEW        32 /* entries for which a histogram is more work than they are */

/* Note [groups].  10 M uniform indices of 31 bits, one core: four passes through memory, and then a row fetched from anywhere for each, took 2.5 times as long
 * as one pass, three inside the second cache, and elements that travel with their keys. */

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

static inline void element_put(void *to, size_t elem_bytes, size_t i, uint64_t element)
{
	switch (elem_bytes) {
	case 1:
		((uint8_t *)to)[i] = (uint8_t)element;
		break;
	case 2:
		((uint16_t *)to)[i] = (uint16_t)element;
		break;
	case 4:
		((uint32_t *)to)[i] = (uint32_t)element;
		break;
	default:
		((uint64_t *)to)[i] = element;
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

#define KEY uint32_t
#define NAME(x) narrow_##x
#include "sparse/radix.inc"

#define KEY uint64_t
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
	job->carries = job->call.width == 1 && choir_dtype_bytes(job->call.dtype) <= (job->wide ? 8 : 4);
	return job->wide ? wide_count(job, key_bits) : narrow_count(job, key_bits);
}

static choir_status fill(struct coalesce *job, void *ind, struct index_form form, void *out)
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

const struct coalesce_way coalesce_way_sort = { .name = "sort", .fits = fits, .count = count, .fill = fill };
