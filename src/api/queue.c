/* SPDX-License-Identifier: MIT */
/* Events handed to OpenCL.  A user event exists only here, at the caller's edge: inside the library none ever does,
 * since a pending one blocks whole queues on some drivers.  It always ends CL_COMPLETE: on a negative status one
 * runtime aborts the process and another runs the dependent kernel anyway. */
#include "api/started.h"

#include "exec/event.h"
#include "exec/progress.h"

#include <stdlib.h>

/* A user event that completes after `left` events have ended. */
struct bridge {
	_Atomic size_t left;
	cl_event event;
};

static void bridge_one(void *ctx, choir_status status)
{
	struct bridge *bridge = ctx;

	(void)status;
	if (atomic_fetch_sub(&bridge->left, 1) != 1)
		return;
	clSetUserEventStatus(bridge->event, CL_COMPLETE);
	clReleaseEvent(bridge->event);
	free(bridge);
}

/* *out_p gets a reference of the caller's. */
static choir_status build_bridge(cl_context context, size_t n, choir_event *const *events, cl_event *out_p)
{
	struct bridge *bridge = malloc(sizeof *bridge);
	choir_status st = CHOIR_SUCCESS;
	cl_int rc;

	if (bridge == NULL)
		return error_no_memory("a bridge to a cl_event", sizeof *bridge);
	bridge->event = clCreateUserEvent(context, &rc);
	if (rc != CL_SUCCESS) {
		free(bridge);
		return error_cl("clCreateUserEvent", rc);
	}
	/* one for this function, so that it cannot go while callbacks are being added */
	atomic_init(&bridge->left, n + 1);
	clRetainEvent(bridge->event);
	*out_p = bridge->event;
	for (size_t i = 0; i < n; i++) {
		choir_status one = event_add_callback(events[i], bridge_one, bridge, true);

		if (one != CHOIR_SUCCESS) { /* that event is not waited for: say so, and let the queue go on */
			st = one;
			bridge_one(bridge, one);
		}
	}
	bridge_one(bridge, CHOIR_SUCCESS);
	return st;
}

choir_status choir_event_to_cl(choir_event *event, cl_event *out_p)
{
	cl_event made = NULL;
	choir_status st;

	if (event == NULL || out_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_event_to_cl: null argument");
	TRY(event_check("choir_event_to_cl", event));
	if (started_is_shell(event->comm))
		return error_set(CHOIR_ARGUMENT,
		                 "choir_event_to_cl: the event's comm is being made: wait for it by choir_event_wait");
	if (atomic_load(&event->comm->engine.closed))
		return error_set(CHOIR_ARGUMENT, "choir_event_to_cl: the event's comm has been destroyed");
	if (dev_is_host(event->comm->device))
		return error_set(CHOIR_UNSUPPORTED, "choir_event_to_cl: the comm's device is of host memory alone: "
		                                    "there is no context for a cl_event (choir_queue_wait needs none)");
	st = build_bridge(choir_device_context(event->comm->device), 1, &event, &made);
	if (st == CHOIR_SUCCESS)
		st = progress_kick();
	if (st == CHOIR_SUCCESS)
		*out_p = made;
	else if (made != NULL)
		clReleaseEvent(made);
	return st;
}

choir_status choir_queue_wait(cl_command_queue queue, size_t n, choir_event *const *events)
{
	cl_context context;
	cl_event made = NULL;
	choir_status st;
	cl_int rc;
	bool all_done = true;
	int done;

	if (queue == NULL || (n > 0 && events == NULL))
		return error_set(CHOIR_ARGUMENT, "choir_queue_wait: null argument");
	for (size_t i = 0; i < n; i++) {
		if (events[i] == NULL)
			return error_set(CHOIR_ARGUMENT, "choir_queue_wait: events[%zu] is null", i);
		st = choir_event_test(events[i], &done);
		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "choir_queue_wait: events[%zu]", i);
		all_done &= done != 0;
	}
	rc = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
	if (rc != CL_SUCCESS)
		return error_cl("clGetCommandQueueInfo", rc);
	if (all_done)
		return CHOIR_SUCCESS;
	st = build_bridge(context, n, events, &made);
	if (st != CHOIR_SUCCESS) {
		if (made != NULL)
			clReleaseEvent(made);
		return st;
	}
	rc = clEnqueueBarrierWithWaitList(queue, 1, &made, NULL);
	clReleaseEvent(made);
	if (rc != CL_SUCCESS)
		return error_cl("clEnqueueBarrierWithWaitList", rc);
	rc = clFlush(queue);
	if (rc != CL_SUCCESS)
		return error_cl("clFlush", rc);
	return progress_kick();
}
