/* SPDX-License-Identifier: MIT */
#include "exec/event.h"
#include "exec/run.h"

#include <stdlib.h>

static choir_status copy_cl_deps(struct run *run, const choir_call *call, size_t n)
{
	run->deps.cl = calloc(n, sizeof *run->deps.cl);
	if (run->deps.cl == NULL)
		return error_no_memory("deps", n * sizeof *run->deps.cl);
	for (size_t i = 0; i < call->n_cl_deps; i++) {
		cl_int rc = call->cl_deps[i] != NULL ? clRetainEvent(call->cl_deps[i]) : CL_INVALID_EVENT;

		if (rc != CL_SUCCESS)
			return error_set(CHOIR_ARGUMENT, "%s: cl_deps[%zu] is not an event", run_name(run), i);
		run->deps.cl[run->deps.n_cl++] = call->cl_deps[i];
		dev_flush_event(call->cl_deps[i]);
	}
	if (call->after != NULL) {
		TRY(dev_marker(call->after, &run->deps.cl[run->deps.n_cl]));
		run->deps.n_cl++;
	}
	for (size_t i = 0; i < run->deps.n_cl; i++)
		TRY(dev_watch(run->deps.cl[i], comm_wake_self, NULL));
	return CHOIR_SUCCESS;
}

choir_status deps_take(struct run *run, const choir_call *call)
{
	size_t n = call->n_cl_deps + (call->after != NULL);

	if (n > 0)
		TRY(copy_cl_deps(run, call, n));
	if (call->n_deps == 0)
		return CHOIR_SUCCESS;
	run->deps.events = calloc(call->n_deps, sizeof *run->deps.events);
	if (run->deps.events == NULL)
		return error_no_memory("deps", call->n_deps * sizeof *run->deps.events);
	for (size_t i = 0; i < call->n_deps; i++) {
		if (call->deps[i] == NULL)
			return error_set(CHOIR_ARGUMENT, "%s: deps[%zu] is null", run_name(run), i);
		TRY(event_check(run_name(run), call->deps[i]));
		run->deps.events[run->deps.n_events++] = choir_event_retain(call->deps[i]);
	}
	return CHOIR_SUCCESS;
}

choir_status deps_poll(struct run_deps *deps, bool *moved, bool *done_p)
{
	*done_p = false;
	for (; deps->next_cl < deps->n_cl; deps->next_cl++) {
		bool done = false;
		choir_status st = dev_poll(deps->cl[deps->next_cl], &done);

		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "a cl_event it depends on failed");
		if (!done)
			return CHOIR_SUCCESS;
		*moved = true;
	}
	for (; deps->next_event < deps->n_events; deps->next_event++) {
		choir_event *dep = deps->events[deps->next_event];

		if (!event_is_complete(dep))
			return CHOIR_SUCCESS;
		if (dep->status != CHOIR_SUCCESS)
			return error_set(dep->status, "an event it depends on failed: %s", choir_event_error(dep));
		*moved = true;
	}
	*done_p = true;
	return CHOIR_SUCCESS;
}

void deps_release(struct run_deps *deps)
{
	for (size_t i = 0; i < deps->n_cl; i++)
		clReleaseEvent(deps->cl[i]);
	for (size_t i = 0; i < deps->n_events; i++)
		choir_event_release(deps->events[i]);
	free(deps->cl);
	free(deps->events);
}
