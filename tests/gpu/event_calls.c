/* SPDX-License-Identifier: MIT */
/* The program's calls about events. */
#include "model.h"

#include <stdlib.h>

static cl_int CL_API_CALL wait_for(cl_uint n, const cl_event *list)
{
	cl_int rc = CL_SUCCESS;

	if (n == 0 || list == NULL)
		return CL_INVALID_VALUE;
	blocking_call("clWaitForEvents");
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
		if (event_wait(event) < 0)
			rc = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
		event_unref(event);
	}
	pthread_mutex_unlock(&model_lock);
	return rc;
}

/* A waiting thread may look at a command once in 10 us, however long a busy machine takes for it.  What is more than
 * that counts, since the flush, before which the command is not under way, and since another event ended, which gives
 * the thread something to do. */
static void count_poll(struct event *event)
{
	int64_t flushed_ns = (int64_t)event->times[1];
	int64_t since_ns = flushed_ns > ends.last_ns ? flushed_ns : ends.last_ns;

	event->polls = event->polls_ends == ends.n ? event->polls + 1 : 1;
	event->polls_ends = ends.n;
	if (event->queue == NULL || flushed_ns == 0)
		return;
	double polls = (double)event->polls - (double)(now_ns() - since_ns) / 10000;
	stats.most_polls = polls > stats.most_polls ? polls : stats.most_polls;
	if (polls < options.polls || event->reported_polls)
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

static cl_int CL_API_CALL set_callback(cl_event handle, cl_int when, void(CL_CALLBACK *fn)(cl_event, cl_int, void *),
                                       void *arg)
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
			event_show(event);
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
