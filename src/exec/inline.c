/* SPDX-License-Identifier: MIT */
/* Design notes.  The thread holds the engine's right to drive from the first check to the last step, so a call of some
 * bytes costs it no more locked instructions than the right to drive and its number (submit.c) take, all before
 * anything is published: one behind a store to a line that a peer holds would wait for that store.  The comm keeps a
 * run of each kind for this; a run stays bound to a prepared call until another one needs it.
 *
 * There are two gears.  A part of short host steps and flags is done step by step in the order of its plan, by the
 * addresses of its operand table.  Where a step cannot be done soon, and for all other plans, the states of the run go
 * on (exec/run.c), as for all runs. */
#include "exec/inline.h"

#include "base/wait.h"
#include "exec/call_log.h"
#include "exec/comm_list.h"
#include "exec/device_wait.h"
#include "exec/engine.h"
#include "exec/flight.h"
#include "exec/in_order.h"
#include "exec/messages.h"
#include "exec/progress.h"
#include "exec/steps.h"
#include "exec/submit.h"
#include "exec/withdraw.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	TRANSPORT_EVERY = 8, /* rounds between two looks for messages of the transport */
	LISTEN_EVERY = 64,   /* calls between two such looks of a rank that waits for nothing */
};

/* --- the right to drive, and the runs --- */

bool inline_enter(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;
	const struct submission *submission = &comm->submission;

	if (atomic_load_explicit(&submission->unfinished, memory_order_relaxed) != 0 || !engine_enter(engine))
		return false;
	if (!atomic_load_explicit(&submission->closing, memory_order_relaxed) && engine->flight.all == NULL &&
	    !atomic_load_explicit(&submission->has_incoming, memory_order_relaxed))
		return true;
	engine_leave(engine);
	return false;
}

void inline_leave(struct choir_comm *comm)
{
	engine_leave(&comm->engine);
}

static struct run **run_of_kind(struct choir_comm *comm, const struct bound *bound)
{
	return &comm->engine.inline_runs[!bound->pair        ? INLINE_COLLECTIVE
	                                 : bound->pair_sends ? INLINE_SEND
	                                                     : INLINE_RECV];
}

static choir_status bind(struct run *run, struct prepared *prepared, struct part *part)
{
	choir_status st = CHOIR_SUCCESS;

	prepared_bind(run, prepared, part);
	run->is_inline = true;
	run_set_name(run, NULL, prepared->key.form->name);
	if (part->in_order && part->operands == NULL)
		st = operand_table_create(&part->operands);
	if (part->in_order && st == CHOIR_SUCCESS) {
		operand_table_load(part->operands, run);
		st = steps_make_room(run);
	}
	if (st != CHOIR_SUCCESS)
		prepared_unbind(run);
	return st;
}

/* The comm's run for that part; made when first needed. */
static choir_status take_run(struct choir_comm *comm, struct prepared *prepared, struct part *part, int64_t deadline_ms,
                             const char *name, struct run **out_p)
{
	struct run **at = run_of_kind(comm, &part->bound), *run = *at;

	if (run == NULL) {
		TRY(run_create(comm, &run));
		*at = run;
	}
	if (run->part != part)
		TRY(bind(run, prepared, part));
	run->watch.deadline_ms = deadline_ms > 0 ? deadline_ms : comm->deadline_ms;
	if (name != NULL || run->named)
		run_set_name(run, name, prepared->key.form->name);
	*out_p = run;
	return CHOIR_SUCCESS;
}

/* Ready for the next call: it stays bound, unless another plan was taken on the way. */
static void clean(struct run *run)
{
	if (run->log_start_ns != 0)
		call_log(run, "inline");
	run_end_script(run, true); /* it became one if the records of the ranks differed */
	if (run->plan != &run->bound.cached->plan)
		prepared_unbind(run);
	run->state = RUN_DEPS;
	run->counts_differ = run->records_compared = run->owes_flag = run->failure_is_local = false;
	run->shadows_filled = false;
	if (run->bound.pair)
		atomic_store_explicit(&run->event->wire_bytes, 0, memory_order_relaxed);
	if (run->status == CHOIR_SUCCESS)
		return;
	run->status = CHOIR_SUCCESS;
	free(run->text);
	run->text = NULL;
}

static void finish(struct run *const *runs, size_t n)
{
	struct choir_comm *comm = runs[0]->comm;

	for (size_t i = 0; i < n; i++)
		clean(runs[i]);
	inline_leave(comm);
}

/* --- a call that goes on as ordinary runs --- */

/* A send and a recv of one call share one event. */
static choir_event *detach(struct run *const *runs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		*run_of_kind(runs[i]->comm, &runs[i]->bound) = NULL;
		runs[i]->is_inline = false;
	}
	if (n == 2)
		run_share_event(runs[0], runs[1]);
	return choir_event_retain(runs[0]->event);
}

/* The runs have no numbers yet. */
static choir_status submit_instead(struct run *const *runs, size_t n, choir_event **event_p)
{
	struct choir_comm *comm = runs[0]->comm;
	choir_event *event = detach(runs, n);
	choir_status st;

	inline_leave(comm);
	st = submit_parts(runs, n);
	if (st == CHOIR_SUCCESS)
		*event_p = event;
	else
		choir_event_release(event);
	return st;
}

/* The background thread sends what is left of the messages. */
static void leave_messages(struct choir_comm *comm)
{
	comm_list_note_work(comm);
	(void)progress_kick();
}

/* The runs have their numbers; a run that has ended stays the comm's. */
static void go_on(struct run *const *runs, size_t n, choir_event **event_p)
{
	struct choir_comm *comm = runs[0]->comm;
	struct run *left[2] = { NULL };
	size_t n_left = 0;

	for (size_t i = 0; i < n; i++) {
		if (runs[i]->state == RUN_ENDED)
			clean(runs[i]);
		else
			left[n_left++] = runs[i];
	}
	*event_p = detach(left, n_left);
	atomic_fetch_add_explicit(&comm->submission.unfinished, (int)n_left, memory_order_relaxed);
	for (size_t i = 0; i < n_left; i++)
		flight_add(&comm->engine.flight, left[i]);
	comm_list_note_work(comm);
	inline_leave(comm);
}

/* A failure of one fails the comm, as for all runs, and with it the other.  *event_p is set if peers may still be in
 * the caller's buffers. */
static choir_status fail(struct run *const *runs, size_t n, struct run *failed, choir_event **event_p)
{
	choir_status st;
	char text[ERROR_TEXT_BYTES];

	if (!failed->failure_is_local)
		messages_explain(failed);
	st = failed->status;
	snprintf(text, sizeof text, "%s", run_failure_text(failed));
	if (!failed->failure_is_local) {
		comm_fail(failed->comm, st, text);
		withdraw(failed->comm, wait_now_ns());
	}
	if (messenger_busy(failed->comm->messenger))
		leave_messages(failed->comm);
	for (size_t i = 0; i < n; i++)
		if (run_is_active(runs[i]))
			run_fail(runs[i], st, text);
	if (runs[0]->state == RUN_WITHDRAW) { /* it reaches into peers' buffers, so it is no pair: n is 1 */
		go_on(runs, n, event_p);
		return CHOIR_SUCCESS;
	}
	finish(runs, n);
	return error_set(st, "%s", text);
}

/* --- by the states of the run --- */

static bool has_messages(const struct run *run)
{
	return run->plan != NULL && run->plan->messages;
}

/* A short message most likely comes through the arena: the transport is asked now and then. */
static bool asks_transport(struct run *const *runs, size_t n, int idle)
{
	return has_messages(runs[0]) && (idle % TRANSPORT_EVERY == TRANSPORT_EVERY - 1 ||
	                                 (runs[0]->bound.pair && runs[n - 1]->bound.in.bytes > ARENA_ITEM_BYTES));
}

/* One round; true if anything moved.  *left: how many have not ended.  *failed_p: the one that failed. */
static bool advance(struct run *const *runs, size_t n, int idle, size_t *left, struct run **failed_p)
{
	bool moved = false;

	*left = 0;
	for (size_t i = 0; i < n; i++) {
		if (runs[i]->state != RUN_ENDED)
			moved |= run_advance(runs[i]);
		if (runs[i]->status != CHOIR_SUCCESS)
			*failed_p = runs[i];
		*left += runs[i]->state != RUN_ENDED;
	}
	if (*left > 0 && asks_transport(runs, n, idle))
		moved |= messages_drive(runs[0]->comm, true);
	return moved;
}

/* True if the comm has failed, or another thread's call waits to be driven. */
static bool is_wanted_elsewhere(const struct choir_comm *comm)
{
	return comm_has_failed(comm) || atomic_load_explicit(&comm->submission.has_incoming, memory_order_relaxed);
}

/* Note [back-pressure].  A sender that finds no room in the ring of its peer and none in the transport could go on, and
 * would soon be thousands of messages ahead, which cost memory and the help of the background thread.  So its call
 * waits while the number of its messages in the transport falls.  If that number stays for more than a moment, the peer
 * is busy elsewhere: no call waits again before a message has left.  A peer that stays away is bounded by Note [room]
 * in net/sends.h.  Messages that arrive meanwhile, and sends of other threads, do not prolong the wait:
 * this thread may be the one that is to receive them.  True: messages are left. */
static bool sends_are_left(struct choir_comm *comm)
{
	bool *stuck = &comm->engine.sends_stuck;
	int rounds = wait_inline_rounds(WAIT_STATES, comm->crowded), least = messenger_in_flight(comm->messenger);

	for (int idle = 0; least > 0; idle++) {
		int n;

		(void)messages_drive(comm, true);
		n = messenger_in_flight(comm->messenger);
		if (n < least) {
			least = n;
			*stuck = false;
			idle = 0;
		} else if (*stuck || !wait_inline_goes_on(idle, rounds)) {
			*stuck = true;
			return true;
		}
		if (is_wanted_elsewhere(comm))
			return true;
		wait_spin();
	}
	*stuck = false;
	return false;
}

static choir_status advance_until_done(struct run *const *runs, size_t n, choir_event **event_p)
{
	struct choir_comm *comm = runs[0]->comm;
	int rounds = wait_inline_rounds(WAIT_STATES, comm->crowded);
	bool pair = runs[0]->bound.pair, sends;
	struct run *failed = NULL;
	size_t left = n;

	for (int idle = 0; left > 0 && failed == NULL && wait_inline_goes_on(idle, rounds); idle++) {
		if (advance(runs, n, idle, &left, &failed) || (!pair && run_block_on_device(runs[0])))
			idle = 0;
		else
			wait_inline(dev_is_cpu(comm->device) && run_waits_for_device(runs[0]));
		if (pair && comm_has_failed(comm))
			break;
	}
	if (failed != NULL)
		return fail(runs, n, failed, event_p);
	if (left > 0) {
		go_on(runs, n, event_p);
		return CHOIR_SUCCESS;
	}
	if (has_messages(runs[0]) && runs[0]->number % LISTEN_EVERY == 0)
		(void)messages_drive(comm, true); /* a rank that only sends must learn that its peer has gone */
	sends = has_messages(runs[0]) && messenger_busy(comm->messenger) && sends_are_left(comm);
	if (sends)
		comm_list_note_work(comm);
	finish(runs, n); /* from here on the runs are another thread's, which may destroy the comm */
	if (sends)
		(void)progress_kick(); /* for the messages that have not left yet */
	return CHOIR_SUCCESS;
}

/* A collective by messages, as where an algorithm between nodes was asked for by name on one node: where these do not
 * go through the arena, it waits for the transport for longer than this thread is to spin. */
static bool waits_for_transport(const struct run *run)
{
	const struct choir_comm *comm = run->comm;

	return has_messages(run) && !run->bound.pair &&
	       (messenger_polled(comm->messenger) || !arena_has_rings(comm->arena));
}

choir_status inline_execute(struct choir_comm *comm, struct prepared *prepared, size_t first, size_t n,
                            int64_t deadline_ms, const char *name, choir_event **event_p)
{
	struct run *runs[2];
	bool over;

	*event_p = NULL;
	for (size_t i = 0; i < n; i++) {
		choir_status st = take_run(comm, prepared, &prepared->parts[first + i], deadline_ms, name, &runs[i]);

		if (st != CHOIR_SUCCESS) {
			inline_leave(comm);
			return error_named(st, name);
		}
	}
	if (waits_for_transport(runs[0]) || !submit_number(runs, (int)n))
		return error_named(submit_instead(runs, n, event_p), name);
	over =
	    atomic_load_explicit(&comm->gone, memory_order_relaxed) == NULL; /* else by the states, which look at it */
	for (size_t i = 0; i < n && over; i++) {
		if (runs[i]->part->in_order == IN_ORDER)
			run_in_order(runs[i]);
		else if (runs[i]->part->in_order == IN_ORDER_SHADOWS)
			run_in_shadows(runs[i]);
		over = runs[i]->state == RUN_ENDED && runs[i]->status == CHOIR_SUCCESS;
	}
	if (!over)
		return error_named(advance_until_done(runs, n, event_p), name);
	finish(runs, n);
	return CHOIR_SUCCESS;
}
