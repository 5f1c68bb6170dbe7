/* SPDX-License-Identifier: MIT */
/* send, recv, and both at once: a sendrecv is two runs that share one event, so it meets sends and recvs of others like any. */
#include "api/dense.h"

static struct dense send_of(const char *call, choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer)
{
	return (struct dense){ .call = call, .collective = COLLECTIVE_SEND, .comm = comm, .send = send, .count = count, .send_blocks = 1,
		               .dtype = dtype, .root = peer, .rooted = true, .inner_block = -1 };
}

static struct dense recv_of(const char *call, choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer)
{
	return (struct dense){ .call = call, .collective = COLLECTIVE_RECV, .comm = comm, .recv = recv, .count = count, .recv_blocks = 1,
		               .dtype = dtype, .root = peer, .rooted = true, .inner_block = -1 };
}

choir_status choir_send(choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer, const choir_call *call,
                        choir_event **event_p)
{
	struct dense d = send_of("choir_send", comm, send, count, dtype, peer);

	return dense_start(&d, call, event_p);
}

choir_status choir_recv(choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer, const choir_call *call,
                        choir_event **event_p)
{
	struct dense d = recv_of("choir_recv", comm, recv, count, dtype, peer);

	return dense_start(&d, call, event_p);
}

static choir_status check_apart(const struct dense *send, const struct dense *recv)
{
	if (dev_overlap(send->send, send->send_bytes, recv->recv, recv->recv_bytes, NULL, NULL))
		return error_set(CHOIR_ARGUMENT, "%s: send and recv overlap", send->call);
	return CHOIR_SUCCESS;
}

choir_status choir_sendrecv(choir_comm *comm, choir_buffer send, size_t send_count, int dest, choir_buffer recv, size_t recv_count,
                            int source, choir_dtype dtype, const choir_call *given, choir_event **event_p)
{
	static const char name[] = "choir_sendrecv";
	struct dense out = send_of(name, comm, send, send_count, dtype, dest), in = recv_of(name, comm, recv, recv_count, dtype, source);
	struct algo_in out_shape = { 0 }, in_shape = { 0 };
	struct run *sends, *receives;
	choir_call call;
	choir_status st;

	TRY(dense_check(&out, given, &call, &out_shape));
	TRY(dense_check(&in, given, &call, &in_shape));
	TRY(check_apart(&out, &in));
	if (event_p == NULL && !group_is_open())
		TRY(call_may_block(name, comm, true));
	TRY(dense_make(&out, &call, &out_shape, &sends));
	st = dense_make(&in, &call, &in_shape, &receives);
	if (st != CHOIR_SUCCESS) {
		run_discard(sends);
		return st;
	}
	run_join(sends, receives);
	return call_start_all(name, (struct run *[]){ sends, receives }, 2, event_p);
}
