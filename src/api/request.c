/* SPDX-License-Identifier: MIT */
#include "api/request.h"

#include <stdlib.h>
#include <string.h>

static choir_status keep_text(const char *text, char **copy_p)
{
	if (text == NULL)
		return CHOIR_SUCCESS;
	*copy_p = strdup(text);
	return *copy_p != NULL ? CHOIR_SUCCESS : error_no_memory("a persistent call", strlen(text) + 1);
}

choir_status request_check(const char *name, const choir_call *call, choir_request **request_p)
{
	if (request_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s_init: null pointer for the request", name);
	if (call->n_deps > 0 || call->n_cl_deps > 0 || call->after != NULL)
		return error_set(CHOIR_ARGUMENT, "%s_init: a call that is kept has no deps: give them to choir_start", name);
	return CHOIR_SUCCESS;
}

choir_status request_init(choir_request *request, const struct request_ops *ops, const char *name, choir_comm *comm, const choir_call *call)
{
	request->ops = ops;
	request->name = name;
	request->comm = comm_retain(comm);
	request->call = *call;
	TRY(keep_text(call->options, &request->options));
	request->call.options = request->options;
	if (call->name != name) { /* one of the caller's */
		TRY(keep_text(call->name, &request->label));
		request->call.name = request->label;
	}
	return CHOIR_SUCCESS;
}

/* What may differ from start to start: when it begins, and how long it may take. */
static choir_status read_start(const choir_request *request, const choir_call *given, choir_call *call)
{
	choir_call start;

	*call = request->call;
	if (given == NULL)
		return CHOIR_SUCCESS;
	TRY(call_read("choir_start", given, true, &start));
	if (given->options != NULL || start.factor != 1)
		return error_set(CHOIR_ARGUMENT, "choir_start: options and factor belong to %s_init", request->name);
	call->after = start.after;
	call->cl_deps = start.cl_deps;
	call->n_cl_deps = start.n_cl_deps;
	call->deps = start.deps;
	call->n_deps = start.n_deps;
	if (start.deadline_ms > 0)
		call->deadline_ms = start.deadline_ms;
	return CHOIR_SUCCESS;
}

choir_status choir_start(choir_request *request, const choir_call *given, choir_event **event_p)
{
	choir_call call;

	if (request == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_start: null request");
	if (request->comm->device == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_start: the comm of this %s has been destroyed", request->name);
	TRY(call_check_comm(request->name, request->comm));
	TRY(read_start(request, given, &call));
	return request->ops->start(request, &call, event_p);
}

void choir_request_free(choir_request *request)
{
	if (request == NULL)
		return;
	request->ops->drop(request);
	free(request->options);
	free(request->label);
	comm_release(request->comm);
	free(request);
}

/* --- of a dense call --- */

struct dense_request {
	choir_request base;
	struct dense dense;
	struct algo_in in;
	cl_mem kept[2]; /* retained, NULL where the buffer is no cl_mem */
};

static choir_status start_dense(choir_request *base, const choir_call *call, choir_event **event_p)
{
	struct dense_request *request = (struct dense_request *)base;
	struct dense d = request->dense;
	struct algo_in in = request->in;
	choir_call plain = *call;
	struct repeat_call repeat;
	choir_status st;

	if (plain.name == base->name)
		plain.name = NULL; /* as in a call that says nothing */
	if (dense_again(&d, &plain, event_p, &repeat, &st))
		return st;
	return dense_go(&d, call, &in, event_p);
}

static void drop_dense(choir_request *base)
{
	struct dense_request *request = (struct dense_request *)base;

	for (size_t i = 0; i < 2; i++)
		if (request->kept[i] != NULL)
			clReleaseMemObject(request->kept[i]);
}

static const struct request_ops dense_ops = { .start = start_dense, .drop = drop_dense };

static choir_status keep_buffers(struct dense_request *request)
{
	const struct dense *d = &request->dense;

	if (d->send_bytes > 0)
		TRY(dev_keep(d->send, &request->kept[0]));
	return d->recv_bytes > 0 ? dev_keep(d->recv, &request->kept[1]) : CHOIR_SUCCESS;
}

choir_status request_create(struct dense *d, const choir_call *given, choir_request **request_p)
{
	struct algo_in in = { 0 };
	struct dense_request *request;
	choir_call call;
	choir_status st;

	TRY(dense_check(d, given, &call, &in));
	TRY(request_check(d->call, &call, request_p));
	TRY(dense_algorithm(d, &call, &in));
	request = calloc(1, sizeof *request);
	if (request == NULL)
		return error_no_memory("a persistent call", sizeof *request);
	request->dense = *d;
	request->in = in;
	st = request_init(&request->base, &dense_ops, d->call, d->comm, &call);
	if (st == CHOIR_SUCCESS)
		st = keep_buffers(request);
	if (st != CHOIR_SUCCESS) {
		choir_request_free(&request->base);
		return st;
	}
	*request_p = &request->base;
	return CHOIR_SUCCESS;
}
