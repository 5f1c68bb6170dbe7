/* SPDX-License-Identifier: MIT */
/* Design notes.  The engine holds one reference to an event until it has completed it, the caller holds the others.
 * `complete` is the only thing that other threads read without the lock; everything it guards is written
 * before it.  Callbacks are taken off the list under the lock and run without it, so a callback may call anything that
 * does not block. */
#include "exec/event.h"

#include "base/fork.h"
#include "exec/comm.h"
#include "exec/commit.h"
#include "exec/executor.h"
#include "exec/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

choir_status event_create(struct choir_comm *comm, choir_event **out_p)
{
	choir_event *event = calloc(1, sizeof *event);

	if (event == NULL)
		return error_no_memory("an event", sizeof *event);
	if (pthread_mutex_init(&event->lock, NULL) != 0) {
		free(event);
		return error_set(CHOIR_NO_MEMORY, "no mutex for an event");
	}
	atomic_init(&event->refs, 1);
	event->runs_left = 1;
	event->algorithm = "";
	event->comm = comm_retain(comm);
	*out_p = event;
	return CHOIR_SUCCESS;
}

void event_set_name(choir_event *event, const char *name)
{
	size_t bytes = strnlen(name, CALL_NAME_BYTES - 1);

	memcpy(event->name, name, bytes);
	event->name[bytes] = '\0';
}

void event_say_name(const choir_event *event, char *text, size_t bytes)
{
	if (event->name[0] != '\0')
		snprintf(text, bytes, "'%s'", event->name);
	else
		snprintf(text, bytes, "the event");
}

/* On a thread of the caller's, which may block. */
static void run_as_work(void *arg)
{
	struct event_callback *callback = arg;
	uint64_t thread = thread_enter_work();

	callback->fn(callback->ctx, callback->status);
	thread_leave_work(thread);
	free(callback);
}

static void run_callback(struct event_callback *callback, choir_status status)
{
	callback->status = status;
	if (!callback->ours && executor_take(run_as_work, callback))
		return;
	callback_enter();
	callback->fn(callback->ctx, status);
	callback_leave();
	free(callback);
}

static void set_failure(choir_event *event, choir_status status, const char *text)
{
	char named[ERROR_TEXT_BYTES];

	event->status = status;
	if (text != NULL && text[0] != '\0') /* without memory the status stands alone */
		event->error = strdup(error_text_named(text, event->name, named));
}

/* The first failure is the outcome.  True once no run is left. */
static bool take_outcome(choir_event *event, choir_status status, const char *text)
{
	if (event->status == CHOIR_SUCCESS && status != CHOIR_SUCCESS)
		set_failure(event, status, text);
	return --event->runs_left == 0;
}

/* All runs have ended: RECV is written, or left as it is, before anybody sees that the call is over. */
static void end_commit(choir_event *event)
{
	choir_status st = event->status == CHOIR_SUCCESS ? commit_write(event->commit) : CHOIR_SUCCESS;

	if (st != CHOIR_SUCCESS)
		set_failure(event, st, error_text());
	commit_give(event->commit);
	event->commit = NULL;
}

void event_complete(choir_event *event, choir_status status, const char *text)
{
	struct event_callback *list, *next;

	pthread_mutex_lock(&event->lock);
	if (!take_outcome(event, status, text)) {
		pthread_mutex_unlock(&event->lock);
		return;
	}
	if (event->commit != NULL) {
		pthread_mutex_unlock(&event->lock);
		end_commit(event);
		pthread_mutex_lock(&event->lock);
	}
	atomic_store_explicit(&event->complete, true, memory_order_release);
	list = event->callbacks;
	event->callbacks = NULL;
	pthread_mutex_unlock(&event->lock);
	for (; list != NULL; list = next) {
		next = list->next;
		run_callback(list, event->status);
	}
}

choir_event *choir_event_retain(choir_event *event)
{
	if (event != NULL)
		atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
	return event;
}

void choir_event_release(choir_event *event)
{
	if (event == NULL || atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (event->comm->generation != fork_generation())
		return; /* a forked child: the comm behind it is the parent's to close */
	if (event->free_result != NULL)
		event->free_result(event->result);
	commit_give(event->commit);
	comm_release(event->comm);
	pthread_mutex_destroy(&event->lock);
	free(event->error);
	free(event);
}

const char *choir_event_error(choir_event *event)
{
	if (event == NULL || !event_is_complete(event))
		return "";
	return event->error != NULL             ? event->error
	       : event->status != CHOIR_SUCCESS ? choir_status_name(event->status)
	                                        : "";
}

choir_status event_check(const char *call, const choir_event *event)
{
	if (event->comm->generation != fork_generation())
		return error_set(CHOIR_ARGUMENT, "%s: the event belongs to the process before fork", call);
	return CHOIR_SUCCESS;
}

choir_status event_add_callback(choir_event *event, choir_event_fn fn, void *ctx, bool ours)
{
	struct event_callback *callback = malloc(sizeof *callback);

	if (callback == NULL)
		return error_no_memory("a callback", sizeof *callback);
	*callback = (struct event_callback){ .fn = fn, .ctx = ctx, .ours = ours };
	pthread_mutex_lock(&event->lock);
	if (!event_is_complete(event)) {
		callback->next = event->callbacks;
		event->callbacks = callback;
		pthread_mutex_unlock(&event->lock);
		return CHOIR_SUCCESS;
	}
	pthread_mutex_unlock(&event->lock);
	run_callback(callback, event->status);
	return CHOIR_SUCCESS;
}

struct joined {
	choir_event *into, *from; /* references */
};

static void complete_joined(void *ctx, choir_status status)
{
	struct joined *joined = ctx;

	event_complete(joined->into, status, choir_event_error(joined->from));
	choir_event_release(joined->into);
	choir_event_release(joined->from);
	free(joined);
}

choir_status event_join(choir_event *into, choir_event *from)
{
	struct joined *joined = malloc(sizeof *joined);
	choir_status st;

	if (joined == NULL)
		return error_no_memory("an event", sizeof *joined);
	*joined = (struct joined){ choir_event_retain(into), choir_event_retain(from) };
	st = event_add_callback(from, complete_joined, joined, true);
	if (st == CHOIR_SUCCESS)
		return st;
	choir_event_release(into);
	choir_event_release(from);
	free(joined);
	return st;
}
