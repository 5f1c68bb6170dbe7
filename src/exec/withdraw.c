/* SPDX-License-Identifier: MIT */
/* Note [withdrawal].  Direct algorithms read and write the buffers of peers, from the moment when all ranks of the node
 * have raised their flags for the call to the moment when each says that it is done.  A rank that fails in between
 * raises its flags to ARENA_WITHDRAWN: it is at no step, its device's commands in peers' buffers have ended, and no
 * peer finds it in the call any more.  A peer whose flag was not up before cannot begin: it raises its flag, rings,
 * and then reads mine, and I pass a full fence on the bell that it rings (bell_fence).  A peer whose flag was up may
 * be at work: it is waited for until it has withdrawn too, is done with the call, or is dead. */
#include "exec/withdraw.h"

#include "exec/lane.h"

void withdraw(struct choir_comm *comm, int64_t now_ns)
{
	if (comm->engine.withdrawn_ns != 0)
		return;
	comm->engine.withdrawn_ns = now_ns;
	for (int lane = 0; lane < COMM_LANES; lane++)
		arena_publish(comm_lane(comm, comm->local_rank, lane), ARENA_WITHDRAWN);
	bell_fence(bell_mine());
	comm_wake_node(comm);
}

/* Of another process that is dead, or not to be waited for any longer.  One look is enough, unlike in Note [dead peers]
 * in check.c: nothing that it has said before matters to a failed comm. */
static bool is_given_up(const struct choir_comm *comm, int local_rank, bool late)
{
	for (int p = 0; p < comm->n_near; p++) {
		const struct comm_process *peer = &comm->processes[p];

		for (int i = 0; i < peer->n_ranks; i++)
			if (comm->layout.local_rank_of[peer->ranks[i]] == local_rank)
				return late || peer->dead_looks > 0;
	}
	return false;
}

bool withdraw_left_alone(const struct run *run, int64_t now_ns)
{
	const struct choir_comm *comm = run->comm;
	bool late = now_ns - comm->engine.withdrawn_ns >= WITHDRAW_MS * INT64_C(1000000);

	for (int local_rank = 0; local_rank < comm->node_size; local_rank++)
		if (!lane_is_left(run, local_rank) && !is_given_up(comm, local_rank, late))
			return false;
	return true;
}
