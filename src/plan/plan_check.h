/* SPDX-License-Identifier: MIT */
/* The plan checker: proves the plans of all ranks in one process, without the caller's memory, a network or a clock.
 *
 * plan_check proves for every order of execution: references are in bounds, only its owner writes a slot, phases rise,
 * each send has its receive, no steps wait in a cycle, two accesses to the same bytes of which one writes are ordered
 * by deps, flags or messages, and no rank accesses a peer's buffer when that peer could be done. plan_prove then
 * executes the steps on symbolic elements in one order and compares with the result of the call. */
#ifndef PLAN_PLAN_CHECK_H
#define PLAN_PLAN_CHECK_H

#include "plan/plan_team.h"

/* plan_check: MISMATCH, with a sentence that names rank and step, if the plans are wrong; NO_MEMORY.  UNSUPPORTED for
 * more than MOST_STEPS steps of all ranks (memory grows with their square, to 1 GB), or MOST_EDGES dependencies of all
 * kinds.  The caller refuses plans with more than MOST_REFS references and deps. */
#define PLAN_CHECK_MOST_STEPS (1u << 17)
#define PLAN_CHECK_MOST_REFS  (1u << 23)
#define PLAN_CHECK_MOST_EDGES (1u << 25)
choir_status plan_check(const struct plan_team *team);

/* The value that an element of RECV must have at the end. */
enum plan_want_kind {
	PLAN_WANT_NOTHING, /* not written */
	PLAN_WANT_COPY,    /* rank's element `element` of SEND, unchanged */
	PLAN_WANT_PREFIX,  /* the left fold of `element` of SEND of ranks 0 .. rank - 1, without a final expression */
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
	bool alike;            /* all ranks must fold in the same order, so that their bits agree */
	enum plan_order order; /* every sum must be folded so */
};

/* plan_prove_fits: UNSUPPORTED if a proof of plans whose buffers, slots and messages have so many bytes in all needs
 * more than 1 GB of memory. */
choir_status plan_prove_fits(uint64_t bytes, uint64_t elem_bytes);

/* plan_prove: for plans that passed plan_check.  seed 0: steps in topological order; else in a random order.  MISMATCH,
 * NO_MEMORY, UNSUPPORTED (plan_prove_fits). */
choir_status plan_prove(const struct plan_team *team, const struct plan_wants *wants, unsigned seed);

#endif
