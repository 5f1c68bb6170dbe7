/* SPDX-License-Identifier: MIT */
#include "sparse/scalars.h"

#include "sparse/bits.h"
#include "sparse/identity.h"
#include "sparse/scalars_loops.h"

#define WIDEST_ELEM 8

/* A part's bitmap and places take 3 / 16 of a byte an index: 192 KB at most, beside the accumulators. */
#define MOST_PART    (UINT64_C(1) << 20)
#define WORDS_A_PAIR 8
#define MOST_PAIRS   (UINT64_C(1) << 18) /* of all ranks: more would not stay in the cache */

static const struct scalars_loops *loops_of(const struct scalars_call *call)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2"))
		return &scalars_avx2_loops[call->dtype][call->op];
#endif
	return &scalars_base_loops[call->dtype][call->op];
}

bool scalars_fit(struct index_range range, uint64_t pairs, int n_ranks)
{
	uint64_t span = index_range_span(range);

	return n_ranks <= SCALARS_LISTS && pairs <= MOST_PAIRS && span / (unsigned)n_ranks <= MOST_PART &&
	       span / 64 / WORDS_A_PAIR <= pairs;
}

static bool moves_values(const struct scalars_call *call)
{
	return choir_dtype_bytes(call->dtype) == sizeof(uint32_t);
}

choir_status scalars_pick(struct scalars *job, const struct scalars_call *call)
{
	uint64_t room = COMPACT_SLACK;

	memset(job, 0, sizeof *job);
	job->call = *call;
	for (int s = 0; s < call->n_lists; s++)
		room += call->lists[s].pairs.count;
	TRY(pool_take(&job->memory, 2 * room * sizeof *job->key, "the pairs of a part"));
	job->key = job->memory.ptr;
	job->val = job->key + room;
	for (int s = 0; s < call->n_lists; s++) {
		const struct pairs *pairs = &call->lists[s].pairs;
		const uint32_t *with = moves_values(call) ? (const uint32_t *)(const void *)pairs->rows : NULL;
		uint64_t from = job->from[s];

		job->from[s + 1] = from + compact_range(pairs->ind, pairs->form.base, with, pairs->count, call->range,
		                                        job->key + from, job->val + from);
	}
	return CHOIR_SUCCESS;
}

void scalars_fini(struct scalars *job)
{
	pool_give(&job->memory);
	memset(job, 0, sizeof *job);
}

static void mark(const struct scalars *job, uint64_t *bitmap)
{
	const uint32_t *key = job->key;
	uint64_t n = scalars_picked(job);

	for (uint64_t i = 0; i < n; i++)
		bitmap[key[i] / 64] |= UINT64_C(1) << key[i] % 64;
}

choir_status scalars_reduce(const struct scalars *job, int32_t *ind, int64_t base, void *val, uint64_t *count_p)
{
	const struct scalars_call *call = &job->call;
	const struct scalars_loops *loop = loops_of(call);
	uint64_t words = index_range_span(call->range) / 64 + 1, picked = scalars_picked(job), count, identity;
	struct pool_block block;
	uint64_t *bitmap;
	uint32_t *before;
	unsigned char *acc;
	int n_lists = call->n_lists < 2 ? 2 : call->n_lists;

	TRY(pool_take(&block,
	              words * (sizeof *bitmap + sizeof *before) + WIDEST_ELEM +
	                  picked * (unsigned)n_lists * loop->acc_bytes,
	              "the accumulators of a part"));
	bitmap = block.ptr;
	before = (uint32_t *)(bitmap + words);
	acc = (unsigned char *)(bitmap + words + (words + 1) / 2);
	memset(bitmap, 0, words * sizeof *bitmap);
	mark(job, bitmap);
	count = bits_before(bitmap, words, before);
	identity_fill(call->dtype, call->op, &identity, 1);
	loop->clear(&identity, acc, (uint64_t)n_lists * count);
	for (int s = 0; s < call->n_lists; s++) {
		uint64_t from = job->from[s];
		struct scalars_run run = { .key = job->key + from,
			                   .n = job->from[s + 1] - from,
			                   .raw = call->lists[s].raw,
			                   .bitmap = bitmap,
			                   .before = before };

		run.at = moves_values(call) ? NULL : job->val + from;
		run.val = moves_values(call) ? (const void *)(job->val + from) : call->lists[s].pairs.rows;
		loop->fold(&run, acc + (uint64_t)s * count * loop->acc_bytes);
	}
	loop->finish(acc, n_lists, count, call->n_ranks, (int32_t)(call->range.lo - base), ind, val);
	pool_give(&block);
	*count_p = count;
	return CHOIR_SUCCESS;
}
