/* SPDX-License-Identifier: MIT */
/* Design notes.  The request keeps the cl_mems of its call, so what was found out about them holds.  Where peers find
 * the buffers may change: then the call is prepared anew, by its key.  The driver may later say another thing of an SVM
 * or USM pointer: a call with one is prepared anew at each start. */
#include "api/request.h"

#include "api/start.h"
#include "api/tensor_list.h"
#include "exec/commit.h"
#include "base/fork.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct choir_request {
	choir_comm *comm;          /* a reference */
	struct prepared *prepared; /* a reference; NULL = there is a kept call instead */
	struct kept_call *kept_call;
	char *options;                /* of a kept call, which call points to; NULL = none */
	choir_call call;              /* without deps */
	char *key;                    /* its choir_call.key, which call points to; NULL = none */
	char *name;                   /* the caller's name for it, which call points to; NULL = none */
	cl_mem kept[REQUEST_BUFFERS]; /* retained; NULL where the buffer is no cl_mem */
	struct segments_owner *hold;  /* keeps those of a list; NULL = there is none */
	atomic_flag starting;
};

static const char *function_of(const choir_request *request)
{
	return request->kept_call != NULL ? request->kept_call->function : request->prepared->key.form->name;
}

choir_comm *request_comm(const choir_request *request)
{
	return request->comm;
}

uint64_t request_numbers(const choir_request *request)
{
	if (request->kept_call != NULL)
		return 1;
	return request->prepared->parts[0].bound.pair ? 0 : request->prepared->n_parts;
}

/* Takes the members that may differ from start to start: what the call waits for, its key and its deadline. */
static choir_status read_start(const choir_request *request, const choir_call *given, choir_call *call)
{
	choir_call start;

	*call = request->call;
	if (given == NULL)
		return CHOIR_SUCCESS;
	TRY(call_read("choir_start", given, CALL_TAKES_FACTOR | CALL_TAKES_TAG, &start));
	if (start.options != NULL || start.factor != 1 || start.tag != 0)
		return error_set(CHOIR_ARGUMENT, "choir_start: options, factor and tag belong to %s_init",
		                 function_of(request));
	call->after = start.after;
	call->cl_deps = start.cl_deps;
	call->n_cl_deps = start.n_cl_deps;
	call->deps = start.deps;
	call->n_deps = start.n_deps;
	if (start.key != NULL)
		call->key = start.key;
	if (start.deadline_ms > 0)
		call->deadline_ms = start.deadline_ms;
	return CHOIR_SUCCESS;
}

static choir_status renew(choir_request *request, const choir_call *start)
{
	struct prepared *fresh;
	choir_call call = *start;
	choir_status st;

	call.options = request->prepared->key.options;
	TRY(start_prepare(request->comm, &request->prepared->key, &call, &fresh));
	st = commit_hold(fresh->commit);
	if (st != CHOIR_SUCCESS) {
		prepared_release(fresh);
		return st;
	}
	prepared_release(request->prepared);
	request->prepared = fresh;
	return CHOIR_SUCCESS;
}

static choir_status start(choir_request *request, const choir_call *given, choir_event **event_p)
{
	choir_call call;

	TRY(read_start(request, given, &call));
	if (request->kept_call != NULL)
		return request->kept_call->start(request->kept_call, request->comm, &call, event_p);
	if (!prepared_is_valid(request->comm, request->prepared, true) || !start_takes(request->prepared)) {
		TRY(renew(request, &call));
		if (!start_takes(request->prepared))
			return error_prefix(CHOIR_OPENCL, "choir_start");
	}
	return start_prepared(request->comm, request->prepared, &call, event_p, request->hold);
}

static choir_status start_once(choir_request *request, const choir_call *given, choir_event **event_p)
{
	choir_status st;

	TRY(comm_failure_inside(request->comm));
	if (atomic_flag_test_and_set_explicit(&request->starting, memory_order_acquire))
		return error_set(CHOIR_ARGUMENT, "choir_start: this %s is being started already", function_of(request));
	st = start(request, given, event_p);
	atomic_flag_clear_explicit(&request->starting, memory_order_release);
	return st;
}

choir_status choir_start(choir_request *request, const choir_call *given, choir_event **event_p)
{
	choir_status st;

	if (request == NULL)
		return call_named(error_set(CHOIR_ARGUMENT, "choir_start: null request"), given);
	if (request->comm->generation != fork_generation())
		return call_named(error_set(CHOIR_ARGUMENT,
		                            "choir_start: the comm of this %s belongs to the process before fork",
		                            function_of(request)),
		                  &request->call);
	if (!comm_enter(request->comm))
		return call_named(error_set(CHOIR_ARGUMENT, "choir_start: the comm of this %s has been destroyed",
		                            function_of(request)),
		                  &request->call);
	st = call_named(start_once(request, given, event_p), &request->call);
	comm_leave(request->comm);
	return st;
}

void choir_request_free(choir_request *request)
{
	if (request == NULL || request->comm->generation != fork_generation())
		return; /* the OpenCL objects of a forked child are its parent's */
	for (size_t i = 0; i < REQUEST_BUFFERS; i++)
		if (request->kept[i] != NULL)
			clReleaseMemObject(request->kept[i]);
	segments_release(request->hold);
	prepared_release(request->prepared);
	if (request->kept_call != NULL)
		request->kept_call->destroy(request->kept_call);
	comm_release(request->comm);
	free(request->options);
	free(request->key);
	free(request->name);
	free(request);
}

/* The buffers of one part, or of a sendrecv's two. */
static choir_status keep_buffers(choir_request *request)
{
	const struct prepared *prepared = request->prepared;

	if (prepared->key.tensors != NULL)
		return tensor_list_hold((struct tensor_list *)prepared->owner, &request->hold);
	TRY(dev_keep(prepared->parts[0].send, &request->kept[0]));
	return dev_keep(prepared->parts[prepared->n_parts - 1].recv, &request->kept[1]);
}

static choir_status copy_text(const char *text, char **out_p)
{
	*out_p = text != NULL ? strdup(text) : NULL;
	return text != NULL && *out_p == NULL ? error_no_memory("a persistent call", strlen(text) + 1) : CHOIR_SUCCESS;
}

static choir_status keep_call(choir_request *request, const choir_call *call, const char *function)
{
	request->call = *call;
	request->call.struct_size = sizeof request->call;
	request->call.options = request->call.name = request->call.key = NULL;
	TRY(copy_text(call->key, &request->key));
	TRY(copy_text(call->name != function ? call->name : NULL, &request->name));
	request->call.key = request->key;
	request->call.name = request->name;
	return CHOIR_SUCCESS;
}

static choir_status prepare(choir_request *request, struct call_key *key, const choir_call *call)
{
	key->options = call->options;
	key->factor = call->factor;
	key->tag = call->tag;
	TRY(keep_call(request, call, key->form->name));
	TRY(start_prepare(request->comm, key, call, &request->prepared));
	TRY(commit_hold(request->prepared->commit));
	return keep_buffers(request);
}

static choir_status keep(choir_request *request, struct kept_call *kept, const choir_call *call)
{
	TRY(keep_call(request, call, kept->function));
	TRY(copy_text(call->options, &request->options));
	request->call.options = request->options;
	TRY(kept->check(kept, request->comm, call));
	for (int i = 0; i < REQUEST_BUFFERS; i++)
		TRY(dev_keep(kept->buffers[i], &request->kept[i]));
	return CHOIR_SUCCESS;
}

/* One of key and kept is NULL. */
static choir_status create(choir_comm *comm, struct call_key *key, struct kept_call *kept, const choir_call *given,
                           choir_request **request_p)
{
	const char *name = kept != NULL ? kept->function : key->form->name;
	choir_request *request;
	choir_call call;
	choir_status st;

	TRY(call_check_comm(name, comm));
	TRY(call_read(name, given, kept != NULL ? kept->takes : call_takes(key), &call));
	if (request_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s_init: null pointer for the request", name);
	if (call.n_deps > 0 || call.n_cl_deps > 0 || call.after != NULL)
		return error_set(CHOIR_ARGUMENT, "%s_init: a call that is kept has no deps: give them to choir_start",
		                 name);
	request = calloc(1, sizeof *request);
	if (request == NULL)
		return error_no_memory("a persistent call", sizeof *request);
	request->comm = comm_retain(comm);
	atomic_flag_clear(&request->starting);
	st = kept != NULL ? keep(request, kept, &call) : prepare(request, key, &call);
	if (st != CHOIR_SUCCESS) {
		choir_request_free(request);
		return st;
	}
	request->kept_call = kept;
	*request_p = request;
	return CHOIR_SUCCESS;
}

choir_status request_named(choir_status st, const char *function, const choir_call *given)
{
	size_t length = strlen(function);

	if (st != CHOIR_SUCCESS && strncmp(error_text(), function, length) == 0 && error_text()[length] == ':')
		(void)error_set(st, "%s_init%s", function, error_text() + length);
	return call_named(st, given);
}

choir_status request_keep(choir_comm *comm, struct kept_call *kept, const choir_call *given, choir_request **request_p)
{
	const char *function = kept->function;
	choir_status st = call_enter(function, comm);

	if (st == CHOIR_SUCCESS) {
		st = create(comm, NULL, kept, given, request_p);
		comm_leave(comm);
	}
	if (st != CHOIR_SUCCESS)
		kept->destroy(kept);
	return request_named(st, function, given);
}

choir_status request_create(choir_comm *comm, struct call_key *key, const choir_call *given, choir_request **request_p)
{
	choir_status st = call_enter(key->form->name, comm);

	if (st == CHOIR_SUCCESS) {
		st = create(comm, key, NULL, given, request_p);
		comm_leave(comm);
	}
	return request_named(st, key->form->name, given);
}
