/* SPDX-License-Identifier: MIT */
/* Matches the messages and receives of a simulation: whichever is first is kept until the other one comes. */
#ifndef PLAN_PLAN_MATCH_H
#define PLAN_PLAN_MATCH_H

#include <choir/types.h>
#include <stdbool.h>

struct plan_match_entry {
	int32_t from, to;
	uint32_t tag;
	uint32_t step; /* the step of a waiting receive; PLAN_MATCH_ARRIVED: an arrived message */
	uint32_t next;
};
#define PLAN_MATCH_ARRIVED UINT32_MAX

struct plan_match {
	struct plan_match_entry *entries;
	uint32_t n, cap, unused; /* unused: list of free entries, linked by next */
	uint32_t *buckets;
	uint32_t mask;
};

choir_status plan_match_init(struct plan_match *match, int ranks); /* NO_MEMORY */
void plan_match_fini(struct plan_match *match);

/* plan_match_find: a receive begins (its step), or a message has arrived (PLAN_MATCH_ARRIVED).  If the other one is
 * kept: *found_p = true, *step_p = the receive's step.  Else this one is kept: *found_p = false.  NO_MEMORY. */
choir_status plan_match_find(struct plan_match *match, int from, int to, uint32_t tag, uint32_t step, bool *found_p,
                             uint32_t *step_p);

#endif
