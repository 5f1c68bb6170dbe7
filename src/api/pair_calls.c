/* SPDX-License-Identifier: MIT */
/* send, recv, and both at once: a sendrecv is two runs that share one event, so it meets sends and recvs of others like any. */
#include "api/dense.h"

#include "exec/express.h"

#include <string.h>

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

static const char name[] = "choir_sendrecv";

/* repeats: what the next one must be the same in to be repeated; NULL = it is not to be. */
static choir_status exchange(choir_comm *comm, choir_buffer send, size_t send_count, int dest, choir_buffer recv, size_t recv_count, int source,
                             choir_dtype dtype, const choir_call *given, choir_event **event_p, const struct repeat_call *repeats)
{
	static const enum express_kind kinds[] = { EXPRESS_SEND, EXPRESS_RECV };
	struct dense d[2];
	struct algo_in shapes[2] = { { 0 }, { 0 } };
	struct run *runs[2];
	choir_call call;
	choir_status st;

	d[0] = send_of(name, comm, send, send_count, dtype, dest);
	d[1] = recv_of(name, comm, recv, recv_count, dtype, source);
	d[0].repeat = repeats != NULL ? &repeats[0] : NULL;
	d[1].repeat = repeats != NULL ? &repeats[1] : NULL;
	TRY(dense_check(&d[0], given, &call, &shapes[0]));
	TRY(dense_check(&d[1], given, &call, &shapes[1]));
	TRY(check_apart(&d[0], &d[1]));
	d[0].blocks = d[1].blocks = event_p == NULL && !group_is_open();
	if (d[0].blocks)
		TRY(call_may_block(name, comm, true));
	if (dense_express(&d[0], &call) && dense_express(&d[1], &call) && express_begin(comm, kinds, 2, runs))
		return dense_on_the_spot(d, &call, shapes, runs, 2);
	TRY(dense_make(&d[0], &call, &shapes[0], &runs[0]));
	st = dense_make(&d[1], &call, &shapes[1], &runs[1]);
	if (st != CHOIR_SUCCESS) {
		run_discard(runs[0]);
		return st;
	}
	run_join(runs[0], runs[1]);
	return call_start_all(name, runs, 2, event_p);
}

/* One half, word by word: nothing else of the call is needed where it is the one before once more. */
static void describe(struct repeat_call *half, enum express_kind kind, size_t count, choir_dtype dtype, int peer, const choir_call *given)
{
	half->kind = kind;
	half->name = name;
	half->send = half->recv = choir_none();
	half->count = count;
	memset(half->lists, 0, sizeof half->lists);
	half->collective = kind == EXPRESS_SEND ? COLLECTIVE_SEND : COLLECTIVE_RECV;
	half->dtype = dtype;
	half->op = 0;
	half->root = peer;
	half->deadline_ms = given != NULL ? given->deadline_ms : 0;
	half->disagree_ctx = NULL;
}

choir_status choir_sendrecv(choir_comm *comm, choir_buffer send, size_t send_count, int dest, choir_buffer recv, size_t recv_count,
                            int source, choir_dtype dtype, const choir_call *given, choir_event **event_p)
{
	struct repeat_call repeats[2];
	choir_status st;
	bool may;

	describe(&repeats[0], EXPRESS_SEND, send_count, dtype, dest, given);
	describe(&repeats[1], EXPRESS_RECV, recv_count, dtype, source, given);
	repeats[0].send = send;
	repeats[1].recv = recv;
	if (dense_repeat(comm, repeats, 2, given, event_p, &may, &st))
		return st;
	return exchange(comm, send, send_count, dest, recv, recv_count, source, dtype, given, event_p, may ? repeats : NULL);
}
