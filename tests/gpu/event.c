/* SPDX-License-Identifier: MIT */
/* Events: what the device knows (ended) and what the host sees (status), later; user events; callbacks on a thread of
 * their own.  A thread of its own shows ends late and looks for commands that others wait for and nobody flushed. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAGIC 0x6d6f64656c657674u
#define DEAD 0x6d6f64656c656e64u
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

/* The host sees the end. */
static void show(struct event *event)
{
	struct callback *callback = event->callbacks;

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
		show(event);
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
	in_callback = true;
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
			show(event);
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

cl_int event_wait(struct event *event, const char *call)
{
	if (event->status > CL_COMPLETE)
		blocking_call(call);
	while (event->status > CL_COMPLETE)
		pthread_cond_wait(&shown, &model_lock);
	clock_join(&host_clock, &event->clock);
	return event->status;
}

static cl_int CL_API_CALL wait_for(cl_uint n, const cl_event *list)
{
	cl_int rc = CL_SUCCESS;

	if (n == 0 || list == NULL)
		return CL_INVALID_VALUE;
	pthread_mutex_lock(&model_lock);
	for (cl_uint i = 0; i < n && rc == CL_SUCCESS; i++)
		if (event_of(list[i]) == NULL)
			rc = CL_INVALID_EVENT;
	for (cl_uint i = 0; i < n && rc == CL_SUCCESS; i++)
		if (event_of(list[i])->queue != NULL && event_of(list[i])->status > CL_COMPLETE)
			queue_flush(event_of(list[i])->queue);
	bool valid = rc == CL_SUCCESS;
	for (cl_uint i = 0; i < n && valid; i++) {
		struct event *event = event_of(list[i]);

		event_retain(event);
		if (event_wait(event, "clWaitForEvents") < 0)
			rc = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
		event_unref(event);
	}
	pthread_mutex_unlock(&model_lock);
	return rc;
}

/* More than the options allow, and more than one in 10 us since the command was flushed: a thread that only polls. */
static void count_poll(struct event *event)
{
	event->polls++;
	stats.most_polls = event->polls > stats.most_polls ? event->polls : stats.most_polls;
	if (event->queue == NULL || event->reported_polls || (double)event->polls < options.polls ||
	    (double)event->polls < options.polls + (double)(now_ns() - (int64_t)event->times[1]) / 10000)
		return;
	event->reported_polls = true;
	report("polls", "clGetEventInfo was called %llu times for one command", (unsigned long long)event->polls);
}

static cl_int CL_API_CALL get_info(cl_event handle, cl_event_info what, size_t room, void *out, size_t *bytes_p)
{
	cl_int rc = CL_INVALID_VALUE;

	pthread_mutex_lock(&model_lock);
	struct event *event = event_of(handle);
	if (event == NULL) {
		rc = CL_INVALID_EVENT;
	} else if (what == CL_EVENT_COMMAND_EXECUTION_STATUS) {
		count_poll(event);
		rc = answer(&event->status, sizeof event->status, room, out, bytes_p);
	} else if (what == CL_EVENT_COMMAND_QUEUE) {
		rc = answer(&event->queue, sizeof event->queue, room, out, bytes_p);
	} else if (what == CL_EVENT_COMMAND_TYPE) {
		rc = answer(&event->type, sizeof event->type, room, out, bytes_p);
	} else if (what == CL_EVENT_REFERENCE_COUNT) {
		cl_uint refs = event->refs;

		rc = answer(&refs, sizeof refs, room, out, bytes_p);
	} else if (what == CL_EVENT_CONTEXT) {
		rc = answer(&event->context->handle, sizeof event->context->handle, room, out, bytes_p);
	}
	pthread_mutex_unlock(&model_lock);
	return rc;
}

static cl_int CL_API_CALL retain(cl_event handle)
{
	pthread_mutex_lock(&model_lock);
	struct event *event = event_of(handle);
	if (event != NULL) {
		event->users++;
		event_retain(event);
	}
	pthread_mutex_unlock(&model_lock);
	return event != NULL ? CL_SUCCESS : CL_INVALID_EVENT;
}

/* The model may still have references of its own, which are not the program's to release. */
static cl_int CL_API_CALL release(cl_event handle)
{
	pthread_mutex_lock(&model_lock);
	struct event *event = event_of(handle);
	if (event != NULL && event->users == 0) {
		report("freed", "an event is released after its last release");
		event = NULL;
	}
	if (event != NULL) {
		event->users--;
		event_unref(event);
	}
	pthread_mutex_unlock(&model_lock);
	return event != NULL ? CL_SUCCESS : CL_INVALID_EVENT;
}

static cl_int CL_API_CALL set_callback(cl_event handle, cl_int when,
                                       void(CL_CALLBACK *fn)(cl_event, cl_int, void *), void *arg)
{
	struct callback *callback;

	if (fn == NULL || when < CL_COMPLETE || when > CL_SUBMITTED)
		return CL_INVALID_VALUE;
	if (when != CL_COMPLETE) {
		refuse("clSetEventCallback for another state than CL_COMPLETE");
		return CL_INVALID_OPERATION;
	}
	callback = calloc(1, sizeof *callback);
	if (callback == NULL)
		return CL_OUT_OF_HOST_MEMORY;
	pthread_mutex_lock(&model_lock);
	struct event *event = event_of(handle);
	if (event != NULL) {
		event_retain(event);
		*callback = (struct callback){ event->callbacks, event, fn, arg };
		event->callbacks = callback;
		events_start();
		if (event->status <= CL_COMPLETE)
			show(event);
	}
	pthread_mutex_unlock(&model_lock);
	if (event == NULL)
		free(callback);
	return event != NULL ? CL_SUCCESS : CL_INVALID_EVENT;
}

static cl_event CL_API_CALL create_user(cl_context handle, cl_int *rc_p)
{
	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	struct event *event = context != NULL ? event_create(context, NULL, CL_COMMAND_USER) : NULL;
	if (event != NULL)
		event->users = 1;
	pthread_mutex_unlock(&model_lock);
	if (rc_p != NULL)
		*rc_p = context == NULL ? CL_INVALID_CONTEXT : event == NULL ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
	return (cl_event)event;
}

static cl_int CL_API_CALL set_user(cl_event handle, cl_int status)
{
	cl_int rc = CL_SUCCESS;

	pthread_mutex_lock(&model_lock);
	struct event *event = event_of(handle);
	if (event == NULL || event->queue != NULL)
		rc = CL_INVALID_EVENT;
	else if (status > CL_COMPLETE)
		rc = CL_INVALID_VALUE;
	else if (event->status <= CL_COMPLETE)
		rc = CL_INVALID_OPERATION;
	if (rc == CL_SUCCESS) {
		event->clock = host_clock;
		event_end(event, status, now_ns());
		schedule();
	}
	pthread_mutex_unlock(&model_lock);
	return rc;
}

static cl_int CL_API_CALL get_times(cl_event handle, cl_profiling_info what, size_t room, void *out, size_t *bytes_p)
{
	cl_int rc = CL_PROFILING_INFO_NOT_AVAILABLE;

	pthread_mutex_lock(&model_lock);
	struct event *event = event_of(handle);
	bool measured = event != NULL && event->queue != NULL && event->status == CL_COMPLETE &&
	                (event->queue->properties & CL_QUEUE_PROFILING_ENABLE) != 0;
	if (measured && what >= CL_PROFILING_COMMAND_QUEUED && what <= CL_PROFILING_COMMAND_END)
		rc = answer(&event->times[what - CL_PROFILING_COMMAND_QUEUED], sizeof event->times[0], room, out,
		            bytes_p);
	else if (measured)
		rc = CL_INVALID_VALUE;
	pthread_mutex_unlock(&model_lock);
	return event != NULL ? rc : CL_INVALID_EVENT;
}

void event_install(struct _cl_icd_dispatch *mine)
{
	mine->clWaitForEvents = wait_for;
	mine->clGetEventInfo = get_info;
	mine->clRetainEvent = retain;
	mine->clReleaseEvent = release;
	mine->clSetEventCallback = set_callback;
	mine->clCreateUserEvent = create_user;
	mine->clSetUserEventStatus = set_user;
	mine->clGetEventProfilingInfo = get_times;
}
