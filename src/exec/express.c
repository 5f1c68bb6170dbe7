/* SPDX-License-Identifier: MIT */
/* Design notes.  The thread holds the engine's drive lock from the first check to the last step, so a call of some bytes costs it four locked instructions, all of
 * them before anything is published: one behind a store to a line that a peer holds would wait for that store.  The run belongs to the comm, and keeps its event and
 * its plan from call to call.  The state machine is that of all runs. */
#include "exec/express.h"

#include "exec/device_wait.h"
#include "exec/engine.h"
#include "exec/progress.h"
#include "exec/relax.h"

#include <sched.h>
#include <string.h>

enum { WAIT_ROUNDS = 2000 }; /* some 50 us */

struct run *express_begin(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;
	struct run *run;

	if (atomic_load_explicit(&engine->unfinished, memory_order_relaxed) != 0 || pthread_mutex_trylock(&engine->drive) != 0)
		return NULL;
	if (engine->closed || engine->active != NULL || atomic_load_explicit(&engine->has_incoming, memory_order_relaxed) ||
	    (engine->express == NULL && run_create(comm, &engine->express) != CHOIR_SUCCESS)) {
		pthread_mutex_unlock(&engine->drive);
		return NULL;
	}
	run = engine->express;
	run->on_the_spot = true;
	run->deadline_ms = comm->deadline_ms;
	return run;
}

/* Ready for the next call: the plan stays. */
static void clean(struct run *run)
{
	run->state = RUN_DEPS;
	run_drop_lists(run);
	run->met_node = run->warned = run->only_mine = false;
	run->send_in_recv = run->recv_in_send = false;
	run->inner_off = 0;
	run->plan_index = 0;
	run->started_ns = run->submitted_ns = run->ask_ms = 0;
	run->send_place = run->recv_place = 0;
	memset(&run->record, 0, sizeof run->record);
	if (run->status == CHOIR_SUCCESS)
		return;
	run->status = CHOIR_SUCCESS;
	run->text[0] = '\0';
}

void express_drop(struct run *run)
{
	struct engine *engine = &run->comm->engine;

	clean(run);
	pthread_mutex_unlock(&engine->drive);
}

/* From here on it is a run like any other. */
static choir_status hand_over(struct run *run, bool numbered, choir_event **event_p)
{
	struct choir_comm *comm = run->comm;
	struct engine *engine = &comm->engine;

	engine->express = NULL;
	run->on_the_spot = false;
	*event_p = choir_event_retain(run->event);
	run->event->deadline_ms = run->deadline_ms;
	if (numbered) {
		atomic_fetch_add_explicit(&engine->unfinished, 1, memory_order_relaxed);
		run->next = engine->active; /* of others there were none, and none came in without this lock */
		engine->active = run;
		pthread_mutex_unlock(&engine->drive);
		return CHOIR_SUCCESS;
	}
	pthread_mutex_unlock(&engine->drive);
	choir_status st = engine_submit(run);

	if (st != CHOIR_SUCCESS) {
		choir_event_release(*event_p);
		*event_p = NULL;
	}
	return st;
}

/* Over: what failed it fails the comm, as for all runs. */
static choir_status finish(struct run *run)
{
	struct choir_comm *comm = run->comm;
	choir_status st = run->status;

	if (st == CHOIR_SUCCESS) {
		express_drop(run);
		return st;
	}
	if (!run->only_mine)
		comm_fail(comm, st, run->text);
	error_set(st, "%s", run->text);
	express_drop(run);
	return st;
}

choir_status express_end(struct run *run, choir_event **event_p)
{
	struct choir_comm *comm = run->comm;
	int rounds = comm->crowded ? 1 : WAIT_ROUNDS;

	*event_p = NULL;
	if (run->plan->messages || !engine_number(run))
		return hand_over(run, false, event_p);
	for (int idle = 0; run->state != RUN_ENDED && idle < rounds; idle++) {
		if (run_advance(run) || device_block(run))
			idle = 0;
		else if (device_shares_core(comm) && device_busy(run))
			sched_yield();
		else
			relax();
	}
	return run->state == RUN_ENDED ? finish(run) : hand_over(run, true, event_p);
}
