/* SPDX-License-Identifier: MIT */
/* send, recv, and both at once: a sendrecv is two runs that share one event, so it meets sends and recvs of others like
 * any. */
#include "api/dense.h"
#include "api/options.h"
#include "api/pair_calls.h"
#include "api/request.h"
#include "api/start.h"

static const struct call_form send_form = { .name = "choir_send",
	                                    .collective = COLLECTIVE_SEND,
	                                    .prepare = dense_prepare };

static const struct call_form recv_form = { .name = "choir_recv",
	                                    .collective = COLLECTIVE_RECV,
	                                    .prepare = dense_prepare };

choir_status choir_send(choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer,
                        const choir_call *call, choir_event **event_p)
{
	struct call_key key = { .form = &send_form, .send = send, .count = count, .dtype = dtype, .peer = peer };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_recv(choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer,
                        const choir_call *call, choir_event **event_p)
{
	struct call_key key = { .form = &recv_form, .recv = recv, .count = count, .dtype = dtype, .peer = peer };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_send_init(choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer,
                             const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &send_form, .send = send, .count = count, .dtype = dtype, .peer = peer };

	return request_create(comm, &key, call, request_p);
}

choir_status choir_recv_init(choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer,
                             const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &recv_form, .recv = recv, .count = count, .dtype = dtype, .peer = peer };

	return request_create(comm, &key, call, request_p);
}

/* The halves of a sendrecv, whose sentences name the whole. */
static const struct call_form send_half = { .name = "choir_sendrecv", .collective = COLLECTIVE_SEND };
static const struct call_form recv_half = { .name = "choir_sendrecv", .collective = COLLECTIVE_RECV };

static choir_status halves_of(choir_comm *comm, const struct call_key *key, struct dense halves[2])
{
	struct call_key recv = *key;

	recv.count = key->recv_count;
	recv.peer = key->source;
	TRY(dense_of(comm, key, &send_half, &halves[0]));
	return dense_of(comm, &recv, &recv_half, &halves[1]);
}

static choir_status prepare_half(struct dense *half, const choir_call *call, struct prepared *prepared, size_t i)
{
	struct dense_options options;

	TRY(options_read(half->call, half->comm, call, half->collective, &options));
	return dense_part(half, call, &options, prepared, i);
}

static choir_status prepare_halves(struct dense halves[2], const choir_call *call, struct prepared *prepared)
{
	TRY(prepare_half(&halves[0], call, prepared, 0));
	TRY(prepare_half(&halves[1], call, prepared, 1));
	if (dev_overlap(halves[0].send, halves[0].send_bytes, halves[1].recv, halves[1].recv_bytes, NULL, NULL))
		return error_set(CHOIR_ARGUMENT, "%s: send and recv overlap", halves[0].call);
	prepared->may_inline = dense_may_inline(halves[0].comm, true, halves[0].send_bytes) &&
	                       dense_may_inline(halves[0].comm, true, halves[1].recv_bytes);
	return CHOIR_SUCCESS;
}

static choir_status prepare_sendrecv(choir_comm *comm, const struct call_key *key, const choir_call *call,
                                     struct prepared **out_p)
{
	struct prepared *prepared;
	struct dense halves[2];
	choir_status st;

	TRY(halves_of(comm, key, halves));
	TRY(prepared_create(comm, key, 2, &prepared));
	st = prepare_halves(halves, call, prepared);
	if (st != CHOIR_SUCCESS) {
		prepared_release(prepared);
		return st;
	}
	*out_p = prepared;
	return CHOIR_SUCCESS;
}

static const struct call_form sendrecv = { .name = "choir_sendrecv",
	                                   .collective = COLLECTIVE_SEND,
	                                   .prepare = prepare_sendrecv };

choir_status choir_sendrecv(choir_comm *comm, choir_buffer send, size_t send_count, int dest, choir_buffer recv,
                            size_t recv_count, int source, choir_dtype dtype, const choir_call *call,
                            choir_event **event_p)
{
	struct call_key key = { .form = &sendrecv,
		                .send = send,
		                .recv = recv,
		                .count = send_count,
		                .recv_count = recv_count,
		                .dtype = dtype,
		                .peer = dest,
		                .source = source };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_sendrecv_init(choir_comm *comm, choir_buffer send, size_t send_count, int dest, choir_buffer recv,
                                 size_t recv_count, int source, choir_dtype dtype, const choir_call *call,
                                 choir_request **request_p)
{
	struct call_key key = { .form = &sendrecv,
		                .send = send,
		                .recv = recv,
		                .count = send_count,
		                .recv_count = recv_count,
		                .dtype = dtype,
		                .peer = dest,
		                .source = source };

	return request_create(comm, &key, call, request_p);
}

static const struct call_form of_split = {
	.name = "choir_sendrecv", .collective = COLLECTIVE_SEND, .of_split = true, .prepare = prepare_sendrecv
};

choir_status split_sendrecv(const char *name, choir_comm *comm, size_t bytes, const void *send, int dest, void *recv,
                            int source)
{
	choir_call call = call_part_of(name);
	struct call_key key = { .form = &of_split,
		                .send = choir_host((void *)send),
		                .recv = choir_host(recv),
		                .count = bytes,
		                .recv_count = bytes,
		                .dtype = CHOIR_U8,
		                .peer = dest,
		                .source = source };

	call.tag = CALL_SPLIT_TAG;
	return start_call(comm, &key, &call, NULL);
}
