/* SPDX-License-Identifier: MIT */
/* The choice of the method of a call, and of the regions that ranks own. */
#include "base/log.h"
#include "base/plural.h"
#include "sparse/region.h"
#include "sparse/state.h"

#include <inttypes.h>

static void tell_choice(struct sparse *sparse, const struct cost *cost, const struct sparse_choice *choice)
{
	const struct sparse_facts *facts = &sparse->facts;
	choir_sparse_stats *stats = &sparse->stats;

	stats->predicted_us = choice->ns / 1000;
	stats->pairs_merged = facts->pairs;
	stats->link = link_costs_links[cost->link];
	stats->kept = choice->kept;
	stats->predicted_pairs_out = cost->distinct;
	stats->messages = choice->work.messages;
	stats->bytes_received = choice->work.received * cost->sharers;
	stats->bytes_copied = choice->work.copied;
	stats->pairs_placed = choice->work.merged;
	stats->bytes_folded = choice->work.folded;
	log_text(LOG_DEBUG,
	         "sparse_allreduce: %s%s, %.0f us predicted (%s): %d rank%s, %" PRIu64 " pair%s (%" PRIu64
	         " at most, %.0f different%s)"
	         " of width %" PRIu64 ", indices %" PRId64 " to %" PRId64,
	         choice->method->name,
	         facts->algorithm >= 0 ? " (asked for)"
	         : choice->kept        ? " (kept)"
	                               : "",
	         choice->ns / 1000, stats->link, cost->n, plural(cost->n), facts->pairs, plural(facts->pairs),
	         facts->most, cost->distinct, facts->growth > 0 ? " as last time" : "", facts->width, facts->range.lo,
	         facts->range.hi);
}

/* For more ranks the cost model does without the regions' lengths: one region is a few percent of what a link carries,
 * less than sorting all samples is worth. */
#define REGIONS_COUNT 16

choir_status sparse_choose(struct sparse *sparse)
{
	struct cost cost = cost_of(&sparse->facts, sparse->env.layout, sparse->wire_dtype, sparse->call.op);
	bool sorted = !sparse->facts.raw && sparse->call.attr.coalesce_mode != CHOIR_COALESCE_DISABLE;
	bool cut = !sparse->facts.shared && !sparse->facts.on_device && sorted && cost.n <= REGIONS_COUNT;
	struct sparse_choice choice;
	choir_status st;

	if (cut) {
		TRY(region_cut(sparse->headers, cost.n, sparse->facts.range, sparse->bounds));
		cost_cut(&cost, sparse->bounds);
	}
	st = sparse_method_choose(&sparse->facts, &cost, sparse->env.costs, sparse->call.attr.coalesce_mode, &choice);
	sparse->failure_is_local = st != CHOIR_SUCCESS;
	TRY(st);
	sparse->method = choice.method;
	sparse->method_row = (int)(choice.method - sparse_methods);
	tell_choice(sparse, &cost, &choice);
	if (!cut && sparse->method->cuts && (sparse->in_place || !sparse->facts.raw))
		return region_cut(sparse->headers, sparse->env.layout->n, sparse->facts.range, sparse->bounds);
	return CHOIR_SUCCESS;
}
