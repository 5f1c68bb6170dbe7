/* SPDX-License-Identifier: MIT */
#include "api/local_calls.h"

#include "base/kept_error.h"
#include "base/plural.h"
#include "exec/event.h"
#include "exec/keyed.h"

#include <choir/chunks.h>
#include <stdlib.h>

static choir_status check_ranks(const char *name, int n_local, choir_comm *const *comms)
{
	if (n_local != comms[0]->n)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: n_local is %d, but '%s' has %d rank%s, and takes all of them in one process (a "
		                 "comm of those of this process: choir_comm_split_local)",
		                 name, n_local, comms[0]->name, comms[0]->n, plural(comms[0]->n));
	return CHOIR_SUCCESS;
}

static choir_status check(const char *name, int n_local, choir_comm *const *comms, const choir_call *given,
                          struct local_call *out)
{
	choir_call call;

	TRY(call_check_comms(name, n_local, comms));
	TRY(check_ranks(name, n_local, comms));
	TRY(call_read(name, given, CALL_TAKES_FACTOR, &call));
	*out = (struct local_call){
		.name = name, .n = n_local, .comms = comms, .given = given, .started = CHOIR_CALL_INIT
	};
	out->started.after = call.after;
	out->started.cl_deps = call.cl_deps;
	out->started.n_cl_deps = call.n_cl_deps;
	out->started.deps = call.deps;
	out->started.n_deps = call.n_deps;
	out->prepared = call;
	out->prepared.struct_size = sizeof out->prepared;
	if (call.name == name)
		out->prepared.name = NULL; /* the caller gave none */
	out->prepared.after = NULL;
	out->prepared.n_cl_deps = out->prepared.n_deps = 0;
	out->requests = calloc((size_t)n_local, sizeof(choir_request *));
	return out->requests != NULL ? CHOIR_SUCCESS : error_no_memory("calls", (size_t)n_local * sizeof(void *));
}

choir_status local_call_begin(const char *name, int n_local, choir_comm *const *comms, const choir_call *given,
                              struct local_call *out)
{
	choir_status st;

	if (n_local < 1 || comms == NULL)
		return call_named(error_set(CHOIR_ARGUMENT, "%s: n_local is %d, or comms is null", name, n_local),
		                  given);
	TRY(call_named(call_enter_all(name, n_local, comms), given));
	st = check(name, n_local, comms, given, out);
	if (st != CHOIR_SUCCESS)
		call_leave_all(n_local, comms);
	return call_named(st, given);
}

/* In a group.  Once a rank's call is there the others must follow: if one cannot, the comm fails. */
static choir_status start_each(const struct local_call *local, choir_event **events)
{
	for (int i = 0; i < local->n; i++) {
		choir_status st = choir_start(local->requests[i], &local->started, &events[i]);

		if (st == CHOIR_SUCCESS)
			continue;
		if (i > 0)
			comm_fail(local->comms[i], st, error_text());
		return error_prefix(st, "%s", local->name);
	}
	return CHOIR_SUCCESS;
}

/* Without memory for a callback the rank's end is waited for here. */
static void join_events(choir_event *joined, choir_event *const *events, int n)
{
	joined->runs_left = n;
	joined->algorithm = events[0]->algorithm;
	for (int i = 0; i < n; i++) {
		if (event_join(joined, events[i]) == CHOIR_SUCCESS)
			continue;
		(void)choir_event_wait(events[i], -1);
		event_complete(joined, events[i]->status, choir_event_error(events[i]));
	}
}

/* A key that is under way on some ranks would be refused there, once the others have their calls. */
static choir_status check_key(const struct local_call *local)
{
	const char *key = local->prepared.key;
	choir_status st = CHOIR_SUCCESS;

	for (int i = 0; i < local->n && key != NULL && st == CHOIR_SUCCESS; i++) {
		const choir_comm *comm = local->comms[i];

		st = comm->keyed != NULL ? keyed_is_free(comm->keyed, key) : CHOIR_SUCCESS;
		if (st != CHOIR_SUCCESS)
			st = error_prefix(st, "%s: rank %d", local->name, comm->rank);
	}
	return st;
}

static bool was_refused(const choir_event *event)
{
	return event == NULL || (event_is_complete(event) && event->status != CHOIR_SUCCESS);
}

/* The group has ended with a failure: if only some ranks' calls are there the comm fails, and that is no ARGUMENT,
 * since buffers may have changed.  Nobody is in them then. */
static choir_status end_all(const struct local_call *local, choir_event *const *events, choir_status st)
{
	struct kept_error failure = { .status = CHOIR_SUCCESS };
	int refused = 0;

	error_keep_first(&failure, st);
	for (int i = 0; i < local->n; i++)
		refused += was_refused(events[i]);
	if (refused < local->n && st == CHOIR_ARGUMENT)
		failure.status = st = CHOIR_ABORTED;
	for (int i = 0; i < local->n && refused < local->n; i++)
		if (was_refused(events[i]))
			comm_fail(local->comms[i], st, failure.text);
	for (int i = 0; i < local->n; i++)
		if (events[i] != NULL)
			(void)choir_event_wait(events[i], -1);
	return error_again(&failure);
}

static choir_status start_events(const struct local_call *local, choir_event **events)
{
	choir_status st, ended;

	TRY(check_key(local));
	TRY(choir_group_begin());
	st = start_each(local, events);
	ended = choir_group_end();
	if (st == CHOIR_SUCCESS)
		st = ended;
	return st == CHOIR_SUCCESS ? st : end_all(local, events, st);
}

static choir_status start(const struct local_call *local, choir_event *joined)
{
	choir_event **events = calloc((size_t)local->n, sizeof(choir_event *));
	choir_status st;

	if (events == NULL)
		return error_no_memory("events", (size_t)local->n * sizeof(choir_event *));
	st = start_events(local, events);
	if (st == CHOIR_SUCCESS)
		join_events(joined, events, local->n);
	for (int i = 0; i < local->n; i++)
		choir_event_release(events[i]);
	free(events);
	return st;
}

static choir_status start_joined(const struct local_call *local, choir_event **event_p)
{
	choir_event *joined;
	choir_status st;

	TRY(event_create(local->comms[0], &joined));
	if (local->prepared.name != NULL)
		event_set_name(joined, local->prepared.name);
	st = start(local, joined);
	if (st == CHOIR_SUCCESS && event_p == NULL)
		st = choir_event_wait(joined, -1);
	if (st == CHOIR_SUCCESS && event_p != NULL)
		*event_p = choir_event_retain(joined);
	choir_event_release(joined);
	return st;
}

choir_status local_call_end(struct local_call *local, choir_status st, choir_event **event_p)
{
	if (st == CHOIR_SUCCESS)
		st = start_joined(local, event_p);
	for (int i = 0; i < local->n; i++)
		choir_request_free(local->requests[i]);
	free(local->requests);
	call_leave_all(local->n, local->comms);
	return call_named(st, local->given);
}

choir_status choir_allreduce_local(int n_local, choir_comm *const *comms, const choir_buffer *sends,
                                   const choir_buffer *recvs, size_t count, choir_dtype dtype, choir_op op,
                                   const choir_call *call, choir_event **event_p)
{
	static const char name[] = "choir_allreduce_local";
	struct local_call local;
	choir_status st = CHOIR_SUCCESS;

	if (sends == NULL || recvs == NULL)
		return call_named(error_set(CHOIR_ARGUMENT, "%s: %s is null", name, sends == NULL ? "sends" : "recvs"),
		                  call);
	TRY(local_call_begin(name, n_local, comms, call, &local));
	for (int i = 0; i < n_local && st == CHOIR_SUCCESS; i++) {
		st = choir_allreduce_init(comms[i], sends[i], recvs[i], count, dtype, op, &local.prepared,
		                          &local.requests[i]);
		if (st != CHOIR_SUCCESS)
			st = error_prefix(st, "%s: comms[%d]", name, i);
	}
	return local_call_end(&local, st, event_p);
}
