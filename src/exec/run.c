/* SPDX-License-Identifier: MIT */
/* Design notes.  A run is a small state machine, a function a state; each returns whether it moved on, so the engine
 * calls it again until nothing moves.  Only the thread that holds the engine's right to drive is in here.  Deps of a
 * run that has not started cost a look each drive; nothing else of it is touched. */
#include "exec/run.h"

#include "exec/lane.h"
#include "exec/operand.h"
#include "exec/run_admit.h"
#include "exec/steps.h"

#include <stdlib.h>
#include <string.h>

static choir_status state_deps(struct run *run, bool *moved)
{
	for (; run->deps.next_cl < run->deps.n_cl; run->deps.next_cl++) {
		bool done = false;
		choir_status st = dev_poll(run->deps.cl[run->deps.next_cl], &done);

		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "a cl_event it depends on failed");
		if (!done)
			return CHOIR_SUCCESS;
		*moved = true;
	}
	for (; run->deps.next_event < run->deps.n_events; run->deps.next_event++) {
		choir_event *dep = run->deps.events[run->deps.next_event];

		if (!event_is_complete(dep))
			return CHOIR_SUCCESS;
		if (dep->status != CHOIR_SUCCESS)
			return error_set(dep->status, "an event it depends on failed: %s", choir_event_error(dep));
		*moved = true;
	}
	run->state = run->bound.pair ? RUN_MAP : RUN_ADMIT;
	*moved = true;
	return CHOIR_SUCCESS;
}

/* A buffer of some rank is out of its peers' reach, or only some are in place where that matters: all ranks have seen
 * that, and take the plan that goes through slots. */
static choir_status take_other_plan(struct run *run)
{
	struct algo_in in = run->bound.in;
	const struct algorithm *algorithm;
	struct cached_plan *other;

	in.shared = false;
	in.slot_bytes = run->comm->part_bytes;
	algorithm = rules_choose(&run->comm->rules, &in);
	if (algorithm == NULL)
		return error_set(CHOIR_UNSUPPORTED, "no algorithm fits buffers that the ranks do not share");
	TRY(plan_cache_get(&run->comm->plans, algorithm, &in, &other));
	run->other = other;
	run->plan = &other->plan;
	run->event->algorithm = algorithm->name;
	return CHOIR_SUCCESS;
}

/* A rank's counts changed since this plan was made.  All ranks see that in the same phase, before any data is read, and
 * restart as a script. */
static choir_status restart_as_script(struct run *run, bool *moved)
{
	*moved = true;
	run->slot.in_lane = run->publish_carries_bytes = false;
	run->slot.at = run->slot.part;
	run->state = RUN_ASK;
	return run->bound.become_script(run);
}

/* Nobody touches a peer's buffer before that peer's deps are done; the same look finds calls that differ. */
choir_status run_find_peer_buffers(struct run *run, bool *moved)
{
	struct choir_comm *comm = run->comm;
	size_t size = (size_t)comm->node_size;
	bool reached = true;

	for (size_t place = 0; place < size && reached; place++)
		TRY(steps_reached(run, (int)place, 0, &reached));
	if (run->counts_differ)
		return restart_as_script(run, moved);
	if (!reached)
		return CHOIR_SUCCESS;
	if (run->peers == NULL && (run->peers = calloc(size, sizeof *run->peers)) == NULL)
		return error_no_memory("the places of buffers", size * sizeof *run->peers);
	for (size_t place = 0; place < size; place++) {
		const struct arena_lane *lane = comm_lane(comm, (int)place, run->lane);

		reached &= lane->send_address != 0 && lane->recv_address != 0;
		reached &= !run->plan->alike || (lane->send_address == lane->recv_address) ==
		                                    (run->bound.send_address == run->bound.recv_address);
		operand_find_peer(run, (int)place);
	}
	if (!reached)
		TRY(take_other_plan(run));
	run->records_compared = true;
	run->state = RUN_MAP;
	*moved = true;
	return CHOIR_SUCCESS;
}

/* The tags of a script's messages have 8 bits for the plan (tag_of in steps.c). */
#define LAST_PLAN 255u

static choir_status state_ask(struct run *run, bool *moved)
{
	struct script_turn turn = { .what = SCRIPT_DONE };
	choir_status st;

	dev_build_deadline(run_deadline_ns(run));
	st = run->script.ops->next(run->script.state, &turn);
	dev_build_deadline(0);
	if (st != CHOIR_SUCCESS) {
		run->failure_is_local = turn.failure_is_local;
		return st;
	}
	if (turn.what == SCRIPT_AGAIN)
		return CHOIR_SUCCESS;
	*moved = true;
	switch (turn.what) {
	case SCRIPT_PLAN:
		run->plan = turn.plan;
		if (++run->plan_index > LAST_PLAN)
			return error_set(CHOIR_UNSUPPORTED, "its script has more than %u plans", LAST_PLAN);
		run->bound.send = turn.send;
		run->bound.recv = turn.recv;
		/* Phase 0 of this plan says that I have read all I need of the one before. */
		arena_publish(comm_lane(run->comm, run->comm->local_rank, run->lane),
		              ARENA_FLAG(run->seq + 1, arena_step(run->plan_index, 0)));
		comm_ring_node(run->comm);
		run->state = RUN_PREVIOUS_PLAN;
		return CHOIR_SUCCESS;
	case SCRIPT_CALL:
	case SCRIPT_WORK:
		run->script.call = turn.call;
		run->script.calls_back = turn.what == SCRIPT_CALL;
		atomic_store(&run->script.called, false);
		run->state = RUN_CALLING;
		return CHOIR_SUCCESS;
	default:
		run->state = RUN_ENDED;
		return CHOIR_SUCCESS;
	}
}

/* The plans of a script share a lane: none may write into its slot while a peer still reads there what the plan before
 * had published. */
static choir_status state_previous_plan(struct run *run, bool *moved)
{
	struct choir_comm *comm = run->comm;
	int size = comm->node_size;

	for (int place = 0; place < size && run->plan_index > 1; place++)
		if (!lane_look(run, place, 0).reached)
			return CHOIR_SUCCESS;
	*moved = true;
	run->state = RUN_STEPS;
	return steps_begin(run);
}

/* The driver makes the call after it has left (engine_make_call); here it is only noticed. */
static choir_status state_calling(struct run *run, bool *moved)
{
	if (atomic_load_explicit(&run->script.called, memory_order_acquire)) {
		*moved = true;
		run->state = RUN_ASK;
	}
	return CHOIR_SUCCESS;
}

static choir_status poll_maps(struct run *run, bool *done)
{
	*done = true;
	for (int i = 0; i < 2; i++) {
		bool one = true;

		if (run->map_events[i] == NULL)
			continue;
		TRY(dev_poll(run->map_events[i], &one));
		if (one) {
			clReleaseEvent(run->map_events[i]);
			run->map_events[i] = NULL;
		}
		*done &= one;
	}
	return CHOIR_SUCCESS;
}

static choir_status start_maps(struct run *run)
{
	if (!run->bound.send_in_recv && !run->send_mapped && dev_needs_map(&run->bound.send)) {
		TRY(dev_map(run->comm->device, &run->bound.send, &run->map_events[0]));
		run->send_mapped = true;
	}
	if (!run->bound.recv_in_send && !run->recv_mapped && dev_needs_map(&run->bound.recv)) {
		TRY(dev_map(run->comm->device, &run->bound.recv, &run->map_events[1]));
		run->recv_mapped = true;
	}
	if (run->bound.send_in_recv && run->recv_mapped)
		run->bound.send.ptr = run->bound.recv.ptr + run->bound.inner_off;
	if (run->bound.recv_in_send && run->send_mapped)
		run->bound.recv.ptr = run->bound.send.ptr + run->bound.inner_off;
	return CHOIR_SUCCESS;
}

static choir_status start_unmaps(struct run *run)
{
	if (run->send_mapped)
		TRY(dev_unmap(run->comm->device, &run->bound.send, &run->map_events[0]));
	if (run->recv_mapped)
		TRY(dev_unmap(run->comm->device, &run->bound.recv, &run->map_events[1]));
	run->send_mapped = run->recv_mapped = false;
	return CHOIR_SUCCESS;
}

static choir_status state_map(struct run *run, bool *moved)
{
	bool done;

	TRY(start_maps(run));
	TRY(poll_maps(run, &done));
	if (!done)
		return CHOIR_SUCCESS;
	*moved = true;
	run->state = RUN_STEPS;
	return steps_begin(run);
}

static choir_status state_steps(struct run *run, bool *moved)
{
	bool done = false;

	TRY(steps_advance(run, moved, &done));
	if (run->counts_differ && run->script.ops == NULL)
		return restart_as_script(run, moved);
	if (!done && run->flag_not_raised)
		run_raise_flag(run);
	if (!done)
		return CHOIR_SUCCESS;
	*moved = true;
	nt_plan_end(run);
	if (run->script.ops != NULL) {
		run->state = RUN_ASK;
		return CHOIR_SUCCESS;
	}
	run->state = RUN_UNMAP;
	return start_unmaps(run);
}

static choir_status state_unmap(struct run *run, bool *moved)
{
	bool done;

	TRY(poll_maps(run, &done));
	if (done) {
		*moved = true;
		run->state = RUN_ENDED;
	}
	return CHOIR_SUCCESS;
}

static choir_status (*const states[])(struct run *, bool *) = {
	[RUN_DEPS] = state_deps,
	[RUN_ADMIT] = run_admit,
	[RUN_ASK] = state_ask,
	[RUN_CALLING] = state_calling,
	[RUN_PREVIOUS_PLAN] = state_previous_plan,
	[RUN_PEER_BUFFERS] = run_find_peer_buffers,
	[RUN_MAP] = state_map,
	[RUN_STEPS] = state_steps,
	[RUN_UNMAP] = state_unmap,
};

/* The lane goes back as soon as the plans are over, well or not for this rank alone. */
void run_leave(struct run *run)
{
	struct choir_comm *comm = run->comm;

	if (run->bound.pair)
		return;
	if (run->status != CHOIR_SUCCESS) /* phases that this rank will not come to */
		arena_publish(comm_lane(comm, comm->local_rank, run->lane), ARENA_FLAG(run->seq + 1, ARENA_DONE));
	atomic_store_explicit(&comm_control(comm, comm->local_rank)->done[run->lane], run->seq + 1,
	                      memory_order_release);
	comm_ring_node(comm);
}

bool run_advance(struct run *run)
{
	bool ever = false, moved = true;

	while (moved && run->state != RUN_ENDED) {
		choir_status st;

		moved = false;
		st = states[run->state](run, &moved);
		if (st == CHOIR_SUCCESS && run->state == RUN_ENDED)
			st = run_check_ended(run);
		ever |= moved;
		if (st != CHOIR_SUCCESS) {
			char text[ERROR_TEXT_BYTES], called[RUN_TEXT_BYTES];

			run_call_text(run, called, sizeof called);
			error_prefix(st, "rank %d: %s", run->comm->rank, called);
			memcpy(text, error_text(), sizeof text);
			run_fail(run, st, text);
			if (run->failure_is_local)
				run_leave(run);
			return true;
		}
	}
	if (run->state == RUN_ENDED && run->status == CHOIR_SUCCESS)
		run_leave(run);
	return ever;
}

/* What the device still does for the run is waited for, and what was mapped is unmapped: the caller gets the buffers
 * back. */
static void let_go(struct run *run)
{
	steps_abandon(run);
	dev_wait(&run->map_events[0]);
	dev_wait(&run->map_events[1]);
	start_unmaps(run);
	dev_wait(&run->map_events[0]);
	dev_wait(&run->map_events[1]);
}

/* It has raised its flag for a plan that goes there. */
static bool peers_may_touch(const struct run *run)
{
	return run->plan != NULL && run->plan->peers && run->state >= RUN_PEER_BUFFERS && !run->failure_is_local;
}

void run_fail(struct run *run, choir_status status, const char *text)
{
	let_go(run);
	run->status = status;
	free(run->text);
	run->text = strdup(text);
	run->state = peers_may_touch(run) ? RUN_FAILED : RUN_ENDED;
}
