/* SPDX-License-Identifier: MIT */
/* A team: the plans of all ranks of one collective, with the parameters of the call that the checker needs. */
#ifndef PLAN_PLAN_TEAM_H
#define PLAN_PLAN_TEAM_H

#include "plan/plan.h"

/* One rank.  send_at and recv_at are offsets in one space, the caller's memory: they overlap in place, else not. */
struct plan_rank {
	const struct plan *plan;
	int node;
	uint64_t send_at, send_bytes;
	uint64_t recv_at, recv_bytes;
	bool send_direct, recv_direct, owns_copied, owns_reduced; /* struct algo_in */
	bool lists;                                               /* SEND and RECV are lists of buffers */
};

struct plan_team {
	int n;
	const struct plan_rank *ranks;
	uint64_t slot_bytes, message_bytes; /* of each slot; of the longest message */
};

/* The memory spaces of a rank. */
enum plan_space { PLAN_SPACE_USER, PLAN_SPACE_SCRATCH, PLAN_SPACE_SLOT, PLAN_SPACES };

struct plan_access {
	uint32_t space; /* owner * PLAN_SPACES + enum plan_space */
	uint32_t id;    /* the caller's: the step in the graph */
	uint64_t off, len;
	bool write;
};

/* plan_team_owner: the rank that owns the memory of a reference in rank's plan. */
int plan_team_owner(int rank, struct plan_ref ref);

/* plan_team_access: the range that a reference of rank's plan means. */
struct plan_access plan_team_access(const struct plan_team *team, int rank, struct plan_ref ref, uint64_t len,
                                    bool write);

/* plan_team_slot_bytes: the bytes of the slot of the rank with that plan. */
static inline uint64_t plan_team_slot_bytes(const struct plan_team *team, const struct plan *plan)
{
	return plan->device ? plan->slot_bytes : team->slot_bytes;
}

/* plan_team_wrong: MISMATCH, with a sentence that names the rank and its step (PLAN_NO_STEP: the rank alone). */
choir_status plan_team_wrong(const struct plan_team *team, int rank, uint32_t step, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* plan_step_targets: the number of references that a step writes.  plan_step_target: the k-th of them. */
static inline uint32_t plan_step_targets(const struct plan_step *step)
{
	bool writes = step->kind == PLAN_COPY || step->kind == PLAN_REDUCE || step->kind == PLAN_RECV_MSG;

	return writes ? 1 + step->n_more : 0;
}

static inline struct plan_ref plan_step_target(const struct plan *plan, const struct plan_step *step, uint32_t k)
{
	return k == 0 ? step->dst : plan->refs[step->more_first + k - 1];
}

#endif
