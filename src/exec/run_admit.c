/* SPDX-License-Identifier: MIT */
/* How a run enters its lane: it waits until all ranks of the node have left it, and says what it calls. */
#include "exec/run_states.h"

#include "base/wait.h"
#include "exec/device_memory.h"
#include "exec/lane.h"
#include "exec/operand.h"
#include "exec/record.h"
#include "exec/slot_ring.h"

#include <string.h>

enum { FEW_LANES = COMM_LANES / 2 };

static bool left_by(struct choir_comm *comm, int local_rank, int lane, uint64_t seq)
{
	const struct arena_control *control = comm_control(comm, local_rank);
	uint64_t *seen = comm->engine.arena.done_seen[local_rank];

	if (seen[lane] > seq)
		return true;
	for (int i = 0; i < COMM_LANES; i++)
		seen[i] = atomic_load_explicit(&control->done[i], memory_order_acquire);
	return seen[lane] > seq;
}

/* Says what is called and, if peers reach my buffers by the plan, where these are.  Peers may hold the lines: the same
 * again is not written.  A call that is repeated has its hash. */
static void announce(struct run *run, struct arena_lane *lane)
{
	uint64_t send;

	if (run->bound.record_hash == 0)
		run->bound.record_hash = memcmp(lane->record, &run->bound.record, sizeof run->bound.record) == 0
		                             ? lane->record_hash
		                             : record_hash(&run->bound.record);
	if (lane->record_hash != run->bound.record_hash) {
		memcpy(lane->record, &run->bound.record, sizeof run->bound.record);
		lane->record_hash = run->bound.record_hash;
	}
	if (run->plan == NULL || !run->plan->peers)
		return;
	send = run->plan->device && run->bound.send_address != 0 ? device_memory_offer(run) : run->bound.send_address;
	if (lane->send_address != send)
		lane->send_address = send;
	if (lane->recv_address != run->bound.recv_address)
		lane->recv_address = run->bound.recv_address;
}

static bool left_by_all(struct choir_comm *comm, uint64_t seq)
{
	int size = comm->node_size;

	for (int local_rank = 0; local_rank < size; local_rank++)
		if (!left_by(comm, local_rank, (int)(seq % COMM_LANES), seq))
			return false;
	return true;
}

bool run_held_up(const struct run *run, int local_rank)
{
	struct choir_comm *comm = run->comm;
	uint64_t over = comm->engine.arena.calls_over;

	if (over + COMM_LANES <= run->seq && !left_by(comm, local_rank, (int)(over % COMM_LANES), over))
		return true;
	for (uint32_t lanes = run->slot.after_lanes; lanes != 0; lanes &= lanes - 1) {
		int lane = __builtin_ctz(lanes);

		if (!left_by(comm, local_rank, lane, run->seq - (uint64_t)(run->lane - lane + COMM_LANES) % COMM_LANES))
			return true;
	}
	return false;
}

/* Note [lane gap].  A rank that only gives, the root of a broadcast say, is soon so far ahead that one lane at a time
 * comes free, and each look for it takes the line away on which a peer notes the ends of its calls.  So after a look
 * that found few free lanes it spins as long as two or three short calls take: the peers, which have some calls to go
 * on with, end several meanwhile.  Only the thread of a blocking call does: a driver has other runs to look at. */
static void let_peers_catch_up(const struct choir_comm *comm)
{
	int rounds = wait_inline_rounds(WAIT_GAP, comm->crowded);

	for (int i = 0; wait_inline_goes_on(i, rounds); i++)
		wait_spin();
}

/* Advances `calls_over`, below which all calls are done on all ranks of the node, as far as it goes. */
static bool is_lane_free(const struct run *run)
{
	struct choir_comm *comm = run->comm;
	struct arena_use *use = &comm->engine.arena;
	uint64_t seq = run->seq;

	if (use->calls_over + COMM_LANES > seq)
		return true;
	while (use->calls_over < seq && left_by_all(comm, use->calls_over))
		use->calls_over++;
	if (use->calls_over + FEW_LANES <= seq && run->is_inline)
		let_peers_catch_up(comm);
	return use->calls_over + COMM_LANES > seq;
}

/* Note [lane entry].  Calls enter their lanes when their deps are complete, in any order, but no call enters COMM_LANES
 * or more before an older one is over.  So its lane is free, and of the calls that had a part of its place in the slots
 * only the latest may still be under way. */
static bool may_enter(struct run *run)
{
	int size = run->comm->node_size;

	if (!is_lane_free(run))
		return false;
	for (int local_rank = 0; local_rank < size && run->slot.after_lanes != 0; local_rank++)
		if (run_held_up(run, local_rank))
			return false;
	return true;
}

/* Note [receivers raise no flag].  Raising a flag moves its cache line between cores.  A rank that only receives, in a
 * broadcast say, first looks whether the data is there.  If it is, from ranks that call the same, the rank need not
 * raise its flag: the senders raise theirs, and a rank that calls something else finds those.  If not, it has to wait
 * anyway, and raises it. */
static bool may_leave_flag_down(const struct run *run)
{
	return run->is_inline && run->plan->awaits;
}

void run_raise_flag(struct run *run)
{
	lane_publish(run, 0);
	run->owes_flag = false;
}

/* Note [one store].  A peer that waits looks at the flag's line all the time: it takes the line away as soon as the
 * bytes beside the flag change, and the flag has to fetch it back.  A rank that only gives, whose peers may well be
 * waiting, so writes both at once.  Where ranks wait for each other they come at about the same time, and it is better
 * to fetch the line early. */
static bool only_gives(const struct plan *plan)
{
	return plan->slot_used > 0 && !plan->awaits;
}

/* Is the slot of each rank the rest of its flag's line, which only that rank writes? */
static bool fits_lane(const struct plan *plan)
{
	return plan->slot_used > 0 && plan->slot_used <= ARENA_LANE_BYTES && !plan->shares_slots;
}

choir_status run_admit(struct run *run, bool *moved)
{
	struct choir_comm *comm = run->comm;
	struct arena_lane *lane = comm_lane(comm, comm->local_rank, run->lane);

	if (!may_enter(run))
		return CHOIR_SUCCESS;
	run->slot.in_lane = run->plan != NULL && fits_lane(run->plan);
	run->publish_carries_bytes = run->slot.in_lane && only_gives(run->plan);
	if (run->plan != NULL && (!run->slot.in_lane || run->bound.lists))
		TRY(slot_ring_allocate(run));
	operand_say_segments(run);
	announce(run, lane);
	if (run->plan != NULL && run->plan->peers) {
		lane_publish(run, 0);
		comm_wake_step(comm);
		run->state = RUN_PEER_BUFFERS;
		*moved = true;
		return CHOIR_SUCCESS;
	}
	/* no phase of the plan will say that I am here */
	run->owes_flag = run->plan == NULL || run->plan->last_phase == 0;
	if (run->owes_flag && !(run->plan != NULL && may_leave_flag_down(run)))
		run_raise_flag(run);
	run->state = run_is_script(run) ? RUN_ASK : RUN_MAP;
	*moved = true;
	return CHOIR_SUCCESS;
}
