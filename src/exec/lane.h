/* SPDX-License-Identifier: MIT */
/* A rank's view of another rank of its node, in the lane of a call.  Has that rank published a phase?
 *   lane_look        one look, and all that is seen: the others are made of it
 *   lane_seen_alike  one look that is enough in nearly all calls: inline execution begins with it
 *   steps_reached    (steps.h) all that can be the case: further on, another call, withdrawn */
#ifndef EXEC_LANE_H
#define EXEC_LANE_H

#include "exec/run.h"

#include <string.h>

static inline uint64_t lane_flag(const struct arena_lane *lane)
{
	return atomic_load_explicit(&lane->flag, memory_order_acquire);
}

struct lane_view {
	bool reached;   /* it has published the phase, in this call or by being further */
	bool is_here;   /* its lane is at this call */
	bool same_call; /* and its call is the same */
};

/* lane_look: at the rank of that number on my node.  The phase is of the run's plan; phase 0: the rank has entered the
 * call (whose own plan has the index 0) or has begun this plan of a script (1, 2, ...). */
static inline struct lane_view lane_look(const struct run *run, int local_rank, uint32_t phase)
{
	const struct arena_lane *lane = comm_lane(run->comm, local_rank, run->lane);
	uint64_t flag = lane_flag(lane);
	bool is_here = arena_is_at(flag, run->seq);

	return (struct lane_view){ .reached = arena_reached(flag, run->seq, arena_point(run->plan_index, phase)),
		                   .is_here = is_here,
		                   .same_call = is_here && lane->record_hash == run->bound.record_hash };
}

/* lane_is_left: has that rank withdrawn from the call, is it done with it, or has it not entered it? */
static inline bool lane_is_left(const struct run *run, int local_rank)
{
	const struct choir_comm *comm = run->comm;
	uint64_t flag = lane_flag(comm_lane(comm, local_rank, run->lane));

	return flag == ARENA_WITHDRAWN || flag < ARENA_FLAG(run->seq, 0) ||
	       atomic_load_explicit(&comm_control(comm, local_rank)->done[run->lane], memory_order_acquire) > run->seq;
}

/* lane_record: what that rank calls in the comm's call seq; false: its lane is not at that call. */
static inline bool lane_record(const struct choir_comm *comm, int local_rank, uint64_t seq, struct call_record *out)
{
	const struct arena_lane *lane = comm_lane(comm, local_rank, (int)(seq % COMM_LANES));

	if (!arena_is_at(lane_flag(lane), seq))
		return false;
	memcpy(out, lane->record, sizeof *out);
	return true;
}

/* lane_publish: this rank has published that point (arena_point) of the call.  The caller then wakes the node, where a
 * peer may wait for that point. */
static inline void lane_publish(const struct run *run, uint32_t point)
{
	arena_publish(comm_lane(run->comm, run->comm->local_rank, run->lane), ARENA_FLAG(run->seq, point));
}

/* lane_seen_alike: the fast path.  True only if that rank (PLAN_ALL: every rank of the node) has published the phase,
 * its lane is at this call, and it calls the same; then the records of the node count as compared.  False may also
 * mean that it is further on: steps_reached finds that out. */
static inline bool lane_seen_alike(struct run *run, int rank, uint32_t phase)
{
	const struct choir_comm *comm = run->comm;
	int first = rank == PLAN_ALL ? 0 : comm->layout.local_rank_of[rank],
	    end = rank == PLAN_ALL ? comm->node_size : first + 1;

	for (int local_rank = first; local_rank < end; local_rank++) {
		struct lane_view view = lane_look(run, local_rank, phase);

		if (!view.reached || !view.same_call)
			return false;
	}
	run->records_compared |= rank == PLAN_ALL || comm->node_size == 2;
	return true;
}

#endif
