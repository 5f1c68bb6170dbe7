/* SPDX-License-Identifier: MIT */
/* The public functions of events; the object is in exec/event.c. */
#include "api/started.h"
#include "exec/comm.h"
#include "exec/engine.h"
#include "exec/event.h"
#include "exec/progress.h"
#include "exec/record.h"
#include "exec/thread.h"

choir_status choir_event_test(choir_event *event, int *done_p)
{
	if (event == NULL || done_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_event_test: null argument");
	TRY(event_check("choir_event_test", event));
	*done_p = event_is_complete(event);
	return CHOIR_SUCCESS;
}

static choir_status outcome(choir_event *event)
{
	return event->status == CHOIR_SUCCESS ? CHOIR_SUCCESS
	                                      : error_set(event->status, "%s", choir_event_error(event));
}

static choir_status still_runs(const choir_event *event, int64_t waited_ms)
{
	struct choir_comm *comm = event->comm;
	char text[RUN_TEXT_BYTES];
	bool inside;

	event_say_name(event, text, sizeof text);
	if (started_is_shell(comm))
		return error_set(CHOIR_TIMEOUT, "%s was not complete after %lld ms of waiting", text,
		                 (long long)waited_ms);
	inside = comm_enter(comm);
	if (inside) {
		engine_call_of(event, text, sizeof text);
		comm_leave(comm);
	}
	return error_set(CHOIR_TIMEOUT, "rank %d: %s was not complete after %lld ms of waiting", comm->rank, text,
	                 (long long)waited_ms);
}

choir_status choir_event_wait(choir_event *event, int64_t timeout_ms)
{
	if (event == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_event_wait: null event");
	TRY(event_check("choir_event_wait", event));
	if (event_is_complete(event))
		return outcome(event);
	if (in_callback())
		return error_named(
		    error_set(CHOIR_WOULD_DEADLOCK,
		              "choir_event_wait inside a callback would keep what it waits for from ending"),
		    event->name);
	if (event->grouped_by == this_thread())
		return error_named(error_set(CHOIR_WOULD_DEADLOCK,
		                             "choir_event_wait: the event's call is in a group of this thread that "
		                             "choir_group_end has not started"),
		                   event->name);
	return progress_wait(event, timeout_ms) ? outcome(event) : still_runs(event, timeout_ms);
}

choir_status choir_event_status(choir_event *event)
{
	if (event == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_event_status: null event");
	TRY(event_check("choir_event_status", event));
	return event_is_complete(event) ? event->status : CHOIR_RUNNING;
}

const char *choir_event_algorithm(choir_event *event)
{
	return event != NULL ? event->algorithm : "";
}

uint64_t choir_event_wire_bytes(choir_event *event)
{
	return event != NULL ? atomic_load_explicit(&event->wire_bytes, memory_order_relaxed) : 0;
}

choir_status choir_event_on_complete(choir_event *event, choir_event_fn fn, void *ctx)
{
	if (event == NULL || fn == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_event_on_complete: null argument");
	TRY(event_check("choir_event_on_complete", event));
	return event_add_callback(event, fn, ctx, false);
}
