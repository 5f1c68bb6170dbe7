/* SPDX-License-Identifier: MIT */
/* Recorded sequences: each request depends on the event of the one before it. */
#include "api/request.h"

#include "exec/thread.h"

#include <stdlib.h>
#include <string.h>

struct choir_sequence {
	size_t n, n_comms;
	choir_request *requests[]; /* [n], and behind them the first of each comm */
};

/* To the first requests of their comms, if it is one. */
static void add_comm(choir_sequence *sequence, choir_request *request)
{
	choir_request **firsts = sequence->requests + sequence->n;

	for (size_t i = 0; i < sequence->n_comms; i++)
		if (request_comm(firsts[i]) == request_comm(request))
			return;
	firsts[sequence->n_comms++] = request;
}

choir_status choir_sequence_create(choir_request *const *requests, size_t n, choir_sequence **out_p)
{
	static const char call[] = "choir_sequence_create";
	choir_sequence *sequence;

	if (out_p == NULL || requests == NULL || n == 0 || n > SIZE_MAX / 4 / sizeof *requests)
		return error_set(CHOIR_ARGUMENT, "%s: null argument, or %zu requests", call, n);
	for (size_t i = 0; i < n; i++)
		if (requests[i] == NULL)
			return error_set(CHOIR_ARGUMENT, "%s: requests[%zu] is null", call, i);
	sequence = malloc(sizeof *sequence + 2 * n * sizeof *requests);
	if (sequence == NULL)
		return error_no_memory("a sequence", 2 * n * sizeof *requests);
	sequence->n = n;
	sequence->n_comms = 0;
	memcpy(sequence->requests, requests, n * sizeof *requests);
	for (size_t i = 0; i < n; i++)
		add_comm(sequence, requests[i]);
	*out_p = sequence;
	return CHOIR_SUCCESS;
}

/* The numbers that the requests of that comm take. */
static uint64_t numbers_of(const struct choir_sequence *sequence, const choir_comm *comm)
{
	uint64_t numbers = 0;

	for (size_t i = 0; i < sequence->n; i++)
		if (request_comm(sequence->requests[i]) == comm)
			numbers += request_numbers(sequence->requests[i]);
	return numbers;
}

/* WOULD_DEADLOCK where this thread drives other ranks of a comm, which lack the calls. */
static choir_status may_block(const char *name, const choir_sequence *sequence)
{
	choir_status st = CHOIR_SUCCESS;

	for (size_t i = 0; i < sequence->n_comms && st == CHOIR_SUCCESS; i++) {
		choir_comm *comm = request_comm(sequence->requests[sequence->n + i]);
		uint64_t numbers = numbers_of(sequence, comm);

		if (numbers == 0 || !comm_enter(comm)) /* destroyed: the start says so */
			continue;
		st = call_may_block_behind(name, comm, false, numbers - 1);
		comm_leave(comm);
	}
	return st;
}

/* *last becomes the event of the last request that was started. */
static choir_status start_all(const choir_sequence *sequence, const choir_call *call, choir_event **last)
{
	for (size_t i = 0; i < sequence->n; i++) {
		choir_call each = *call;
		choir_event *event;
		choir_status st;

		each.struct_size = sizeof each; /* the caller's may end before the deps */
		if (i > 0) {
			each.after = NULL;
			each.n_cl_deps = 0;
			each.deps = last;
			each.n_deps = 1;
		}
		st = choir_start(sequence->requests[i], &each, &event);
		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "choir_sequence_start: request %zu of %zu", i, sequence->n);
		choir_event_release(*last);
		*last = event;
	}
	return CHOIR_SUCCESS;
}

choir_status choir_sequence_start(choir_sequence *sequence, const choir_call *call, choir_event **event_p)
{
	static const char name[] = "choir_sequence_start";
	choir_event *last = NULL;
	choir_call read;
	choir_status st;

	if (sequence == NULL)
		return call_named(error_set(CHOIR_ARGUMENT, "%s: null sequence", name), call);
	TRY(call_named(call_read(name, call, 0, &read), call));
	if (read.key != NULL)
		return call_named(error_set(CHOIR_ARGUMENT,
		                            "%s: the key is '%s', but each request has its own, of its init", name,
		                            read.key),
		                  call);
	if (event_p == NULL && (in_callback() || group_is_open()))
		return call_named(
		    error_set(CHOIR_WOULD_DEADLOCK, "%s: without an event inside a callback or a group", name), call);
	if (event_p == NULL)
		TRY(call_named(may_block(name, sequence), call));
	st = start_all(sequence, &read, &last);
	if (st != CHOIR_SUCCESS) {
		choir_event_release(last);
		return call_named(st, call);
	}
	if (event_p != NULL) {
		*event_p = last;
		return CHOIR_SUCCESS;
	}
	st = choir_event_wait(last, -1);
	choir_event_release(last);
	return st;
}

void choir_sequence_free(choir_sequence *sequence)
{
	free(sequence);
}
