/* SPDX-License-Identifier: MIT */
#include "plan/plan_match.h"

#include "base/arithmetic.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

choir_status plan_match_init(struct plan_match *match, int ranks)
{
	uint32_t n = 64;

	while (n < 4 * (uint32_t)ranks)
		n *= 2;
	*match = (struct plan_match){ .unused = NONE, .mask = n - 1, .buckets = malloc(n * sizeof *match->buckets) };
	if (!match->buckets)
		return error_no_memory("the messages of a forecast", n * sizeof *match->buckets);
	memset(match->buckets, 0xff, n * sizeof *match->buckets);
	return CHOIR_SUCCESS;
}

void plan_match_fini(struct plan_match *match)
{
	free(match->entries);
	free(match->buckets);
	memset(match, 0, sizeof *match);
}

static uint32_t *bucket_of(struct plan_match *match, int from, int to, uint32_t tag)
{
	uint64_t h = hash_spread((uint64_t)(uint32_t)from << 32 | (uint32_t)to);

	h = (h ^ (h >> 29) ^ tag) * 0xbf58476d1ce4e5b9u;
	return &match->buckets[(h >> 32) & match->mask];
}

static choir_status keep(struct plan_match *match, uint32_t *bucket, struct plan_match_entry entry)
{
	uint32_t at = match->unused;

	if (at != NONE) {
		match->unused = match->entries[at].next;
	} else {
		if (match->n == match->cap) {
			uint32_t cap = match->cap ? match->cap * 2 : 256;
			void *bigger = realloc(match->entries, cap * sizeof *match->entries);

			if (!bigger)
				return error_no_memory("the messages of a forecast", cap * sizeof *match->entries);
			match->entries = bigger;
			match->cap = cap;
		}
		at = match->n++;
	}
	entry.next = *bucket;
	match->entries[at] = entry;
	*bucket = at;
	return CHOIR_SUCCESS;
}

choir_status plan_match_find(struct plan_match *match, int from, int to, uint32_t tag, uint32_t step, bool *found_p,
                             uint32_t *step_p)
{
	uint32_t *bucket = bucket_of(match, from, to, tag);

	for (uint32_t *link = bucket; *link != NONE; link = &match->entries[*link].next) {
		uint32_t at = *link;
		struct plan_match_entry *entry = &match->entries[at];

		if (entry->from != from || entry->to != to || entry->tag != tag ||
		    (entry->step == PLAN_MATCH_ARRIVED) == (step == PLAN_MATCH_ARRIVED))
			continue;
		*step_p = step == PLAN_MATCH_ARRIVED ? entry->step : step;
		*found_p = true;
		*link = entry->next;
		entry->next = match->unused;
		match->unused = at;
		return CHOIR_SUCCESS;
	}
	*found_p = false;
	return keep(match, bucket, (struct plan_match_entry){ .from = from, .to = to, .tag = tag, .step = step });
}
