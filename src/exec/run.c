/* SPDX-License-Identifier: MIT */
/* Design notes.  A run is a small state machine, a function a state; each returns whether it moved on, so it is called
 * again until nothing moves, or until its plan pauses, so that others have their turn.  Only the thread that holds the
 * engine's right to drive is in here.  Deps of a run that has not started cost a look each drive; nothing else of it is
 * touched. */
#include "exec/run.h"

#include "exec/board.h"
#include "exec/gathered.h"
#include "exec/gone.h"
#include "exec/lane.h"
#include "exec/record.h"
#include "exec/run_states.h"
#include "exec/shadow.h"
#include "exec/steps.h"

#include <stdlib.h>
#include <string.h>

static choir_status state_deps(struct run *run, bool *moved)
{
	bool done;

	TRY(deps_poll(&run->deps, moved, &done));
	if (!done)
		return CHOIR_SUCCESS;
	if (atomic_load_explicit(&run->comm->gone, memory_order_relaxed) != NULL)
		TRY(gone_refuse(run)); /* it may only send, and would wait for nobody */
	run->state = run->bound.single_rank ? RUN_ASK : run->bound.pair ? RUN_MAP : RUN_ADMIT;
	*moved = true;
	return CHOIR_SUCCESS;
}

static choir_status state_steps(struct run *run, bool *moved)
{
	bool done = false;

	TRY(steps_advance(run, moved, &done));
	if (run->counts_differ && !run_is_script(run))
		return run_restart_as_script(run, moved);
	if (!done && run->owes_flag)
		run_raise_flag(run);
	if (!done)
		return CHOIR_SUCCESS;
	*moved = true;
	nt_plan_end(run);
	run->state = RUN_UNMAP;
	return run_unmap(run);
}

/* Note [states of a run] in run.h. */
static choir_status (*const states[])(struct run *, bool *) = {
	[RUN_DEPS] = state_deps,
	[RUN_ADMIT] = run_admit,
	[RUN_ASK] = run_ask_script,
	[RUN_JOB] = run_await_job,
	[RUN_PREVIOUS_PLAN] = run_await_previous_plan,
	[RUN_PEER_BUFFERS] = run_find_peer_buffers,
	[RUN_MAP] = run_map,
	[RUN_STEPS] = state_steps,
	[RUN_UNMAP] = run_await_unmap,
};
_Static_assert(sizeof states / sizeof *states == RUN_WITHDRAW, "a function for each state in which a run is active");

/* Gives the lane back when the call has ended well, and when it has failed for this rank alone.  After a failure of the
 * comm nobody takes a lane again. */
void run_give_lane(struct run *run)
{
	struct choir_comm *comm = run->comm;

	if (run->bound.pair || run->bound.single_rank)
		return;
	if (run->status != CHOIR_SUCCESS) /* phases that this rank will not come to */
		lane_publish(run, ARENA_LAST_POINT);
	atomic_store_explicit(&comm_control(comm, comm->local_rank)->done[run->lane], run->seq + 1,
	                      memory_order_release);
	comm_wake_step(comm);
}

bool run_advance(struct run *run)
{
	bool ever = false, moved = true;

	while (moved && run_is_active(run) && !(ever && run->board.paused)) {
		choir_status st;

		moved = false;
		st = states[run->state](run, &moved);
		if (st == CHOIR_SUCCESS && run->state == RUN_ENDED)
			st = run_check_ended(run);
		ever |= moved;
		if (st != CHOIR_SUCCESS) {
			run_fail_as_said(run, st);
			return true;
		}
	}
	if (run->state == RUN_ENDED && run->status == CHOIR_SUCCESS)
		run_give_lane(run);
	return ever;
}

/* Waits for the run's commands on the device and unmaps its buffers: the caller gets them back. */
static void let_go(struct run *run)
{
	board_drain(run);
	dev_wait(&run->map_events[0]);
	dev_wait(&run->map_events[1]);
	shadow_drop(run);
	gathered_drop(run);
	run_unmap(run);
	dev_wait(&run->map_events[0]);
	dev_wait(&run->map_events[1]);
}

/* Is its flag up for a plan by which peers read and write the caller's buffers? */
static bool peers_may_touch(const struct run *run)
{
	return run->plan != NULL && run->plan->peers && run->state > RUN_ADMIT && !run->failure_is_local;
}

void run_set_failure(struct run *run, choir_status status, const char *text)
{
	run->status = status;
	free(run->text);
	run->text = strdup(text);
}

void run_fail(struct run *run, choir_status status, const char *text)
{
	let_go(run);
	run_set_failure(run, status, text);
	run->state = peers_may_touch(run) ? RUN_WITHDRAW : RUN_ENDED;
}

void run_fail_as_said(struct run *run, choir_status status)
{
	char text[ERROR_TEXT_BYTES], called[RUN_TEXT_BYTES];

	run_call_text(run, called, sizeof called);
	error_prefix(status, "rank %d: %s", run->comm->rank, called);
	memcpy(text, error_text(), sizeof text);
	run_fail(run, status, text);
	if (run->failure_is_local)
		run_give_lane(run);
}
