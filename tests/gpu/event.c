/* SPDX-License-Identifier: MIT */
/* Events: what the device knows (ended) and what the host sees (status), later; callbacks on a thread of their own.
 * A thread of its own shows ends late and looks for commands that others wait for and nobody flushed. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAGIC 0x6d6f64656c657674u
#define DEAD  0x6d6f64656c656e64u
enum { KEPT = 1024 }; /* dead events are kept for so long, so that the use of one is found */

static pthread_cond_t shown, to_call, to_show;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct callback *calls, **calls_end = &calls;
static struct event *late;
static struct event *kept[KEPT];
static unsigned kept_next;
static _Thread_local bool in_callback;
static bool started;

static void init(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&shown, &attributes);
	pthread_cond_init(&to_call, &attributes);
	pthread_cond_init(&to_show, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct event *event_of(cl_event handle)
{
	struct event *event = (struct event *)handle;

	if (event == NULL)
		return NULL;
	if (event->magic == DEAD)
		report("freed", "an event is used after its last release");
	return event->magic == MAGIC ? event : NULL;
}

struct event *event_create(struct context *context, struct queue *queue, cl_command_type type)
{
	struct event *event = calloc(1, sizeof *event);

	if (event == NULL)
		return NULL;
	pthread_once(&once, init);
	event->magic = MAGIC;
	event->refs = 1;
	event->context = context;
	event->queue = queue;
	event->type = type;
	event->status = queue != NULL ? CL_QUEUED : CL_SUBMITTED;
	if (queue != NULL)
		queue->uses++;
	return event;
}

void event_retain(struct event *event)
{
	event->refs++;
}

void event_unref(struct event *event)
{
	if (--event->refs > 0)
		return;
	event->magic = DEAD;
	if (event->queue != NULL)
		queue_unuse(event->queue);
	free(kept[kept_next % KEPT]);
	kept[kept_next++ % KEPT] = event;
}

struct ends ends;

/* The host sees the end. */
void event_show(struct event *event)
{
	struct callback *callback = event->callbacks;

	ends.n++;
	ends.last_ns = now_ns();
	event->status = event->result;
	event->callbacks = NULL;
	if (event->queue != NULL && event->queue->last == event) {
		event->queue->last = NULL;
		event_unref(event); /* not the last one: the caller has another */
	}
	while (callback != NULL) {
		struct callback *next = callback->next;

		callback->next = NULL;
		*calls_end = callback;
		calls_end = &callback->next;
		callback = next;
	}
	if (calls != NULL)
		pthread_cond_signal(&to_call);
	pthread_cond_broadcast(&shown);
}

void event_end(struct event *event, cl_int result, int64_t end_ns)
{
	event->ended = true;
	event->result = result;
	event->end_ns = end_ns;
	event->times[3] = (cl_ulong)end_ns;
	if (options.late_us <= 0 || event->queue == NULL) {
		event_show(event);
		return;
	}
	event->show_ns = now_ns() + (int64_t)(draw() % (uint64_t)(options.late_us * 1000 + 1));
	event_retain(event);
	event->next_late = late;
	late = event;
	pthread_cond_signal(&to_show);
}

static void *call_back(void *arg)
{
	(void)arg;
	(void)callback_enter();
	pthread_mutex_lock(&model_lock);
	for (;;) {
		struct callback *callback = calls;

		if (callback == NULL) {
			pthread_cond_wait(&to_call, &model_lock);
			continue;
		}
		calls = callback->next;
		if (calls == NULL)
			calls_end = &calls;
		clock_join(&host_clock, &callback->event->clock);
		cl_int status = callback->event->status;
		pthread_mutex_unlock(&model_lock);
		callback->fn((cl_event)callback->event, status, callback->arg);
		pthread_mutex_lock(&model_lock);
		event_unref(callback->event);
		free(callback);
	}
	return NULL;
}

/* Is somebody waiting for an event whose command was not flushed for long? */
static bool is_awaited(const struct command *command)
{
	if (command->event->callbacks != NULL || command->event->polls > 0)
		return true;
	for (const struct queue *queue = queues; queue != NULL; queue = queue->next)
		for (cl_uint i = 0; queue->head != NULL && queue->head->flushed && i < queue->head->n_deps; i++)
			if (queue->head->deps[i] == command->event)
				return true;
	return false;
}

static void look_for_unflushed(void)
{
	int64_t limit = now_ns() - (int64_t)(options.unflushed_ms * 1e6);

	for (const struct queue *queue = queues; queue != NULL; queue = queue->next)
		for (struct command *c = queue->head; c != NULL; c = c->next)
			if (!c->flushed && c->enqueued_ns < limit && !c->event->reported_unflushed && is_awaited(c)) {
				c->event->reported_unflushed = true;
				report("unflushed", "a %s is waited for, and was not flushed for %.0f ms", c->what,
				       options.unflushed_ms);
			}
}

static void *show_late(void *arg)
{
	int64_t look_ns = 0;

	(void)arg;
	pthread_mutex_lock(&model_lock);
	for (;;) {
		int64_t now = now_ns(), next = now + 200000000;
		struct timespec until;

		for (struct event **link = &late; *link != NULL;) {
			struct event *event = *link;

			if (event->show_ns > now) {
				next = event->show_ns < next ? event->show_ns : next;
				link = &event->next_late;
				continue;
			}
			*link = event->next_late;
			event_show(event);
			event_unref(event);
		}
		if (now > look_ns) {
			look_for_unflushed();
			look_ns = now + 100000000;
		}
		until = (struct timespec){ next / 1000000000, next % 1000000000 };
		pthread_cond_timedwait(&to_show, &model_lock, &until);
	}
	return NULL;
}

void events_start(void)
{
	pthread_t thread;

	if (started)
		return;
	started = true;
	pthread_once(&once, init);
	if (pthread_create(&thread, NULL, call_back, NULL) == 0)
		pthread_detach(thread);
	if (pthread_create(&thread, NULL, show_late, NULL) == 0)
		pthread_detach(thread);
}

void blocking_call(const char *call)
{
	if (in_callback)
		report("callback", "%s blocks inside a callback", call);
}

bool callback_enter(void)
{
	bool outer = in_callback;

	in_callback = true;
	return outer;
}

void callback_leave(bool outer)
{
	in_callback = outer;
}

cl_int event_wait(struct event *event)
{
	while (event->status > CL_COMPLETE)
		if (!engine_help(event) && event->status > CL_COMPLETE)
			pthread_cond_wait(&shown, &model_lock);
	clock_join(&host_clock, &event->clock);
	return event->status;
}
