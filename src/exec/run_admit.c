/* SPDX-License-Identifier: MIT */
/* How a run enters its lane: it waits until all ranks of the node have left it, and says what it calls. */
#include "exec/run_admit.h"

#include "exec/operand.h"
#include "exec/slot_ring.h"

#include <string.h>

static bool left_by(struct choir_comm *comm, int place, int lane, uint64_t seq)
{
	const struct arena_control *control = comm_control(comm, place);

	if (comm->done_seen[place][lane] > seq)
		return true;
	for (int i = 0; i < COMM_LANES; i++)
		comm->done_seen[place][i] = atomic_load_explicit(&control->done[i], memory_order_acquire);
	return comm->done_seen[place][lane] > seq;
}

/* Says what is called and where my buffers are, for plans that go there.  Peers may hold the lines: the same again is
 * not written.  A call that is repeated has its hash. */
static void announce(struct run *run, struct arena_lane *lane)
{
	if (run->bound.record_hash == 0)
		run->bound.record_hash = memcmp(lane->record, &run->bound.record, sizeof run->bound.record) == 0
		                             ? lane->call
		                             : record_hash(&run->bound.record);
	if (lane->call != run->bound.record_hash) {
		memcpy(lane->record, &run->bound.record, sizeof run->bound.record);
		lane->call = run->bound.record_hash;
	}
	if (run->plan == NULL || !run->plan->peers)
		return;
	if (lane->send_place != run->bound.send_place)
		lane->send_place = run->bound.send_place;
	if (lane->recv_place != run->bound.recv_place)
		lane->recv_place = run->bound.recv_place;
}

static bool left_by_all(struct choir_comm *comm, uint64_t seq)
{
	int size = comm->node_size;

	for (int place = 0; place < size; place++)
		if (!left_by(comm, place, (int)(seq % COMM_LANES), seq))
			return false;
	return true;
}

bool run_held_up(const struct run *run, int place)
{
	struct choir_comm *comm = run->comm;

	if (comm->over + COMM_LANES <= run->seq && !left_by(comm, place, (int)(comm->over % COMM_LANES), comm->over))
		return true;
	for (uint32_t behind = run->slot_behind; behind != 0; behind &= behind - 1) {
		int lane = __builtin_ctz(behind);

		if (!left_by(comm, place, lane, run->seq - (uint64_t)(run->lane - lane + COMM_LANES) % COMM_LANES))
			return true;
	}
	return false;
}

/* As far as all have come, which is then not looked at again for some calls. */
static bool is_lane_free(struct choir_comm *comm, uint64_t seq)
{
	if (comm->over + COMM_LANES > seq)
		return true;
	while (comm->over < seq && left_by_all(comm, comm->over))
		comm->over++;
	return comm->over + COMM_LANES > seq;
}

/* Calls are let in as their deps are done, in any order, but none COMM_LANES or more before an older one is over: so
 * its lane is free, and of those that had some of its place in the slots only the latest may still be under way. */
static bool may_enter(struct run *run)
{
	int size = run->comm->node_size;

	if (!is_lane_free(run->comm, run->seq))
		return false;
	for (int place = 0; place < size && run->slot_behind != 0; place++)
		if (run_held_up(run, place))
			return false;
	return true;
}

/* Note [unsaid calls].  A rank that only takes what others give, in a broadcast say, raises its flag for nobody but
 * those who compare calls, and a flag costs: its line comes from the peer that looked at it last, and goes back.  So
 * such a rank first looks whether what it wants is there.  If it is, from ranks that call the same, it need not say
 * anything: who gives does say so, and whoever calls something else finds that.  If not it has to wait anyway. */
static bool may_stay_unsaid(const struct run *run)
{
	return run->on_the_spot && run->plan->n_steps > 0 && run->plan->steps[0].kind == PLAN_AWAIT;
}

void run_say(struct run *run)
{
	arena_publish(comm_lane(run->comm, run->comm->place, run->lane), ARENA_FLAG(run->seq + 1, 0));
	run->unsaid = false;
}

/* Note [one store].  A peer that waits looks at the flag's line all the time: it takes the line away as soon as the
 * bytes beside the flag change, and the flag has to fetch it back.  A rank that only gives, whose peers may well be
 * waiting, so writes both at once.  Where ranks wait for each other they come at about the same time, and it is better
 * to fetch the line early. */
static bool only_gives(const struct plan *plan)
{
	return plan->slot_used > 0 && !plan->awaits;
}

choir_status run_admit(struct run *run, bool *moved)
{
	struct choir_comm *comm = run->comm;
	struct arena_lane *lane = comm_lane(comm, comm->place, run->lane);

	if (!may_enter(run))
		return CHOIR_SUCCESS;
	run->in_line = run->plan != NULL && run->plan->slot_used <= ARENA_LINE_BYTES;
	run->held_back = run->in_line && only_gives(run->plan);
	if (run->plan != NULL && (!run->in_line || run->bound.lists))
		TRY(slot_ring_allocate(run));
	operand_say_segments(run);
	announce(run, lane);
	if (run->plan != NULL && run->plan->peers) {
		arena_publish(lane, ARENA_FLAG(run->seq + 1, 0));
		comm_ring_node(comm);
		run->state = RUN_MEET;
		*moved = true;
		return CHOIR_SUCCESS;
	}
	/* no phase of the plan will say that I am here */
	run->unsaid = run->plan == NULL || run->plan->last_phase == 0;
	if (run->unsaid && !(run->plan != NULL && may_stay_unsaid(run)))
		run_say(run);
	run->state = run->script != NULL ? RUN_ASK : RUN_MAP;
	*moved = true;
	return CHOIR_SUCCESS;
}
