/* SPDX-License-Identifier: MIT */
/* Note [end of a command].  Each of a callback and polling misses failures on one of the CPU runtimes, so dependencies
 * are watched both ways.  A status read by polling is no synchronisation point: clWaitForEvents is called once on the
 * complete event before its bytes are used. */
#include "base/wait.h"
#include "dev/device_impl.h"

#include <stdlib.h>
#include <string.h>

choir_status dev_poll(cl_event event, bool *done_p)
{
	cl_int state = CL_QUEUED;
	cl_int rc = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);

	if (rc != CL_SUCCESS)
		return error_cl("clGetEventInfo", rc);
	if (state < 0)
		return error_cl("a command that was waited for", state);
	if (state != CL_COMPLETE) {
		*done_p = false;
		return CHOIR_SUCCESS;
	}
	rc = clWaitForEvents(1, &event);
	if (rc != CL_SUCCESS)
		return error_cl("clWaitForEvents", rc);
	*done_p = true;
	return CHOIR_SUCCESS;
}

/* A command that is queued keeps its queue; a user event has none. */
void dev_flush_event(cl_event event)
{
	cl_int state = CL_COMPLETE;
	cl_command_queue queue = NULL;

	if (clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) == CL_SUCCESS &&
	    state == CL_QUEUED &&
	    clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(cl_command_queue), &queue, NULL) == CL_SUCCESS &&
	    queue != NULL)
		clFlush(queue);
}

/* Why a command failed: clWaitForEvents does not say it. */
static choir_status failure_of(cl_event event, cl_int rc)
{
	cl_int state = CL_COMPLETE;

	if (rc == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST &&
	    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) == CL_SUCCESS &&
	    state < 0)
		return error_cl("a command that was waited for", state);
	return error_cl("clWaitForEvents", rc);
}

choir_status dev_wait(cl_event *event_p)
{
	cl_event event = *event_p;
	choir_status st = CHOIR_SUCCESS;
	cl_int rc;

	if (event == NULL)
		return CHOIR_SUCCESS;
	*event_p = NULL;
	rc = clWaitForEvents(1, &event);
	if (rc != CL_SUCCESS)
		st = failure_of(event, rc);
	clReleaseEvent(event);
	return st;
}

bool dev_ends_by(const choir_device *device, cl_event event, int64_t until_ns)
{
	struct wait wait = { 0 };
	bool done = false;
	choir_status st;

	while ((st = dev_poll(event, &done)) == CHOIR_SUCCESS && !done && wait_now_ns() < until_ns)
		wait_command(&wait, dev_is_cpu(device));
	clReleaseEvent(event);
	return st == CHOIR_SUCCESS && done;
}

/* Mesa's rusticl returns from clFinish at once if another thread has flushed the queue, so a marker's event is waited
 * for as well. */
static void finish(cl_command_queue queue)
{
	cl_event event;

	if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) == CL_SUCCESS) {
		clWaitForEvents(1, &event);
		clReleaseEvent(event);
	}
	clFinish(queue);
}

void dev_drain(choir_device *device)
{
	cl_command_queue writes = atomic_load(&device->copies[COPY_WRITES]);

	if (writes != NULL)
		finish(writes);
	finish(dev_queue(device));
}

choir_status dev_queue_after(choir_device *device, cl_event *event_p)
{
	cl_int rc = clEnqueueBarrierWithWaitList(dev_queue(device), 1, event_p, NULL);

	clReleaseEvent(*event_p);
	*event_p = NULL;
	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clEnqueueBarrierWithWaitList", rc);
}

struct watch {
	void (*fn)(void *);
	void *ctx;
};

static void CL_CALLBACK event_ended(cl_event event, cl_int state, void *ctx)
{
	struct watch watch = *(struct watch *)ctx;

	(void)event;
	(void)state;
	free(ctx);
	watch.fn(watch.ctx);
}

/* Without a ctx the callback's argument is fn itself: PoCL does not call back for a user event that fails, and an
 * allocated argument would leak. */
static void CL_CALLBACK event_ended_plain(cl_event event, cl_int state, void *fn)
{
	void (*plain)(void *);

	(void)event;
	(void)state;
	memcpy(&plain, &fn, sizeof plain);
	plain(NULL);
}

static choir_status watch_plain(cl_event event, void (*fn)(void *))
{
	void *as_data;
	cl_int rc;

	memcpy(&as_data, &fn, sizeof as_data); /* on POSIX function and data pointers have one size */
	rc = clSetEventCallback(event, CL_COMPLETE, event_ended_plain, as_data);
	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clSetEventCallback", rc);
}

choir_status dev_watch(cl_event event, void (*fn)(void *), void *ctx)
{
	if (ctx == NULL)
		return watch_plain(event, fn);

	struct watch *watch = malloc(sizeof *watch);

	if (watch == NULL)
		return error_no_memory("an event's watch", sizeof *watch);
	*watch = (struct watch){ fn, ctx };
	cl_int rc = clSetEventCallback(event, CL_COMPLETE, event_ended, watch);
	if (rc != CL_SUCCESS) {
		free(watch);
		return error_cl("clSetEventCallback", rc);
	}
	return CHOIR_SUCCESS;
}

choir_status dev_marker(cl_command_queue queue, cl_event *event_p)
{
	cl_event event;
	cl_int rc = clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);

	if (rc != CL_SUCCESS)
		return error_cl("clEnqueueMarkerWithWaitList", rc);
	rc = clFlush(queue);
	if (rc != CL_SUCCESS) {
		clReleaseEvent(event);
		return error_cl("clFlush", rc);
	}
	*event_p = event;
	return CHOIR_SUCCESS;
}
