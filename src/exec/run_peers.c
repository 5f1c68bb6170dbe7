/* SPDX-License-Identifier: MIT */
/* Where the buffers of the node's other ranks are, and what a run does if they are not where its plan wants them. */
#include "exec/run_states.h"

#include "exec/operand.h"
#include "exec/shadow.h"
#include "exec/steps.h"

#include <stdlib.h>

struct algo_in algo_in_without_peers(const struct choir_comm *comm, const struct algo_in *planned)
{
	struct algo_in in = *planned;

	in.shared = false;
	in.device_bytes = 0;
	in.slot_bytes = comm->fallback_bytes;
	return in;
}

/* All ranks have seen that a buffer is out of its peers' reach, or that only some are in place where that matters: they
 * take the plan through slots, in the fallback range, which the call got with its number (slot_ring.c). */
static choir_status take_other_plan(struct run *run)
{
	struct algo_in in = algo_in_without_peers(run->comm, &run->bound.in);
	const struct algorithm *algorithm = run->bound.instead;
	struct cached_plan *other;

	if (algorithm == NULL)
		algorithm = rules_choose(&run->comm->rules, &in);
	if (algorithm == NULL)
		return error_set(CHOIR_UNSUPPORTED, "no algorithm fits buffers that the ranks do not share");
	TRY(plan_cache_get(&run->comm->plans, algorithm, &in, &other));
	run->other_plan = other;
	run->plan = &other->plan;
	shadow_drop(run); /* its scratch may lie where they were filled */
	run->event->algorithm = algorithm->name;
	return CHOIR_SUCCESS;
}

/* A rank's counts changed since this plan was made.  All ranks see that in the same phase, before any data is read, and
 * restart as a script. */
choir_status run_restart_as_script(struct run *run, bool *moved)
{
	*moved = true;
	run->slot.in_lane = run->publish_carries_bytes = false;
	run->slot.at = run->slot.fallback_at;
	run->state = RUN_ASK;
	return run->bound.become_script(run);
}

/* Waits for the flags of all ranks of the node, since no rank may touch a peer's buffer before that peer's deps are
 * done; the same look finds calls that differ. */
choir_status run_find_peer_buffers(struct run *run, bool *moved)
{
	struct choir_comm *comm = run->comm;
	size_t size = (size_t)comm->node_size;
	bool reached = true, accessible = true;

	for (size_t local_rank = 0; local_rank < size && reached; local_rank++)
		TRY(steps_reached(run, (int)local_rank, 0, &reached));
	if (run->counts_differ)
		return run_restart_as_script(run, moved);
	if (!reached)
		return CHOIR_SUCCESS;
	if (run->peers == NULL && (run->peers = calloc(size, sizeof *run->peers)) == NULL)
		return error_no_memory("the addresses of buffers", size * sizeof *run->peers);
	for (size_t local_rank = 0; local_rank < size; local_rank++) {
		const struct arena_lane *lane = comm_lane(comm, (int)local_rank, run->lane);

		accessible &= lane->send_address != 0 && lane->recv_address != 0;
		accessible &= !run->plan->alike || (lane->send_address == lane->recv_address) ==
		                                       (run->bound.send_address == run->bound.recv_address);
		if (!run->plan->device)
			operand_find_peer(run, (int)local_rank);
	}
	if (!accessible)
		TRY(take_other_plan(run));
	run->records_compared = true;
	run->state = RUN_MAP;
	*moved = true;
	return CHOIR_SUCCESS;
}
