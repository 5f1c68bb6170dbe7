/* SPDX-License-Identifier: MIT */
#include "api/request.h"

#include <stdlib.h>
#include <string.h>

struct choir_request {
	struct dense dense;
	struct algo_in in;
	choir_call call;        /* without deps */
	char *options, *name;   /* what call points to, NULL = none given */
	cl_mem kept[2];         /* retained, NULL where the buffer is no cl_mem */
};

static choir_status keep_text(const char *text, char **copy_p)
{
	if (text == NULL)
		return CHOIR_SUCCESS;
	*copy_p = strdup(text);
	return *copy_p != NULL ? CHOIR_SUCCESS : error_no_memory("a persistent call", strlen(text) + 1);
}

static choir_status keep(struct choir_request *request, const struct dense *d, const choir_call *call)
{
	request->dense = *d;
	request->call = *call;
	TRY(keep_text(call->options, &request->options));
	TRY(keep_text(call->name, &request->name));
	request->call.options = request->options;
	request->call.name = request->name;
	if (d->send_bytes > 0)
		TRY(dev_keep(d->send, &request->kept[0]));
	return d->recv_bytes > 0 ? dev_keep(d->recv, &request->kept[1]) : CHOIR_SUCCESS;
}

choir_status request_create(struct dense *d, const choir_call *given, choir_request **request_p)
{
	struct algo_in in = { 0 };
	struct choir_request *request;
	choir_call call;
	choir_status st;

	if (request_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s_init: null pointer for the request", d->call);
	TRY(dense_check(d, given, &call, &in));
	if (call.n_deps > 0 || call.n_cl_deps > 0 || call.after != NULL)
		return error_set(CHOIR_ARGUMENT, "%s_init: a call that is kept has no deps: give them to choir_start", d->call);
	TRY(dense_algorithm(d, &call, &in));
	request = calloc(1, sizeof *request);
	if (request == NULL)
		return error_no_memory("a persistent call", sizeof *request);
	request->in = in;
	st = keep(request, d, &call);
	comm_retain(d->comm);
	if (st != CHOIR_SUCCESS) {
		choir_request_free(request);
		return st;
	}
	*request_p = request;
	return CHOIR_SUCCESS;
}

/* What may differ from start to start: when it begins, and how long it may take. */
static choir_status read_start(const struct choir_request *request, const choir_call *given, choir_call *call)
{
	choir_call start;

	*call = request->call;
	if (given == NULL)
		return CHOIR_SUCCESS;
	TRY(call_read("choir_start", given, true, &start));
	if (given->options != NULL || start.factor != 1)
		return error_set(CHOIR_ARGUMENT, "choir_start: options and factor belong to %s_init", request->dense.call);
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
	struct algo_in in;
	choir_call call;

	if (request == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_start: null request");
	if (request->dense.comm->device == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_start: the comm of this %s has been destroyed", request->dense.call);
	TRY(call_check_comm(request->dense.call, request->dense.comm));
	TRY(read_start(request, given, &call));
	in = request->in;
	return dense_go(&request->dense, &call, &in, event_p);
}

void choir_request_free(choir_request *request)
{
	if (request == NULL)
		return;
	for (size_t i = 0; i < 2; i++)
		if (request->kept[i] != NULL)
			clReleaseMemObject(request->kept[i]);
	free(request->options);
	free(request->name);
	comm_release(request->dense.comm);
	free(request);
}
