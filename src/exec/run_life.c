/* SPDX-License-Identifier: MIT */
/* Making and discarding runs, and what they hold on to meanwhile: deps, the caller's cl_mems, the plan. */
#include "exec/prepared.h"

#include "exec/steps.h"

#include <stdlib.h>
#include <string.h>

/* A run is worth keeping for itself: many that are made and freed in turn cost more than their calls.  Few keep what
 * they allocated. */
enum { POOLED_RUNS = 64, BARE_RUNS = 16384, POOLED_SCRATCH_BYTES = 8 << 20 };

/* Zeroes all but the memory that the next call can use. */
static void wipe(struct run *run)
{
	struct step_board board = run->board;
	struct dev_memory host_scratch = run->host_scratch;
	struct device_memory device_memory = run->device_memory;
	struct run_peer *peers = run->peers;

	memset(run, 0, sizeof *run);
	run->board = board;
	run->host_scratch = host_scratch;
	run->device_memory = device_memory;
	run->peers = peers;
}

/* Under submission.lock. */
static struct run *take_kept(struct run_pool *pool)
{
	struct run *run = pool->first;

	if (run == NULL)
		return NULL;
	pool->first = run->next;
	pool->n--;
	run_prefetch(pool->first);
	return run;
}

/* False: the pool has no room. */
static bool keep_in(struct run_pool *pool, int most, struct run *run)
{
	struct choir_comm *comm = run->comm;
	bool room;

	pthread_mutex_lock(&comm->submission.lock);
	room = !comm->engine.closed && pool->n < most;
	if (room) {
		run->next = pool->first;
		pool->first = run;
		pool->n++;
	}
	pthread_mutex_unlock(&comm->submission.lock);
	return room;
}

choir_status run_create(struct choir_comm *comm, struct run **out_p)
{
	struct run *run;

	pthread_mutex_lock(&comm->submission.lock);
	run = take_kept(&comm->submission.pool);
	if (run == NULL)
		run = take_kept(&comm->submission.bare);
	pthread_mutex_unlock(&comm->submission.lock);
	if (run != NULL)
		wipe(run);
	else if ((run = calloc(1, sizeof *run)) == NULL)
		return error_no_memory("a call", sizeof *run);
	run->comm = comm;
	run->watch.deadline_ms = comm->deadline_ms;
	run->bound.factor = 1;
	choir_status st = event_create(comm, &run->event);
	if (st != CHOIR_SUCCESS) {
		steps_free(run);
		free(run);
		return st;
	}
	run->event->run = run;
	*out_p = run;
	return CHOIR_SUCCESS;
}

choir_status run_keep(struct run *run, choir_buffer buffer)
{
	cl_mem kept = NULL;

	if (run->n_kept == RUN_KEPT)
		return error_set(CHOIR_UNSUPPORTED, "%s: a call keeps %d buffers at most", run_name(run), RUN_KEPT);
	TRY(dev_keep(buffer, &kept));
	if (kept != NULL)
		run->kept[run->n_kept++] = kept;
	return CHOIR_SUCCESS;
}

void run_set_name(struct run *run, const char *name, const char *function)
{
	bool named = name != NULL && name != function && name[0] != '\0';

	if (named || run->named)
		event_set_name(run->event, named ? name : "");
	run->named = named;
	run->function = function;
}

static choir_status take_key(struct run *run, const char *key)
{
	if (run->comm->keyed == NULL || run->bound.pair)
		return error_set(CHOIR_ARGUMENT, "%s: %s: the call has the key '%s', but %s", run->comm->name,
		                 run_name(run), key,
		                 run->bound.pair ? "sends and receives match by their order"
		                                 : "the comm is not keyed (choir_comm_config.keyed)");
	run->match_key = strdup(key);
	return run->match_key != NULL ? CHOIR_SUCCESS : error_no_memory("a key", strlen(key) + 1);
}

choir_status run_set_call(struct run *run, const choir_call *call, const char *function)
{
	run_set_name(run, call->name, function);
	if (call->deadline_ms > 0)
		run->watch.deadline_ms = call->deadline_ms;
	if (call->key != NULL)
		TRY(take_key(run, call->key));
	return deps_take(run, call);
}

void run_share_event(struct run *first, struct run *second)
{
	choir_event_release(second->event);
	second->event = choir_event_retain(first->event);
	second->event->runs_left++;
}

static void release_kept(struct run *run)
{
	for (size_t i = 0; i < run->n_kept; i++)
		clReleaseMemObject(run->kept[i]);
	deps_release(&run->deps);
}

void run_end_script(struct run *run, bool drives)
{
	struct run_script *script = &run->script;

	if (script->ops == NULL)
		return;
	if (script->ended != NULL)
		script->ended(run, drives);
	script->ops->destroy(script->state);
	script->ops = NULL;
	script->state = NULL;
	script->ended = NULL;
	run->plan_index = 0;
}

static bool has_little_memory(const struct run *run)
{
	return run->host_scratch.bytes <= POOLED_SCRATCH_BYTES &&
	       run->device_memory.scratch.bytes <= POOLED_SCRATCH_BYTES &&
	       run->device_memory.list.bytes <= POOLED_SCRATCH_BYTES &&
	       run->device_memory.sent.bytes <= POOLED_SCRATCH_BYTES;
}

void run_drop_script(struct run *run)
{
	if (!run_is_script(run))
		return;
	run->script.ops->destroy(run->script.state);
	run->script.ops = NULL;
	run->script.state = NULL;
}

void run_discard(struct run *run)
{
	struct choir_comm *comm = run->comm;
	choir_event *event = run->event;

	run_drop_script(run);
	free(run->text);
	free(run->match_key);
	release_kept(run);
	prepared_unbind(run);
	segments_release(run->list_owner);
	if (!has_little_memory(run) || !keep_in(&comm->submission.pool, POOLED_RUNS, run)) {
		steps_free(run);
		if (!keep_in(&comm->submission.bare, BARE_RUNS, run))
			free(run);
	}
	choir_event_release(event); /* last: it may hold the last reference to the comm */
}
