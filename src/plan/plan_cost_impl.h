/* SPDX-License-Identifier: MIT */
/* The state of the cost model's simulation. */
#ifndef PLAN_PLAN_COST_IMPL_H
#define PLAN_PLAN_COST_IMPL_H

#include "plan/plan_cost.h"
#include "plan/plan_events.h"
#include "plan/plan_match.h"

/* A step of the simulation: only 32 bytes, since a ring of 1000 ranks has millions of steps. */
struct cost_step {
	double cost_s; /* time that it occupies the rank's processor */
	uint64_t len;
	int32_t peer;
	union {
		uint32_t tag, phase; /* of a message; of a flag */
	};
	uint32_t succ_first; /* its successors end where those of the next step begin */
	uint32_t left : 28;  /* deps that are not done; then, of an AWAIT, flags that it waits for */
	uint32_t kind : 4;
};

/* The steps that a rank can execute now: a heap, the lowest number first. */
struct cost_ready {
	uint32_t *list;
	uint32_t n, cap;
};

struct cost_rank {
	struct cost_step *steps; /* [n_steps + 1] */
	uint32_t *succs;
	uint32_t n_steps, n_done;
	struct cost_ready ready;
	bool busy;
	bool meets;       /* its plan begins when a flag of each rank of the node has been seen */
	uint32_t phase;   /* the last phase that the node has seen */
	uint32_t waiters; /* list of ranks that await a phase of this one, in plan_cost.waiters; ends with NO_WAITER */
	double port_free_s;
	double finish_s;
};

struct cost_waiter {
	int rank;
	uint32_t step, phase, next;
};
#define NO_WAITER UINT32_MAX

struct plan_cost {
	int n;
	struct plan_costs costs;
	int *node_of;
	int *node_first, *node_ranks; /* ranks by node, as in the layout of algo */
	struct cost_rank *ranks;
	double *out_free_s, *in_free_s; /* [n nodes] the times when the outgoing and incoming links are free */
	struct cost_waiter *waiters;
	uint32_t n_waiters, cap_waiters, free_waiters;
	struct plan_events events;
	struct plan_match match;
	struct {
		int rank;
		uint32_t step;
	} * todo; /* steps whose last dep is done */
	size_t n_todo, cap_todo;
	uint64_t steps, messages, network_messages, network_bytes;
	double now_s;
};

#endif
