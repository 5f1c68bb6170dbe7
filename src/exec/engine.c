/* SPDX-License-Identifier: MIT */
/* Note [right to drive].  The right to drive is only ever tried for, never waited for: the thread that gets it advances
 * all runs of the rank, the others go on waiting for their events.  Completions and callers' callbacks happen after the
 * driver has left, so they may call choir again; a caller's reduction alone is called by the driver, in a host step. */
#include "exec/engine.h"

#include "base/wait.h"
#include "exec/board.h"
#include "exec/call_cache.h"
#include "exec/call_log.h"
#include "exec/device_wait.h"
#include "exec/executor.h"
#include "exec/flight.h"
#include "exec/gone.h"
#include "exec/keyed.h"
#include "exec/liveness.h"
#include "exec/messages.h"
#include "exec/record.h"
#include "exec/submit.h"
#include "exec/thread.h"
#include "exec/withdraw.h"
#include "exec/worker.h"

#include <stdlib.h>

choir_status engine_init(struct choir_comm *comm)
{
	call_cache_init(comm);
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

	submit_refuse(comm);
	while (!engine_enter(engine)) /* a call that is executed inline ends, or becomes a run */
		wait_yield();
	engine_leave(engine);
}

/* Adds the submitted runs to the flight.  True if the flight was empty before, and is not any more. */
static bool take_submitted(struct choir_comm *comm)
{
	struct flight *flight = &comm->engine.flight;
	bool none = flight->all == NULL;

	for (struct run *run = submit_take(comm), *next; run != NULL; run = next) {
		next = run->next;
		flight_add(flight, run);
	}
	return none && flight->all != NULL;
}

/* A run whose job is being done ends when that has returned: it uses the script's memory and the caller's. */
static bool is_in_job(const struct run *run)
{
	return run->state == RUN_JOB && run->script.job == NULL &&
	       !atomic_load_explicit(&run->script.job_done, memory_order_acquire);
}

/* Commands of the device that access peers' buffers end before this rank says that it has left these. */
static void leave_peers(struct flight *flight)
{
	for (struct run *run = flight->all; run != NULL; run = run->next)
		if (run_is_active(run) && run->plan != NULL && run->plan->peers)
			board_drain(run);
}

static void fail_all(struct choir_comm *comm)
{
	choir_status st = (choir_status)atomic_load(&comm->failure.status);
	struct flight *flight = &comm->engine.flight;
	int64_t now = wait_now_ns();

	leave_peers(flight);
	withdraw(comm, now);
	flight_make_all_eligible(flight);
	for (struct run *run = flight->all; run != NULL; run = run->next) {
		if (run_is_active(run) && !is_in_job(run))
			run_fail(run, st, comm->failure.text);
		if (run->state == RUN_WITHDRAW && withdraw_left_alone(run, now))
			run->state = RUN_ENDED;
	}
}

bool engine_advance(struct run *run)
{
	bool moved = run_advance(run);

	if (run->status != CHOIR_SUCCESS && !run->failure_is_local) {
		messages_explain(run);
		comm_fail(run->comm, run->status, run_failure_text(run));
	}
	return moved;
}

static bool advance_eligible(struct choir_comm *comm)
{
	bool moved = false;

	for (struct run *run = comm->engine.flight.eligible; run != NULL; run = run->next_eligible)
		if (run_is_active(run))
			moved |= engine_advance(run);
	return moved;
}

/* After a drive in which nothing moved.  True: the only run, which sends nothing, has blocked until a command of the
 * device was over.  Else device_works tells whether commands are under way. */
static bool wait_or_note_device(struct choir_comm *comm)
{
	struct run *run = comm->engine.flight.eligible;
	bool busy = false;

	if (run != NULL && run->next_eligible == NULL && !(run->plan != NULL && run->plan->messages) &&
	    run_block_on_device(run))
		return true;
	for (; run != NULL && !busy; run = run->next_eligible)
		busy = run_waits_for_device(run);
	atomic_store_explicit(&comm->engine.device_works, busy, memory_order_relaxed);
	return false;
}

bool engine_ring_at_ends(struct choir_comm *comm)
{
	bool all = true;

	if (!engine_enter(&comm->engine))
		return false;
	for (struct run *run = comm->engine.flight.eligible; run != NULL; run = run->next_eligible)
		all &= run_ring_at_ends(run);
	engine_leave(&comm->engine);
	return all;
}

static struct due_job take_job(struct run *run)
{
	struct due_job due = { .run = run };

	if (run == NULL)
		return due;
	due.job = run->script.job;
	due.is_callback = run->script.is_callback;
	due.until_ns = run_deadline_ns(run);
	run->script.job = NULL;
	atomic_fetch_add_explicit(&run->comm->submission.in_jobs, 1, memory_order_relaxed);
	return due;
}

static void do_job(const struct due_job *due)
{
	struct choir_comm *comm = due->run->comm;

	if (due->is_callback)
		callback_enter();
	else
		dev_build_deadline(due->until_ns);
	due->job(due->run->script.state);
	if (due->is_callback)
		callback_leave();
	else
		dev_build_deadline(0);
	atomic_store_explicit(&due->run->script.job_done, true, memory_order_release);
	atomic_fetch_sub_explicit(&comm->submission.in_jobs, 1, memory_order_relaxed);
	bell_ring_mine(); /* this thread may wait for another event, and leave the run to others */
}

static _Atomic int passed_on; /* jobs that other threads than drivers do */

/* On a thread of the caller's, or the worker's; until it has returned the run stays. */
static void do_as_work(void *arg)
{
	struct due_job due = *(struct due_job *)arg;
	struct choir_comm *comm = due.run->comm;

	free(arg);
	do_job(&due);
	comm_release(comm);
	atomic_fetch_sub(&passed_on, 1);
}

bool engine_jobs_are_passed_on(void)
{
	return atomic_load_explicit(&passed_on, memory_order_relaxed) > 0;
}

void engine_forget_jobs(void)
{
	atomic_store(&passed_on, 0);
}

/* True: another thread does the job. */
static bool pass_on(const struct due_job *due, bool to_worker)
{
	struct choir_comm *comm = comm_retain(due->run->comm);
	struct due_job *copy = malloc(sizeof *copy);
	bool taken = false;

	atomic_fetch_add(&passed_on, 1);
	if (copy != NULL) {
		*copy = *due;
		taken = to_worker ? worker_take(due->is_callback ? WORKER_CALLBACKS : WORKER_JOBS, do_as_work, copy)
		                  : executor_take(do_as_work, copy);
	}
	if (!taken) {
		free(copy);
		comm_release(comm);
		atomic_fetch_sub(&passed_on, 1);
	}
	return taken;
}

void engine_do_job(const struct due_job *due, bool in_background)
{
	if (due->is_callback && pass_on(due, false))
		return;
	if (in_background && pass_on(due, true))
		return;
	do_job(due);
}

static void complete(struct run *run)
{
	run_end_script(run, false); /* the caller's memory comes back before the event says so */
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
		bell_ring_mine(); /* whoever waits for the event, or has a call that depends on it */
	}
	comm_release(comm);
}

enum drive engine_drive(struct choir_comm *comm, bool always, struct due_job *due_p)
{
	struct engine *engine = &comm->engine;
	struct run *ended, *ordered = NULL, *failed = NULL;
	bool moved, held, begins;

	due_p->run = NULL;
	if (!engine_enter(engine))
		return DRIVE_BY_ANOTHER;
	if (engine->closed) {
		engine_leave(engine);
		return DRIVE_NOTHING;
	}
	held = comm->keyed != NULL && keyed_holds(comm->keyed);
	moved = comm->keyed != NULL && keyed_drive(comm, &ordered, &failed);
	if (ordered != NULL)
		submit_held(ordered);
	/* A call that begins alone first sends: its peers would wait as long as a look at the network takes. */
	begins = take_submitted(comm);
	always |= held && comm->layout.n_nodes > 1;
	moved |= !begins && messages_drive(comm, always);
	if (engine->flight.all != NULL) {
		comm_see_poison(comm);
		if (!comm_has_failed(comm))
			moved |= advance_eligible(comm) || wait_or_note_device(comm);
		if (comm_has_failed(comm))
			fail_all(comm);
	}
	moved |= begins && messages_drive(comm, always);
	*due_p = take_job(flight_find_job(&engine->flight));
	ended = flight_take_ended(&engine->flight);
	for (struct run *run = ended; run != NULL; run = run->next)
		board_give(run);
	engine_leave(engine);
	if (ended != NULL)
		complete_all(comm, ended);
	if (failed != NULL)
		complete_all(comm, failed);
	return moved || ended != NULL || failed != NULL ? DRIVE_MOVED : DRIVE_NOTHING;
}

void engine_listen(struct choir_comm *comm)
{
	if (comm->messenger == NULL || !engine_enter(&comm->engine))
		return;
	(void)messages_drive(comm, true);
	engine_leave(&comm->engine);
}

static bool waits_for_one_thing(const struct run *run)
{
	const struct step_board *board = &run->board;

	return run->state != RUN_STEPS || (board->n_waiting == 1 && board->ready_head == board->ready_tail);
}

/* Of the ranks that the run waits for, the one that comes next before this one, round the ranks: ranks that were woken
 * in order come in order, so it is likely to be the last. */
static int64_t process_awaited(struct run *run)
{
	const struct choir_comm *comm = run->comm;
	int64_t process = BELL_ANY;
	int nearest = comm->n;

	for (int p = 0; p < comm->n_near; p++) {
		const struct comm_process *peer = &comm->processes[p];

		for (int i = 0; i < peer->n_ranks; i++) {
			int before = (comm->rank - peer->ranks[i] + comm->n) % comm->n;

			if (before >= nearest || !run_waits_for(run, peer->ranks[i]))
				continue;
			nearest = before;
			process = peer->process;
		}
	}
	return process;
}

int64_t engine_awaited(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;
	struct run *run;
	int64_t process = BELL_ANY;

	if (!engine_enter(engine))
		return BELL_ANY;
	run = engine->flight.all;
	if (run != NULL && run->next == NULL && comm->keyed == NULL && waits_for_one_thing(run))
		process = process_awaited(run);
	engine_leave(engine);
	return process;
}

void engine_call_of(const choir_event *event, char *text, size_t bytes)
{
	enum { PATIENCE_MS = 5 };
	struct submission *submission = &event->comm->submission;
	struct engine *engine = &event->comm->engine;
	const struct run *run;
	int64_t end = wait_end_ns(PATIENCE_MS);

	while (!engine_enter(engine)) {
		if (wait_now_ns() > end)
			return;
		wait_yield();
	}
	pthread_mutex_lock(&submission->lock); /* a run that is refused leaves its event under it */
	run = engine->closed ? NULL : event->run;
	run = run != NULL && flight_has(run) ? run : NULL;
	pthread_mutex_unlock(&submission->lock);
	if (run != NULL)
		run_call_text(run, text, bytes);
	engine_leave(engine);
}

bool engine_has_work(const struct choir_comm *comm)
{
	const struct submission *submission = &comm->submission;

	return atomic_load_explicit(&submission->unfinished, memory_order_acquire) >
	       atomic_load_explicit(&submission->in_jobs, memory_order_relaxed);
}

bool engine_idle(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->submission.unfinished, memory_order_acquire) == 0;
}
