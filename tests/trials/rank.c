/* SPDX-License-Identifier: MIT */
/* One rank of a trial.  The victim's comm is aborted or destroyed by another thread than the one that calls. */
#include "exec/comm.h"
#include "lib/ranks.h"
#include "trials/trials.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Where the calling thread is.  Once it is GONE it touches neither the comm nor its buffers again. */
enum { BETWEEN, IN_CALL, GONE, DONE };

struct caller {
	const struct trial *trial;
	struct table *table;
	int rank;
	choir_comm *comm;
	struct call_state *state;
	_Atomic int where;
};

static void nap(int64_t ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Waits until the call may go: it is under way, if the trial says so, or no more will be made. */
static void wait_for_caller(struct caller *caller)
{
	int in_call = IN_CALL;

	while (atomic_load(&caller->where) != DONE) {
		if (caller->trial->in_call && atomic_compare_exchange_strong(&caller->where, &in_call, GONE))
			return;
		in_call = IN_CALL;
		sched_yield();
	}
}

static void *end_when_told(void *arg)
{
	struct caller *caller = arg;
	bool destroys = caller->trial->ending == ENDS_DESTROYED;

	while (!atomic_load(&caller->table->end_now))
		sched_yield();
	if (destroys)
		wait_for_caller(caller);
	atomic_store(&caller->table->ended_ms, rank_now_ms());
	if (destroys)
		choir_comm_destroy(caller->comm);
	else
		choir_comm_abort(caller->comm);
	return NULL;
}

/* All ranks make the same number of calls: the first so many behind the slow rank's pause. */
static bool has_another_call(struct caller *caller, int call)
{
	struct table *table = caller->table;

	atomic_store(&table->calls[caller->rank], call + 1);
	if (!atomic_load(&table->closing))
		return true;
	while (atomic_load(&table->n_calls) == 0)
		sched_yield();
	return call < atomic_load(&table->n_calls);
}

/* Between two calls: is it the victim's time to go?  A slow thread goes on after a while. */
static bool leaves(struct caller *caller)
{
	const struct trial *t = caller->trial;
	struct table *table = caller->table;

	if (caller->rank != t->victim || !atomic_load(&table->end_now))
		return false;
	if (t->ending == ENDS_SLOW && !atomic_load(&table->slept)) {
		nap(SLOW_MS);
		atomic_store(&table->slept, true);
	}
	return t->ending == ENDS_DESTROYED && !t->in_call;
}

/* False: it failed, or the comm was destroyed meanwhile. */
static bool make_one(struct caller *caller, int call, struct outcome *outcome)
{
	int in_call = IN_CALL;
	int64_t start;

	call_prepare(caller->state, call);
	start = rank_now_ms();
	atomic_store(&caller->where, IN_CALL);
	outcome->status = call_make(caller->state);
	outcome->ended_ms = rank_now_ms();
	outcome->ms = outcome->ended_ms - start;
	outcome->longest_ms = outcome->ms > outcome->longest_ms ? outcome->ms : outcome->longest_ms;
	if (outcome->status != CHOIR_SUCCESS)
		snprintf(outcome->text, sizeof outcome->text, "%s", call_error(caller->state));
	if (!atomic_compare_exchange_strong(&caller->where, &in_call, BETWEEN) || outcome->status != CHOIR_SUCCESS)
		return false;
	outcome->wrong_data |= !call_is_right(caller->state);
	return true;
}

static void call_until_it_fails(struct caller *caller, struct outcome *outcome)
{
	for (int i = 0; !leaves(caller) && has_another_call(caller, i); i++)
		if (!make_one(caller, i, outcome))
			break;
}

static void run_caller(struct caller *caller, struct outcome *outcome)
{
	const struct trial *t = caller->trial;
	bool ends = caller->rank == t->victim && (t->ending == ENDS_ABORTED || t->ending == ENDS_DESTROYED);
	pthread_t thread;

	if (ends && pthread_create(&thread, NULL, end_when_told, caller) != 0) {
		outcome->status = CHOIR_NO_MEMORY;
		return;
	}
	comm_retain(
	    caller->comm); /* the call that is destroyed may only be about to enter: then ABORTED is its answer */
	call_until_it_fails(caller, outcome);
	call_end(caller->state);
	atomic_store(&caller->where, DONE);
	if (ends)
		pthread_join(thread, NULL);
	if (ends && t->ending == ENDS_DESTROYED)
		outcome->ended_ms = rank_now_ms();
	comm_release(caller->comm);
}

void rank_main(const struct trial *t, struct table *table, int rank, choir_comm *comm)
{
	struct outcome *outcome = &table->outcomes[rank];
	struct caller caller = { .trial = t, .table = table, .rank = rank, .comm = comm };

	caller.state = call_begin(t, rank, comm);
	if (caller.state == NULL) {
		outcome->status = CHOIR_NO_MEMORY;
		snprintf(outcome->text, sizeof outcome->text, "no buffers: %.500s", choir_last_error());
	} else {
		run_caller(&caller, outcome);
	}
	atomic_store(&outcome->returned, true);
}
