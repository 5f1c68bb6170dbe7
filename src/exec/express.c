/* SPDX-License-Identifier: MIT */
/* Design notes.  The thread holds the engine's drive lock from the first check to the last step, so a call of some bytes costs it three locked instructions, all of
 * them before anything is published: one behind a store to a line that a peer holds would wait for that store.  The run belongs to the comm, and keeps its event and
 * its plan from call to call.  The state machine is that of all runs. */
#include "exec/express.h"

#include "exec/device_wait.h"
#include "exec/engine.h"
#include "exec/progress.h"
#include "exec/relax.h"
#include "exec/withdraw.h"

#include <sched.h>
#include <string.h>

enum { WAIT_ROUNDS = 2000, MAIL_ROUNDS = 8 }; /* some 50 us */

enum express_kind express_kind_of(enum collective collective)
{
	return collective == COLLECTIVE_SEND ? EXPRESS_SEND : collective == COLLECTIVE_RECV ? EXPRESS_RECV : EXPRESS_COLLECTIVE;
}

static enum express_kind kind_of(const struct run *run)
{
	return !run->bound.pair ? EXPRESS_COLLECTIVE : run->bound.pair_sends ? EXPRESS_SEND : EXPRESS_RECV;
}

/* The comm's run of that kind; made when first needed. */
static struct run *take(struct choir_comm *comm, enum express_kind kind)
{
	struct engine *engine = &comm->engine;
	struct run *run = engine->express;

	while (run != NULL && kind_of(run) != kind)
		run = run->next;
	if (run == NULL) {
		if (run_create(comm, &run) != CHOIR_SUCCESS)
			return NULL;
		run->bound.pair = kind != EXPRESS_COLLECTIVE;
		run->bound.pair_sends = kind == EXPRESS_SEND;
		run->next = engine->express;
		engine->express = run;
	}
	run->deadline_ms = comm->deadline_ms;
	run->on_the_spot = !run->bound.pair;
	memset(&run->bound.record, 0, sizeof run->bound.record);
	run->bound.record_hash = 0;
	run->bound.send_place = run->bound.recv_place = 0;
	engine->repeats[kind].run = NULL;
	return run;
}

bool express_lock(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;

	if (atomic_load_explicit(&engine->unfinished, memory_order_relaxed) != 0 || !engine_enter(engine))
		return false;
	if (!engine->closed && engine->active == NULL && !atomic_load_explicit(&engine->has_incoming, memory_order_relaxed))
		return true;
	engine_leave(engine);
	return false;
}

bool express_begin(struct choir_comm *comm, const enum express_kind *kinds, int n, struct run **runs)
{
	struct engine *engine = &comm->engine;
	bool ok = true;

	if (!express_lock(comm))
		return false;
	for (int i = 0; i < n && ok; i++) {
		runs[i] = take(comm, kinds[i]);
		ok = runs[i] != NULL;
	}
	if (!ok)
		engine_leave(engine);
	return ok;
}

/* Of a run that became a script. */
static void drop_script(struct run *run)
{
	if (run->ended != NULL)
		run->ended(run);
	run->script->destroy(run->script_state);
	run->script = NULL;
	run->script_state = NULL;
	run->ended = NULL;
	run->plan = NULL; /* it was the script's */
}

/* Ready for the next call: the plan stays. */
static void clean(struct run *run)
{
	if (run->script != NULL)
		drop_script(run);
	run->state = RUN_DEPS;
	run->disagrees = false;
	run_drop_lists(run);
	run->met_node = run->unsaid = run->warned = run->only_mine = false;
	run->bound.send_in_recv = run->bound.recv_in_send = false;
	run->bound.inner_off = 0;
	run->plan_index = 0;
	run->started_ns = run->submitted_ns = run->ask_ms = 0;
	if (run->bound.pair) {
		run->key = UINT64_MAX; /* no message's: p2p.c looks at idle runs too */
		atomic_store_explicit(&run->event->wire_bytes, 0, memory_order_relaxed);
	}
	if (run->status == CHOIR_SUCCESS)
		return;
	run->status = CHOIR_SUCCESS;
	run->text[0] = '\0';
}

void express_drop(struct run *const *runs, int n)
{
	struct engine *engine = &runs[0]->comm->engine;

	for (int i = 0; i < n; i++)
		clean(runs[i]);
	engine_leave(engine);
}

static void unlist(struct engine *engine, struct run *run)
{
	struct run **at = &engine->express;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	run->next = NULL;
	run->on_the_spot = false;
	engine->repeats[kind_of(run)].run = NULL;
}

/* From here on they are runs like any others; two of them have one event. */
static choir_event *make_ordinary(struct run *const *runs, int n)
{
	for (int i = 0; i < n; i++) {
		unlist(&runs[i]->comm->engine, runs[i]);
		runs[i]->event->deadline_ms = runs[i]->deadline_ms;
	}
	if (n == 2)
		run_join(runs[0], runs[1]);
	return choir_event_retain(runs[0]->event);
}

static choir_status submit(struct run *const *runs, int n, choir_event **event_p)
{
	struct choir_comm *comm = runs[0]->comm;
	choir_event *event = make_ordinary(runs, n);
	choir_status st = CHOIR_SUCCESS;

	engine_leave(&comm->engine);
	for (int i = 0; i < n; i++) {
		choir_status one = engine_submit(runs[i]);

		st = st == CHOIR_SUCCESS ? one : st;
	}
	if (st == CHOIR_SUCCESS)
		*event_p = event;
	else
		choir_event_release(event);
	return st;
}

/* They have their numbers; those that have ended are left out. */
static void go_on(struct run *const *runs, int n, choir_event **event_p)
{
	struct engine *engine = &runs[0]->comm->engine;
	struct run *left[2] = { NULL };
	int n_left = 0;

	for (int i = 0; i < n; i++) {
		if (runs[i]->state == RUN_ENDED)
			clean(runs[i]);
		else
			left[n_left++] = runs[i];
	}
	*event_p = make_ordinary(left, n_left);
	atomic_fetch_add_explicit(&engine->unfinished, n_left, memory_order_relaxed);
	for (int i = 0; i < n_left; i++)
		engine_take(engine, left[i]);
	engine_leave(engine);
}

/* Over: what failed one of them fails the comm, as for all runs, and with it the other.  *event_p is set if peers may still be in the caller's buffers. */
static choir_status fail(struct run *const *runs, int n, const struct run *failed, choir_event **event_p)
{
	choir_status st = failed->status;
	char text[ERROR_TEXT_BYTES];

	memcpy(text, failed->text, sizeof text);
	if (!failed->only_mine) {
		comm_fail(failed->comm, st, text);
		if (withdraw(failed->comm, progress_now_ns()))
			comm_ring_node(failed->comm);
	}
	for (int i = 0; i < n; i++)
		if (runs[i]->state < RUN_FAILED)
			run_fail(runs[i], st, text);
	if (runs[0]->state == RUN_FAILED) { /* it reaches into peers' buffers, so it is no pair: n is 1 */
		go_on(runs, n, event_p);
		return CHOIR_SUCCESS;
	}
	express_drop(runs, n);
	return error_set(st, "%s", text);
}

/* What is short most likely comes through the arena (exec/p2p.h): the transport is asked now and then. */
static bool asks_transport(struct run *const *runs, int n, int idle)
{
	return runs[0]->bound.pair && (idle % MAIL_ROUNDS == MAIL_ROUNDS - 1 || runs[n - 1]->bound.in.bytes > ARENA_ITEM_BYTES);
}

/* One round; true if anything moved.  *left: how many have not ended.  *failed_p: the one that failed. */
static bool advance(struct run *const *runs, int n, int idle, int *left, const struct run **failed_p)
{
	bool moved = false;

	*left = 0;
	for (int i = 0; i < n; i++) {
		if (runs[i]->state != RUN_ENDED)
			moved |= run_advance(runs[i]);
		if (runs[i]->status != CHOIR_SUCCESS)
			*failed_p = runs[i];
		*left += runs[i]->state != RUN_ENDED;
	}
	if (*left > 0 && asks_transport(runs, n, idle))
		moved |= engine_messages(runs[0]->comm);
	return moved;
}

choir_status express_end(struct run *const *runs, int n, choir_event **event_p)
{
	*event_p = NULL;
	if ((runs[0]->plan->messages && !runs[0]->bound.pair) || !engine_number(runs, n))
		return submit(runs, n, event_p);
	return express_carry_out(runs, n, event_p);
}

choir_status express_carry_out(struct run *const *runs, int n, choir_event **event_p)
{
	struct choir_comm *comm = runs[0]->comm;
	int rounds = comm->crowded ? 1 : WAIT_ROUNDS, left = n;
	bool pair = runs[0]->bound.pair; /* once the lock is given back the runs are another thread's */
	const struct run *failed = NULL;

	for (int idle = 0; left > 0 && failed == NULL && idle < rounds; idle++) {
		if (advance(runs, n, idle, &left, &failed) || (!pair && device_block(runs[0])))
			idle = 0;
		else if (device_shares_core(comm) && device_busy(runs[0]))
			sched_yield();
		else
			relax();
		if (pair && atomic_load_explicit(&comm->failed, memory_order_relaxed) != CHOIR_SUCCESS)
			break;
	}
	if (failed != NULL)
		return fail(runs, n, failed, event_p);
	if (left > 0) {
		go_on(runs, n, event_p);
		return CHOIR_SUCCESS;
	}
	express_drop(runs, n);
	if (pair && pump_busy(comm->pump))
		(void)progress_kick(); /* the rest of what was sent */
	return CHOIR_SUCCESS;
}
