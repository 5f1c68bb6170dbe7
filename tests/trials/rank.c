/* SPDX-License-Identifier: MIT */
/* One rank of a trial. */
#include "lib/ranks.h"
#include "trials/trials.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void nap(int64_t ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

struct aborter {
	struct table *table;
	choir_comm *comm;
	pthread_t thread;
};

/* Another thread than the one in the call. */
static void *abort_when_told(void *arg)
{
	struct aborter *a = arg;

	while (!atomic_load(&a->table->end_now))
		sched_yield();
	choir_comm_abort(a->comm);
	return NULL;
}

static int calls_to_make(const struct trial *t)
{
	return t->ending == ENDS_SLOW ? t->after_calls + CALLS_OF_SLOW : INT32_MAX;
}

/* Between two calls: is it the victim's time to go?  A slow one goes on after a while. */
static bool leaves(const struct trial *t, struct table *table, int rank, bool *slept)
{
	if (rank != t->victim || !atomic_load(&table->end_now))
		return false;
	if (t->ending == ENDS_SLOW && !*slept) {
		*slept = true;
		nap(SLOW_MS);
	}
	return t->ending == ENDS_DESTROYED;
}

static void call_until_it_fails(const struct trial *t, struct table *table, int rank, struct call_state *state)
{
	struct outcome *outcome = &table->outcomes[rank];
	bool slept = false;

	for (int i = 0; i < calls_to_make(t) && !leaves(t, table, rank, &slept); i++) {
		int64_t start = rank_now_ms();

		atomic_fetch_add(&table->calls[rank], 1);
		outcome->status = call_make(state, i);
		outcome->ms = rank_now_ms() - start;
		if (outcome->status != CHOIR_SUCCESS) {
			snprintf(outcome->text, sizeof outcome->text, "%s", call_error(state));
			return;
		}
		outcome->wrong_data |= !call_is_right(state);
	}
}

void rank_main(const struct trial *t, struct table *table, int rank, choir_comm *comm)
{
	struct outcome *outcome = &table->outcomes[rank];
	struct call_state *state = call_begin(t, rank, comm);
	struct aborter aborter = { .table = table, .comm = comm };
	bool aborts = t->ending == ENDS_ABORTED && rank == t->victim;

	if (state == NULL) {
		outcome->status = CHOIR_NO_MEMORY;
		snprintf(outcome->text, sizeof outcome->text, "no buffers: %.500s", choir_last_error());
		atomic_store(&outcome->returned, true);
		return;
	}
	if (aborts && pthread_create(&aborter.thread, NULL, abort_when_told, &aborter) != 0)
		aborts = false;
	call_until_it_fails(t, table, rank, state);
	call_end(state);
	if (aborts)
		pthread_join(aborter.thread, NULL);
	if (t->ending == ENDS_DESTROYED && rank == t->victim)
		choir_comm_destroy(comm);
	atomic_store(&outcome->returned, true);
}
