/* SPDX-License-Identifier: MIT */
/* The plan checker: proves the plans of all ranks in one process, without the caller's memory, network or clock.
 *
 * plan_check looks at what any run could do: references in bounds, slots written by their owners only, phases rising,
 * every send with its receive, no cycle, any two overlapping accesses of which one writes ordered by deps, flags and
 * messages, and no peer's buffer touched when that peer could be done already.
 * plan_prove then does the steps on symbolic elements, in an order of its own, and compares with the result that is
 * wanted. */
#ifndef PLAN_PLAN_CHECK_H
#define PLAN_PLAN_CHECK_H

#include "plan/plan_team.h"

/* plan_check: MISMATCH with a sentence naming rank and step if the plans are wrong; UNSUPPORTED beyond
 * PLAN_CHECK_MOST_STEPS steps of all ranks together (its memory grows with their square: 1 GB there); NO_MEMORY. */
#define PLAN_CHECK_MOST_STEPS (1u << 17)
#define PLAN_CHECK_MOST_REFS                                                                                           \
	(1u << 23) /* of all ranks: references and deps of steps; for the caller, who has the plans */
#define PLAN_CHECK_MOST_EDGES (1u << 25) /* dependencies between steps, those by flags and messages too: UNSUPPORTED */
choir_status plan_check(const struct plan_team *team);

/* What an element of RECV must be in the end. */
enum plan_want_kind {
	PLAN_WANT_NOTHING, /* not written */
	PLAN_WANT_COPY,    /* rank's element `element` of SEND, unchanged */
	PLAN_WANT_SUM,     /* the final reduction of all ranks' elements `element` of SEND */
};

struct plan_want {
	enum plan_want_kind kind;
	int rank;
	uint64_t element;
};

struct plan_wants {
	struct plan_want (*at)(const void *ctx, int rank, uint64_t element); /* element of rank's RECV */
	const void *ctx;
	bool alike; /* all ranks must have folded in the same order, so that their bits agree */
};

/* plan_prove_fits: may plans be proved whose buffers, slots and messages have so many bytes in all?  The proof's memory
 * is limited to 1 GB: UNSUPPORTED with a sentence beyond. */
choir_status plan_prove_fits(uint64_t bytes, uint64_t elem_bytes);

/* plan_prove: for plans that plan_check has passed.  seed 0: steps in topological order; else at random.  MISMATCH,
 * NO_MEMORY; UNSUPPORTED, see plan_prove_fits. */
choir_status plan_prove(const struct plan_team *team, const struct plan_wants *wants, unsigned seed);

#endif
