/* SPDX-License-Identifier: MIT */
/* Note [right to drive].  The right to drive is only ever tried for, never waited for: whoever gets it advances all
 * runs of the rank, the others go on waiting for their events. `submit` guards the incoming list and the numbers; it is
 * held for a few instructions.  Completions and callers' callbacks happen after the driver has left, so they may call
 * choir again.
 *
 * Note [moving runs].  The driver looks at the runs that can move, however many others are in flight.  Runs stand in
 * queues: one of the collectives, one of the sends to each rank, one of the recvs from each.  Only the first runs of a
 * queue are in the list `moving`, and one that ends lets the next one in.  No collective behind the first COMM_LANES
 * may enter its lane.  A pair's run may overtake the one before it, when that waits for its deps: one that is further
 * behind than PAIR_MOVING is advanced by the slow look (engine_look_at_queued), so it ends too. */
#include "exec/engine.h"

#include "base/log.h"
#include "base/wait.h"
#include "exec/call_log.h"
#include "exec/device_wait.h"
#include "exec/gone.h"
#include "exec/liveness.h"
#include "exec/slot_ring.h"
#include "exec/withdraw.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR_MOVING = 16 };

choir_status engine_init(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;

	engine->active_end = &engine->active;
	engine->moving_end = &engine->moving;
	engine->n_queues = 1 + 2 * (size_t)comm->n;
	engine->queues = calloc(engine->n_queues, sizeof *engine->queues);
	if (engine->queues == NULL)
		return error_no_memory("queues of calls", engine->n_queues * sizeof *engine->queues);
	engine->sent = calloc((size_t)comm->n, sizeof *engine->sent);
	engine->received = calloc((size_t)comm->n, sizeof *engine->received);
	if (engine->sent == NULL || engine->received == NULL)
		return error_no_memory("call numbers", 2 * (size_t)comm->n * sizeof *engine->sent);
	if (pthread_mutex_init(&engine->submit, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for an engine");
	return liveness_init(comm);
}

void engine_fini(struct choir_comm *comm)
{
	free(comm->engine.sent);
	free(comm->engine.received);
	free(comm->engine.queues);
	liveness_fini(comm);
	gone_fini(comm);
}

static void number(struct run *run)
{
	struct engine *engine = &run->comm->engine;

	run->log_start_ns = log_wants_calls() ? wait_now_ns() : 0;
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
	atomic_store_explicit(&comm_control(run->comm, run->comm->local_rank)->last_seq, run->seq + 1,
	                      memory_order_relaxed);
}

bool engine_number(struct run *const *runs, int n)
{
	struct choir_comm *comm = runs[0]->comm;
	struct engine *engine = &comm->engine;
	bool alone;

	pthread_mutex_lock(&engine->submit);
	alone = engine->incoming == NULL && !engine->closing &&
	        atomic_load_explicit(&comm->failed, memory_order_relaxed) == CHOIR_SUCCESS;
	alone &= engine->next_seq + (uint64_t)n <= ARENA_LAST_SEQ;
	for (int i = 0; i < n && alone; i++)
		number(runs[i]);
	pthread_mutex_unlock(&engine->submit);
	return alone;
}

choir_status engine_submit(struct run *run)
{
	struct engine *engine = &run->comm->engine;
	bool spent;

	pthread_mutex_lock(&engine->submit);
	spent = !run->bound.pair && engine->next_seq >= ARENA_LAST_SEQ;
	if (engine->closing || spent || atomic_load(&run->comm->failed) != CHOIR_SUCCESS) {
		choir_status st;

		pthread_mutex_unlock(&engine->submit);
		st = comm_failure(run->comm);
		if (st == CHOIR_SUCCESS)
			st = spent
			         ? error_set(CHOIR_UNSUPPORTED,
			                     "%s: it has made 2^40 calls, as many as a comm can make", run->comm->name)
			         : error_set(CHOIR_ABORTED, "%s: rank %d: %s: the comm has been destroyed",
			                     run->comm->name, run->comm->rank, run->name);
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

static struct run_queue *queue_of(struct engine *engine, const struct run *run)
{
	size_t n = (engine->n_queues - 1) / 2;

	if (!run->bound.pair)
		return &engine->queues[0];
	return &engine->queues[1 + (run->bound.pair_sends ? 0 : n) + (size_t)run->bound.pair_peer];
}

/* Lets the next runs of the queue into `moving`, until `most` of the queue are there. */
static void let_in(struct engine *engine, struct run_queue *queue, int most)
{
	for (; queue->first != NULL && queue->n_moving < most; queue->n_moving++) {
		struct run *run = queue->first;

		queue->first = run->next_moving;
		run->next_moving = NULL;
		*engine->moving_end = run;
		engine->moving_end = &run->next_moving;
	}
}

static void let_next_in(struct engine *engine, struct run_queue *queue)
{
	let_in(engine, queue, queue == engine->queues ? COMM_LANES : PAIR_MOVING);
}

void engine_take(struct engine *engine, struct run *run)
{
	struct run_queue *queue = queue_of(engine, run);

	run->next = run->next_moving = NULL;
	run->link = engine->active_end;
	*engine->active_end = run;
	engine->active_end = &run->next;
	if (queue->first == NULL)
		queue->first = run;
	else
		queue->last->next_moving = run;
	queue->last = run;
	let_next_in(engine, queue);
}

static void remove_active(struct engine *engine, struct run *run)
{
	*run->link = run->next;
	if (run->next != NULL)
		run->next->link = run->link;
	else
		engine->active_end = run->link;
	run->next = NULL;
}

void engine_refuse(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;

	pthread_mutex_lock(&engine->submit);
	engine->closing = true;
	pthread_mutex_unlock(&engine->submit);
	while (!engine_enter(engine)) /* a call that is carried out on the spot ends, or becomes a run */
		wait_yield();
	engine_leave(engine);
}

/* Moves what was submitted behind what is active, oldest first. */
static void take_incoming(struct engine *engine)
{
	struct run *list, *oldest = NULL;

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
	while (oldest != NULL) {
		struct run *next = oldest->next;

		engine_take(engine, oldest);
		oldest = next;
	}
}

/* Does anything that moves send or receive? */
static bool uses_messages(const struct engine *engine)
{
	for (const struct run *run = engine->moving; run != NULL; run = run->next_moving)
		if (run->plan != NULL && run->plan->messages)
			return true;
	return engine->active == NULL;
}

/* The name that the caller gave that call of this rank, "" = none. */
static const char *given_name_of(const struct engine *engine, uint64_t key)
{
	for (const struct run *run = engine->active; run != NULL; run = run->next)
		if (run->key == key)
			return run_given_name(run);
	return "";
}

/* What the transport says, with the rank and the oldest of its calls. */
static void fail_transport(struct choir_comm *comm, const char *why)
{
	char text[ERROR_TEXT_BYTES], called[RUN_TEXT_BYTES] = "no call under way";

	if (atomic_load(&comm->failed) != CHOIR_SUCCESS)
		return;
	if (comm->engine.active != NULL)
		run_call_text(comm->engine.active, called, sizeof called);
	snprintf(text, sizeof text, "%s: rank %d: %s: %s", comm->name, comm->rank, called, why);
	comm_fail(comm, CHOIR_TRANSPORT, text);
}

static bool drive_pump(struct choir_comm *comm, bool anyway)
{
	bool moved = false;

	if (comm->pump == NULL || !(anyway || uses_messages(&comm->engine) || pump_busy(comm->pump)))
		return false;
	if (pump_drive(comm->pump, &moved) != CHOIR_SUCCESS)
		fail_transport(comm, error_text());
	if (atomic_load_explicit(&comm->inbox.overflow, memory_order_relaxed))
		fail_transport(comm, "messages of more than 1 GiB came for calls that this rank has not made yet");
	if (atomic_load_explicit(&comm->inbox.has_odd, memory_order_acquire) &&
	    atomic_load(&comm->failed) == CHOIR_SUCCESS) {
		const struct inbox_odd *odd = &comm->inbox.odd;

		comm_fail(comm,
		          record_mismatch(comm, odd->key, given_name_of(&comm->engine, odd->key), &odd->mine, odd->src,
		                          &odd->theirs),
		          error_text());
	}
	liveness_answer(comm);
	return moved; /* a failed comm too: the news of it must get out */
}

bool engine_messages(struct choir_comm *comm)
{
	return drive_pump(comm, true);
}

/* A run whose callback is under way ends when that has returned. */
static bool is_calling(const struct run *run)
{
	return run->state == RUN_CALLING && run->call == NULL &&
	       !atomic_load_explicit(&run->called, memory_order_acquire);
}

static void fail_all(struct choir_comm *comm)
{
	choir_status st = (choir_status)atomic_load(&comm->failed);
	struct engine *engine = &comm->engine;
	int64_t now = wait_now_ns();

	if (withdraw(comm, now))
		comm_ring_node(comm);
	for (size_t i = 0; i < engine->n_queues; i++)
		let_in(engine, &engine->queues[i], INT_MAX);
	for (struct run *run = engine->active; run != NULL; run = run->next) {
		if (run->state < RUN_FAILED && !is_calling(run))
			run_fail(run, st, comm->fail_text);
		if (run->state == RUN_FAILED && withdraw_left_alone(run, now))
			run->state = RUN_ENDED;
	}
}

/* A run that fails fails the comm, unless the failure is its alone. */
static bool advance(struct run *run)
{
	bool moved = run_advance(run);

	if (run->status != CHOIR_SUCCESS && !run->failure_is_local)
		comm_fail(run->comm, run->status, run->text);
	return moved;
}

static bool advance_moving(struct choir_comm *comm)
{
	bool moved = false;

	for (struct run *run = comm->engine.moving; run != NULL; run = run->next_moving)
		if (run->state < RUN_FAILED)
			moved |= advance(run);
	return moved;
}

/* Of one queue.  A run that ends joins `moving`, from where it is taken out. */
static void look_at_queue(struct engine *engine, struct run_queue *queue)
{
	struct run *before = NULL, *next;

	for (struct run *run = queue->first; run != NULL; run = next) {
		next = run->next_moving;
		(void)advance(run);
		if (run->state != RUN_ENDED) {
			before = run;
			continue;
		}
		*(before != NULL ? &before->next_moving : &queue->first) = next;
		if (next == NULL)
			queue->last = before;
		run->next_moving = NULL;
		*engine->moving_end = run;
		engine->moving_end = &run->next_moving;
		queue->n_moving++;
	}
}

void engine_look_at_queued(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;

	for (size_t i = 0; i < engine->n_queues && atomic_load(&comm->failed) == CHOIR_SUCCESS; i++)
		look_at_queue(engine, &engine->queues[i]);
}

/* Nothing moved: is that for the device?  A run that is alone and sends nothing may wait for it right here. */
static bool wait_for_device(struct choir_comm *comm)
{
	struct run *run = comm->engine.moving;
	bool busy = false;

	if (run != NULL && run->next_moving == NULL && !(run->plan != NULL && run->plan->messages) &&
	    run_block_on_device(run))
		return true;
	for (; run != NULL && !busy; run = run->next_moving)
		busy = run_waits_for_device(run);
	atomic_store_explicit(&comm->engine.device_works, busy, memory_order_relaxed);
	return false;
}

/* Takes out what ended, and the first run whose callback is due. */
static struct run *take_ended(struct engine *engine, struct run **calling_p)
{
	struct run *ended = NULL, **tail = &ended;

	for (struct run **at = &engine->moving; *at != NULL;) {
		struct run *run = *at;
		struct run_queue *queue;

		if (run->state == RUN_CALLING && run->call != NULL && *calling_p == NULL)
			*calling_p = run;
		if (run->state != RUN_ENDED) {
			at = &run->next_moving;
			continue;
		}
		queue = queue_of(engine, run);
		*at = run->next_moving;
		if (*at == NULL)
			engine->moving_end = at;
		queue->n_moving--;
		let_next_in(engine, queue);
		remove_active(engine, run);
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
	if (run->log_start_ns != 0)
		call_log(run, "queued");
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
			moved |= advance_moving(comm) || wait_for_device(comm);
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
