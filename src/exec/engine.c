/* SPDX-License-Identifier: MIT */
/* Note [right to drive].  The right to drive is only ever tried for, never waited for: whoever gets it advances all
 * runs of the rank, the others go on waiting for their events.  Completions and callers' callbacks happen after the
 * driver has left, so they may call choir again. */
#include "exec/engine.h"

#include "base/wait.h"
#include "exec/call_log.h"
#include "exec/device_wait.h"
#include "exec/executor.h"
#include "exec/flight.h"
#include "exec/gone.h"
#include "exec/keyed.h"
#include "exec/liveness.h"
#include "exec/messages.h"
#include "exec/submit.h"
#include "exec/withdraw.h"

#include <stdlib.h>
#include <string.h>

choir_status engine_init(struct choir_comm *comm)
{
	TRY(flight_init(&comm->engine.flight, comm->n));
	TRY(submit_init(comm));
	return liveness_init(comm);
}

void engine_fini(struct choir_comm *comm)
{
	submit_fini(comm);
	flight_fini(&comm->engine.flight);
	liveness_fini(comm);
	gone_fini(comm);
}

void engine_refuse(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;

	submit_close(comm);
	while (!engine_enter(engine)) /* a call that is carried out on the spot ends, or becomes a run */
		wait_yield();
	engine_leave(engine);
}

/* What was submitted, behind what is in flight. */
static void take_submitted(struct choir_comm *comm)
{
	for (struct run *run = submit_take(comm), *next; run != NULL; run = next) {
		next = run->next;
		flight_add(&comm->engine.flight, run);
	}
}

/* A run whose call is being made ends when that has returned: it uses the script's memory and the caller's. */
static bool is_calling(const struct run *run)
{
	return run->state == RUN_CALLING && run->script.call == NULL &&
	       !atomic_load_explicit(&run->script.called, memory_order_acquire);
}

static void fail_all(struct choir_comm *comm)
{
	choir_status st = (choir_status)atomic_load(&comm->failure.status);
	struct flight *flight = &comm->engine.flight;
	int64_t now = wait_now_ns();

	if (withdraw(comm, now))
		comm_ring_node(comm);
	flight_move_all(flight);
	for (struct run *run = flight->active; run != NULL; run = run->next) {
		if (run->state < RUN_FAILED && !is_calling(run))
			run_fail(run, st, comm->failure.text);
		if (run->state == RUN_FAILED && withdraw_left_alone(run, now))
			run->state = RUN_ENDED;
	}
}

/* A run that fails fails the comm, unless the failure is its alone. */
static bool advance(struct run *run)
{
	bool moved = run_advance(run);

	if (run->status != CHOIR_SUCCESS && !run->failure_is_local)
		comm_fail(run->comm, run->status, run_failure_text(run));
	return moved;
}

static bool advance_moving(struct choir_comm *comm)
{
	bool moved = false;

	for (struct run *run = comm->engine.flight.moving; run != NULL; run = run->next_moving)
		if (run->state < RUN_FAILED)
			moved |= advance(run);
	return moved;
}

void engine_look_at_queued(struct choir_comm *comm)
{
	struct flight *flight = &comm->engine.flight;

	for (size_t i = 0; i < flight->n_queues && atomic_load(&comm->failure.status) == CHOIR_SUCCESS; i++)
		flight_advance_queued(flight, i, advance);
}

/* Nothing moved: is that for the device?  A run that is alone and sends nothing may wait for it right here. */
static bool wait_for_device(struct choir_comm *comm)
{
	struct run *run = comm->engine.flight.moving;
	bool busy = false;

	if (run != NULL && run->next_moving == NULL && !(run->plan != NULL && run->plan->messages) &&
	    run_block_on_device(run))
		return true;
	for (; run != NULL && !busy; run = run->next_moving)
		busy = run_waits_for_device(run);
	atomic_store_explicit(&comm->engine.device_works, busy, memory_order_relaxed);
	return false;
}

static struct due_call take_call(struct run *run)
{
	struct due_call due = { .run = run };

	if (run == NULL)
		return due;
	due.call = run->script.call;
	due.calls_back = run->script.calls_back;
	run->script.call = NULL;
	atomic_fetch_add_explicit(&run->comm->submission.calling, 1, memory_order_relaxed);
	return due;
}

static void make_call(const struct due_call *due)
{
	struct choir_comm *comm = due->run->comm;

	if (due->calls_back)
		callback_enter();
	due->call(due->run->script.state);
	if (due->calls_back)
		callback_leave();
	atomic_store_explicit(&due->run->script.called, true, memory_order_release);
	atomic_fetch_sub_explicit(&comm->submission.calling, 1, memory_order_relaxed);
	bell_ring(bell_mine()); /* this thread may wait for another event, and leave the run to others */
}

/* On a thread of the caller's; until it has returned the run stays. */
static void make_as_work(void *arg)
{
	struct due_call due = *(struct due_call *)arg;

	free(arg);
	make_call(&due);
}

void engine_make_call(const struct due_call *due)
{
	struct due_call *copy = due->calls_back ? malloc(sizeof *copy) : NULL;

	if (copy != NULL) {
		*copy = *due;
		if (executor_take(make_as_work, copy))
			return;
		free(copy);
	}
	make_call(due);
}

static void complete(struct run *run)
{
	run_end_script(run); /* what it still has of the caller's memory comes back before the event says so */
	if (run->log_start_ns != 0)
		call_log(run, "queued");
	event_complete(run->event, run->status, run->text);
	run_discard(run);
}

static void complete_all(struct choir_comm *comm, struct run *ended)
{
	comm_retain(comm); /* the last event may hold the last reference */
	for (struct run *next; ended != NULL; ended = next) {
		next = ended->next;
		complete(ended);
		atomic_fetch_sub_explicit(&comm->submission.unfinished, 1, memory_order_acq_rel);
		bell_ring(bell_mine()); /* whoever waits for the event, or has a call that depends on it */
	}
	comm_release(comm);
}

bool engine_drive(struct choir_comm *comm, bool messages, struct due_call *due_p)
{
	struct engine *engine = &comm->engine;
	struct run *ended, *calling = NULL, *ordered = NULL, *failed = NULL;
	bool moved, held;

	due_p->run = NULL;
	if (!engine_enter(engine))
		return false;
	if (engine->closed) {
		engine_leave(engine);
		return false;
	}
	held = comm->keyed != NULL && keyed_holds(comm->keyed);
	moved = held && keyed_drive(comm, &ordered, &failed);
	if (ordered != NULL)
		submit_held(ordered);
	take_submitted(comm);
	moved |= messages_drive(comm, messages || (held && comm->layout.n_nodes > 1));
	if (engine->flight.active != NULL) {
		comm_look(comm);
		if (atomic_load(&comm->failure.status) == CHOIR_SUCCESS)
			moved |= advance_moving(comm) || wait_for_device(comm);
		if (atomic_load(&comm->failure.status) != CHOIR_SUCCESS)
			fail_all(comm);
	}
	ended = flight_take_ended(&engine->flight, &calling);
	*due_p = take_call(calling);
	engine_leave(engine);
	if (ended != NULL)
		complete_all(comm, ended);
	if (failed != NULL)
		complete_all(comm, failed);
	return moved || ended != NULL || failed != NULL;
}

bool engine_can_move(const struct choir_comm *comm)
{
	const struct submission *submission = &comm->submission;

	return atomic_load_explicit(&submission->unfinished, memory_order_acquire) >
	       atomic_load_explicit(&submission->calling, memory_order_relaxed);
}

bool engine_idle(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->submission.unfinished, memory_order_acquire) == 0;
}
