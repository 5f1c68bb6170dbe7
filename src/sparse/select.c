/* SPDX-License-Identifier: MIT */
/* Note [pivot].  The k largest of n are found in one pass: a sample says above which key about k lie, a little more to
 * be safe; what lies above it is collected (a vector comparison for each element, little else), and the radix select
 * runs on those only.  A sample that misleads costs a second pass with a lower pivot; an input full of equal elements,
 * where no pivot helps, costs the radix select over all of it. */
#include "sparse/select.h"

#include "base/simd.h"
#include "sparse/prefetch.h"
#include "sparse/bits.h"
#include "sparse/pool.h"

#include <stdbool.h>

#ifdef __x86_64__
#include "sparse/select_masks.h"
#include "sparse/select_pack.h"
#define HAS_SELECT_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
#define HAS_PACK        (__builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt"))
#define WITH_MASKS      __attribute__((target("avx512f,avx512bw")))
#define HAS_MASKS       (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
#endif

/* Note [two steps].  A block of elements becomes bits first, then its set bits become positions, and those pairs: no
 * branch depends on an element, and a missed one costs more than many elements read.  The elements taken are read again
 * while they are in the caches.  STREAMS blocks one behind the other become bits side by side: a core's prefetching
 * stops at page ends, so one stream alone would be slower. */
#define BLOCK_WORDS 32
#define STREAMS     4

#define DIGIT_BITS 11
#define SAMPLES    SELECT_SAMPLES

#define KEY                  uint16_t
#define NAME(x)              x##_2
#define SPREAD(key)          _mm512_set1_epi16((short)(key))
#define REACHES(keys, least) _mm512_cmpge_epu16_mask(keys, least)
#include "sparse/select_key.inc"
#define KEY                  uint32_t
#define NAME(x)              x##_4
#define SPREAD(key)          _mm512_set1_epi32((int)(key))
#define REACHES(keys, least) _mm512_cmpge_epu32_mask(keys, least)
#include "sparse/select_key.inc"
#define KEY                  uint64_t
#define NAME(x)              x##_8
#define SPREAD(key)          _mm512_set1_epi64((long long)(key))
#define REACHES(keys, least) _mm512_cmpge_epu64_mask(keys, least)
#include "sparse/select_key.inc"

uint64_t select_key(uint32_t elem_bytes, const void *elem)
{
	uint64_t bits = 0;

	memcpy(&bits, elem, elem_bytes); /* little endian, as all we run on */
	return bits & UINT64_MAX >> (65 - 8 * elem_bytes);
}

uint64_t select_host(const struct select_input *in, struct select_limit limit, const struct select_output *out)
{
	if (in->elem_bytes == 2)
		return select_2(in, limit, out);
	return in->elem_bytes == 4 ? select_4(in, limit, out) : select_8(in, limit, out);
}

struct select_limit select_radix(const struct select_input *in, uint64_t k)
{
	if (k == 0) /* nothing: no key is above the highest */
		return (struct select_limit){ .key = UINT64_MAX >> (65 - 8 * in->elem_bytes), .ties = 0 };
	if (in->elem_bytes == 2)
		return radix_2(in->val, in->n, k);
	return in->elem_bytes == 4 ? radix_4(in->val, in->n, k) : radix_8(in->val, in->n, k);
}

/* Four deviations further down. */
uint64_t select_pivot_rank(uint64_t n, uint64_t k)
{
	uint64_t rank = (uint64_t)((double)k / (double)n * SAMPLES), spare = 4;

	while (spare * spare < 16 * rank)
		spare++;
	return rank + spare + 4;
}

uint64_t select_pivot_room(uint64_t n, uint64_t rank)
{
	return rank >= SAMPLES ? n : n / SAMPLES * (2 * rank + 64);
}

static choir_status pivot_of(const struct select_input *in, uint64_t rank, uint64_t *out)
{
	struct pool_block block;
	struct select_input sample = { .elem_bytes = in->elem_bytes, .n = SAMPLES };

	*out = 0;
	if (rank >= SAMPLES)
		return CHOIR_SUCCESS;
	TRY(pool_take(&block, (uint64_t)SAMPLES * in->elem_bytes, "a sample"));
	sample.val = block.ptr;
	if (in->elem_bytes == 2)
		sample_2(in, SAMPLES, block.ptr);
	else if (in->elem_bytes == 4)
		sample_4(in, SAMPLES, block.ptr);
	else
		sample_8(in, SAMPLES, block.ptr);
	*out = select_radix(&sample, rank).key;
	pool_give(&block);
	return CHOIR_SUCCESS;
}

/* The elements at or above a pivot that at least k elements reach.  n = UINT64_MAX: more than there is room for. */
struct candidates {
	struct pool_block block;
	struct select_output out;
	uint64_t n;
};

static choir_status collect(const struct select_input *in, uint64_t k, struct candidates *out)
{
	uint64_t rank = select_pivot_rank(in->n, k), most;

	*out = (struct candidates){ .out.form = { .bytes = in->n <= INT32_MAX ? 4 : 8 } };
	for (bool enough = false; !enough; rank *= 4) {
		struct select_limit pivot = { .ties = UINT64_MAX };

		pool_give(&out->block);
		TRY(pivot_of(in, rank, &pivot.key));
		most = select_pivot_room(in->n, rank);
		TRY(pool_take(&out->block, most * (8 + 8), "the candidates of a selection"));
		out->out.capacity = most;
		out->out.ind = out->block.ptr;
		out->out.val = (unsigned char *)out->block.ptr + most * 8;
		out->n = select_host(in, pivot, &out->out);
		enough = out->n >= k;
	}
	if (out->n > most)
		out->n = UINT64_MAX;
	return CHOIR_SUCCESS;
}

/* Of 4 + 4 bytes by vectors; where ties end, and at the end of the room, one by one. */
static uint64_t pairs_4(const struct select_output *from, uint64_t n, struct select_limit limit,
                        const struct select_output *out, uint64_t room)
{
	uint64_t i = 0, taken = 0;

#ifdef __x86_64__
	const bool packs =
	    from->form.bytes == 4 && out->form.bytes == 4 && from->form.base == 0 && limit.key <= INT32_MAX && HAS_PACK;
	struct select_pack at = { .ind = from->ind, .val = from->val, .n = n, .room = room };

	at.to_ind = out->ind;
	at.to_val = out->val;
	while (packs && i + SELECT_PACK_LANES <= n && taken < room) {
		uint64_t end;

		select_pack_4(&at, (uint32_t)limit.key, &limit.ties);
		end = at.i + SELECT_PACK_LANES < n ? at.i + SELECT_PACK_LANES : n;
		taken = at.taken = filter_4(from, at.i, end, &limit, out, at.taken, room);
		i = at.i = end;
	}
#endif
	return filter_4(from, i, n, &limit, out, taken, room);
}

uint64_t select_pairs(const struct select_output *from, uint64_t n, uint32_t elem_bytes, struct select_limit limit,
                      const struct select_output *out, uint64_t room)
{
	if (elem_bytes == 2)
		return filter_2(from, 0, n, &limit, out, 0, room);
	return elem_bytes == 4 ? pairs_4(from, n, limit, out, room) : filter_8(from, 0, n, &limit, out, 0, room);
}

uint64_t select_split(const struct select_output *from, uint64_t n, uint32_t elem_bytes, struct select_limit limit,
                      const struct select_output *out, const struct select_output *rest)
{
	if (elem_bytes == 2)
		return split_2(from, n, limit, out, rest);
	return elem_bytes == 4 ? split_4(from, n, limit, out, rest) : split_8(from, n, limit, out, rest);
}

choir_status select_top(const struct select_input *in, uint64_t k, const struct select_output *out,
                        struct select_limit *limit_p)
{
	struct candidates found = { .n = UINT64_MAX };

	if (in->n > SELECT_FEW && k > 0 && k < in->n)
		TRY(collect(in, k, &found));
	if (found.n != UINT64_MAX) {
		struct select_input candidates = { .val = found.out.val, .elem_bytes = in->elem_bytes, .n = found.n };

		*limit_p = select_radix(&candidates, k);
		(void)select_pairs(&found.out, found.n, in->elem_bytes, *limit_p, out,
		                   k < out->capacity ? k : out->capacity);
	} else {
		*limit_p = select_radix(in, k);
		(void)select_host(in, *limit_p, out);
	}
	pool_give(&found.block);
	return CHOIR_SUCCESS;
}

choir_status select_top_limit(const struct select_input *in, uint64_t k, struct select_limit *out)
{
	struct select_output nowhere = { .form = { .bytes = 8 } };

	return select_top(in, k, &nowhere, out);
}
