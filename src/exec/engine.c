/* SPDX-License-Identifier: MIT */
/* Note [engine lock].  The right to drive is only ever tried for, never waited for: whoever gets it advances all runs of the rank, the others go on waiting for their events.
 * `submit` guards the incoming list and the numbers; it is held for a few instructions.  Completions and callers' callbacks happen after the driver has left,
 * so they may call choir again. */
#include "exec/engine.h"

#include "exec/device_wait.h"
#include "exec/progress.h"
#include "exec/roll_call.h"
#include "exec/slot_ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

choir_status engine_init(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;

	engine->sent = calloc((size_t)comm->n, sizeof *engine->sent);
	engine->received = calloc((size_t)comm->n, sizeof *engine->received);
	if (engine->sent == NULL || engine->received == NULL)
		return error_no_memory("call numbers", 2 * (size_t)comm->n * sizeof *engine->sent);
	if (pthread_mutex_init(&engine->submit, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for an engine");
	return roll_init(comm);
}

void engine_fini(struct choir_comm *comm)
{
	free(comm->engine.sent);
	free(comm->engine.received);
	roll_fini(comm);
}

static void number(struct run *run)
{
	struct engine *engine = &run->comm->engine;

	if (run->bound.pair) {
		uint64_t *count = run->bound.pair_sends ? engine->sent : engine->received;

		run->key = WIRE_PAIR | count[run->bound.pair_peer]++;
		return;
	}
	run->seq = engine->next_seq++;
	run->key = run->seq;
	if (run->comm->layout.n_nodes > 1) /* ranks of one node see each other's records in the arena */
		inbox_expect(&run->comm->inbox, run->key, &run->bound.record);
	run->lane = (int)(run->seq % COMM_LANES);
	slot_ring_take(run);
	atomic_store_explicit(&comm_control(run->comm, run->comm->place)->last_seq, run->seq + 1, memory_order_relaxed);
}

bool engine_number(struct run *const *runs, int n)
{
	struct choir_comm *comm = runs[0]->comm;
	struct engine *engine = &comm->engine;
	bool alone;

	pthread_mutex_lock(&engine->submit);
	alone = engine->incoming == NULL && !engine->closed && atomic_load_explicit(&comm->failed, memory_order_relaxed) == CHOIR_SUCCESS;
	for (int i = 0; i < n && alone; i++)
		number(runs[i]);
	pthread_mutex_unlock(&engine->submit);
	return alone;
}

choir_status engine_submit(struct run *run)
{
	struct engine *engine = &run->comm->engine;

	pthread_mutex_lock(&engine->submit);
	if (engine->closed || atomic_load(&run->comm->failed) != CHOIR_SUCCESS) {
		choir_status st;

		pthread_mutex_unlock(&engine->submit);
		st = comm_failure(run->comm);
		if (st == CHOIR_SUCCESS)
			st = error_set(CHOIR_ABORTED, "%s: the comm has been destroyed", run->comm->name);
		event_complete(run->event, st, error_text());
		run_discard(run);
		return st;
	}
	number(run);
	run->next = engine->incoming;
	engine->incoming = run;
	atomic_fetch_add_explicit(&engine->unfinished, 1, memory_order_relaxed);
	atomic_store_explicit(&engine->has_incoming, true, memory_order_release);
	pthread_mutex_unlock(&engine->submit);
	return CHOIR_SUCCESS;
}

/* Moves what was submitted behind what is active, oldest first. */
static void take_incoming(struct engine *engine)
{
	struct run *list, *oldest = NULL, **tail = &engine->active;

	if (!atomic_load_explicit(&engine->has_incoming, memory_order_acquire))
		return;
	pthread_mutex_lock(&engine->submit);
	list = engine->incoming;
	engine->incoming = NULL;
	atomic_store_explicit(&engine->has_incoming, false, memory_order_relaxed);
	pthread_mutex_unlock(&engine->submit);
	while (list != NULL) {
		struct run *next = list->next;

		list->next = oldest;
		oldest = list;
		list = next;
	}
	while (*tail != NULL)
		tail = &(*tail)->next;
	*tail = oldest;
}

/* Does anything here send or receive? */
static bool uses_messages(const struct engine *engine)
{
	for (const struct run *run = engine->active; run != NULL; run = run->next)
		if (run->plan != NULL && run->plan->messages)
			return true;
	return engine->active == NULL;
}

static bool drive_pump(struct choir_comm *comm, bool anyway)
{
	bool moved = false;

	if (comm->pump == NULL || !(anyway || uses_messages(&comm->engine) || pump_busy(comm->pump)))
		return false;
	if (pump_drive(comm->pump, &moved) != CHOIR_SUCCESS && atomic_load(&comm->failed) == CHOIR_SUCCESS)
		comm_fail(comm, CHOIR_TRANSPORT, error_text());
	if (atomic_load_explicit(&comm->inbox.overflow, memory_order_relaxed) && atomic_load(&comm->failed) == CHOIR_SUCCESS)
		comm_fail(comm, CHOIR_TRANSPORT, "messages of more than 1 GiB came for calls that this rank has not made yet");
	if (atomic_load_explicit(&comm->inbox.has_odd, memory_order_acquire) && atomic_load(&comm->failed) == CHOIR_SUCCESS) {
		const struct inbox_odd *odd = &comm->inbox.odd;

		comm_fail(comm, record_mismatch(comm, odd->key, &odd->mine, odd->src, &odd->theirs), error_text());
	}
	roll_answer(comm);
	return moved; /* a failed comm too: the news of it must get out */
}

bool engine_messages(struct choir_comm *comm)
{
	return drive_pump(comm, true);
}

/* A run whose callback is under way ends when that has returned. */
static bool is_calling(const struct run *run)
{
	return run->state == RUN_CALLING && run->call == NULL && !atomic_load_explicit(&run->called, memory_order_acquire);
}

static void fail_all(struct choir_comm *comm)
{
	choir_status st = (choir_status)atomic_load(&comm->failed);

	for (struct run *run = comm->engine.active; run != NULL; run = run->next)
		if (run->state != RUN_ENDED && !is_calling(run))
			run_fail(run, st, comm->fail_text);
}

/* Advances every run once; failed ones fail the comm, unless the failure is theirs alone. */
static bool advance_all(struct choir_comm *comm)
{
	bool moved = false;

	for (struct run *run = comm->engine.active; run != NULL; run = run->next) {
		if (run->state == RUN_ENDED)
			continue;
		moved |= run_advance(run);
		if (run->status != CHOIR_SUCCESS && !run->only_mine)
			comm_fail(comm, run->status, run->text);
	}
	return moved;
}

/* Nothing moved: is that for the device?  A run that is alone and sends nothing may wait for it right here. */
static bool wait_for_device(struct choir_comm *comm)
{
	struct run *run = comm->engine.active;
	bool busy = false;

	if (run != NULL && run->next == NULL && !(run->plan != NULL && run->plan->messages) && device_block(run))
		return true;
	for (; run != NULL && !busy; run = run->next)
		busy = device_busy(run);
	atomic_store_explicit(&comm->engine.device_busy, busy, memory_order_relaxed);
	return false;
}

/* Takes out what ended, and the first run whose callback is due. */
static struct run *take_ended(struct engine *engine, struct run **calling_p)
{
	struct run *ended = NULL, **tail = &ended;

	for (struct run **at = &engine->active; *at != NULL;) {
		struct run *run = *at;

		if (run->state == RUN_CALLING && run->call != NULL && *calling_p == NULL)
			*calling_p = run;
		if (run->state != RUN_ENDED) {
			at = &run->next;
			continue;
		}
		*at = run->next;
		run->next = NULL;
		*tail = run;
		tail = &run->next;
	}
	return ended;
}

static void make_call(struct run *run, choir_status (*call)(void *))
{
	callback_enter();
	run->call_status = call(run->script_state);
	callback_leave();
	if (run->call_status != CHOIR_SUCCESS)
		run->call_text = strdup(error_text());
	atomic_store_explicit(&run->called, true, memory_order_release);
}

static void complete(struct run *run)
{
	struct choir_comm *comm = run->comm;

	comm_retain(comm);
	if (run->ended != NULL)
		run->ended(run);
	event_complete(run->event, run->status, run->text);
	run_discard(run);
	atomic_fetch_sub_explicit(&comm->engine.unfinished, 1, memory_order_acq_rel);
	bell_ring(bell_mine()); /* whoever waits for the event, or has a call that depends on it */
	comm_release(comm);
}

bool engine_drive(struct choir_comm *comm, bool messages)
{
	struct engine *engine = &comm->engine;
	struct run *ended, *calling = NULL;
	choir_status (*call)(void *) = NULL;
	bool moved;

	if (!engine_enter(engine))
		return false;
	if (engine->closed) {
		engine_leave(engine);
		return false;
	}
	take_incoming(engine);
	moved = drive_pump(comm, messages);
	if (engine->active != NULL) {
		comm_look(comm);
		if (atomic_load(&comm->failed) == CHOIR_SUCCESS)
			moved |= advance_all(comm) || wait_for_device(comm);
		if (atomic_load(&comm->failed) != CHOIR_SUCCESS)
			fail_all(comm);
	}
	ended = take_ended(engine, &calling);
	if (calling != NULL) {
		call = calling->call;
		calling->call = NULL; /* ours to make */
	}
	engine_leave(engine);
	if (calling != NULL)
		make_call(calling, call);
	for (struct run *next; ended != NULL; ended = next) {
		next = ended->next;
		complete(ended);
		moved = true;
	}
	return moved || calling != NULL;
}

bool engine_idle(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->engine.unfinished, memory_order_acquire) == 0;
}
