/* SPDX-License-Identifier: MIT */
/* Whom a run is waiting for. */
#include "exec/lane.h"
#include "exec/run_states.h"

static bool lane_behind(const struct run *run, int rank, uint32_t phase)
{
	return !lane_look(run, run->comm->layout.local_rank_of[rank], phase).reached;
}

static bool step_waits_for(struct run *run, const struct plan_step *step, int rank)
{
	switch (step->kind) {
	case PLAN_AWAIT:
		return (step->peer == rank || step->peer == PLAN_ALL) && rank != run->comm->rank &&
		       comm_is_near(run->comm, rank) && lane_behind(run, rank, step->phase);
	case PLAN_RECV_MSG:
	case PLAN_SEND_MSG: /* there is no room: Note [room] in net/sends.h */
		return step->peer == rank;
	default:
		return false;
	}
}

bool run_waits_for(struct run *run, int rank)
{
	if (run->state == RUN_ADMIT) /* where a call of this rank is in the way, the others may wait for that */
		return comm_is_near(run->comm, rank) && !run_held_up(run, run->comm->local_rank) &&
		       run_held_up(run, run->comm->layout.local_rank_of[rank]);
	if (run->state == RUN_PEER_BUFFERS || run->state == RUN_PREVIOUS_PLAN)
		return comm_is_near(run->comm, rank) && lane_behind(run, rank, 0);
	if (run->state != RUN_STEPS)
		return false;
	for (uint32_t i = 0; i < run->board.n_waiting; i++)
		if (step_waits_for(run, &run->plan->steps[run->board.waiting[i]], rank))
			return true;
	return false;
}

bool run_lacks_room(struct run *run, int rank)
{
	for (uint32_t i = 0; run->state == RUN_STEPS && i < run->board.n_waiting; i++) {
		const struct plan_step *step = &run->plan->steps[run->board.waiting[i]];

		if (step->kind == PLAN_SEND_MSG && step->peer == rank)
			return true;
	}
	return false;
}
