/* SPDX-License-Identifier: MIT */
/* The headers that ranks gather before the exchange, and the errors that these show on all ranks alike. */
#include "topk/algorithm.h"

#include "base/plural.h"

#include <inttypes.h>
#include <xxhash.h>

static uint64_t hash_of_learnt(const struct topk_run *run)
{
	const struct topk_tracking *tracking = &run->tracking;
	uint64_t hash = XXH64(&tracking->global, sizeof tracking->global, tracking->cut);

	return XXH64(run->bounds, ((size_t)run->env.layout->n + 1) * sizeof *run->bounds, hash);
}

void topk_header_make(struct topk_run *run)
{
	const struct topk_request *request = &run->request;

	run->header =
	    (struct topk_header){ .selected = run->algorithm->select != NULL ? run->selected.count : run->types.n,
		                  .calls = run->tracking.calls,
		                  .room = request->pairs_p != NULL ? request->pairs_room : UINT64_MAX,
		                  .nan_at = run->nan_at,
		                  .unreduced = request->rank_pairs_p != NULL,
		                  .learnt = hash_of_learnt(run),
		                  .bad_at = run->bad_at };
	run->header.involved_short = request->involved_p != NULL && request->involved_room < run->header.selected;
}

/* Every rank sees the same headers, so all fail alike, no rank waits for another one, and the comm goes on. */
choir_status topk_headers_check(const struct topk_run *run)
{
	const struct topk_header *all = run->headers;

	for (int r = 0; r < run->env.layout->n; r++) {
		if (all[r].calls != all[0].calls)
			return error_set(CHOIR_ARGUMENT,
			                 "rank %d is at call %" PRIu64 " of its state, rank 0 at call %" PRIu64, r,
			                 all[r].calls, all[0].calls);
		if (all[r].learnt != all[0].learnt)
			return error_set(CHOIR_ARGUMENT,
			                 "the regions or the global threshold of rank %d's state are not rank 0's: "
			                 "were states of two tensors imported?",
			                 r);
		if (all[r].nan_at != UINT64_MAX)
			return error_set(CHOIR_ARGUMENT, "rank %d has a NaN at %" PRIu64, r, all[r].nan_at);
		if (all[r].bad_at != UINT64_MAX)
			return error_set(CHOIR_ARGUMENT,
			                 "the index at position %" PRIu64 " of rank %d is not one of %" PRIu64
			                 " element%s",
			                 all[r].bad_at, r, run->types.n, plural(run->types.n));
		if (run->request.at && run->algorithm->fixed && all[r].selected > run->k)
			return error_set(CHOIR_ARGUMENT,
			                 "rank %d gave %" PRIu64
			                 " different indices, and %s sends at most k = %" PRIu64,
			                 r, all[r].selected, run->algorithm->name, run->k);
		if (all[r].involved_short)
			return error_set(CHOIR_CAPACITY,
			                 "rank %d selected %" PRIu64
			                 " entries, more than its list of them has room for",
			                 r, all[r].selected);
	}
	return CHOIR_SUCCESS;
}
