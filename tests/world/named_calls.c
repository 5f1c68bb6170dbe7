/* SPDX-License-Identifier: MIT */
#include "world/named_calls.h"

#include <choir/topk.h>

choir_status named_allreduce(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	return choir_allreduce(comm, choir_host(b->in), choir_host(b->out), NAMED_COUNT, CHOIR_I32, CHOIR_OP_SUM, call,
	                       event_p);
}

choir_status named_allgatherv(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	static const size_t counts[] = { 60, 40 }, at[] = { 0, 60 };

	return choir_allgatherv(comm, choir_host(b->in), counts[choir_comm_rank(comm)], choir_host(b->out), counts, at,
	                        CHOIR_I32, call, event_p);
}

choir_status named_alltoallv(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	static const size_t counts[] = { 50, 50 }, at[] = { 0, 50 };

	return choir_alltoallv(comm, choir_host(b->in), counts, at, choir_host(b->out), counts, at, CHOIR_I32, call,
	                       event_p);
}

choir_status named_list(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	choir_tensor tensors[2] = { { choir_host(b->in), choir_host(b->out), NAMED_COUNT, CHOIR_I32 },
		                    { choir_host(b->values), choir_host(b->sums), NAMED_COUNT, CHOIR_F32 } };

	return choir_allreduce_multi(comm, tensors, 2, CHOIR_OP_SUM, call, event_p);
}

choir_status named_recv(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	return choir_recv(comm, choir_host(b->out), NAMED_COUNT, CHOIR_I32, 1 - choir_comm_rank(comm), call, event_p);
}

choir_status named_sendrecv(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	int other = 1 - choir_comm_rank(comm);

	return choir_sendrecv(comm, choir_host(b->in), NAMED_COUNT, other, choir_host(b->out), NAMED_COUNT, other,
	                      CHOIR_I32, call, event_p);
}

choir_status named_sparse(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	for (int i = 0; i < NAMED_COUNT; i++)
		b->in[i] = i;
	b->n_ind = b->n_val = 2 * NAMED_COUNT;
	return choir_sparse_allreduce(comm, choir_host(b->in), NAMED_COUNT, choir_host(b->values), NAMED_COUNT,
	                              choir_host(b->out), &b->n_ind, choir_host(b->sums), &b->n_val, CHOIR_I32,
	                              CHOIR_F32, CHOIR_OP_SUM, NULL, call, event_p);
}

/* Rank 0 waits for the root. */
choir_status named_broadcast_list(choir_comm *comm, struct named_buffers *b, const choir_call *call,
                                  choir_event **event_p)
{
	choir_tensor tensors[2] = { { choir_host(b->in), choir_host(b->out), NAMED_COUNT, CHOIR_I32 },
		                    { choir_host(b->values), choir_host(b->sums), NAMED_COUNT, CHOIR_F32 } };

	return choir_broadcast_multi(comm, tensors, 2, 1, call, event_p);
}

choir_status named_allgather_list(choir_comm *comm, struct named_buffers *b, const choir_call *call,
                                  choir_event **event_p)
{
	choir_tensor tensors[2] = { { choir_host(b->in), choir_host(b->out), NAMED_COUNT, CHOIR_I32 },
		                    { choir_host(b->values), choir_host(b->sums), NAMED_COUNT, CHOIR_F32 } };

	return choir_allgather_multi(comm, tensors, 2, call, event_p);
}

/* The request has the name, its start has none. */
static choir_status start_kept(choir_status made, choir_request *request, choir_event **event_p)
{
	if (made != CHOIR_SUCCESS)
		return made;
	made = choir_start(request, NULL, event_p);
	choir_request_free(request);
	return made;
}

choir_status named_kept(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	choir_request *request = NULL;
	choir_status made = choir_allreduce_init(comm, choir_host(b->in), choir_host(b->out), NAMED_COUNT, CHOIR_I32,
	                                         CHOIR_OP_SUM, call, &request);

	return start_kept(made, request, event_p);
}

choir_status named_kept_sparse(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	choir_request *request = NULL;
	choir_status made;

	for (int i = 0; i < NAMED_COUNT; i++)
		b->in[i] = i;
	b->n_ind = b->n_val = 2 * NAMED_COUNT;
	made = choir_sparse_allreduce_init(comm, choir_host(b->in), NAMED_COUNT, choir_host(b->values), NAMED_COUNT,
	                                   choir_host(b->out), &b->n_ind, choir_host(b->sums), &b->n_val, CHOIR_I32,
	                                   CHOIR_F32, CHOIR_OP_SUM, NULL, call, &request);
	return start_kept(made, request, event_p);
}

choir_status named_topk(choir_comm *comm, struct named_buffers *b, const choir_call *call, choir_event **event_p)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state = NULL;
	choir_status st;

	config.count = NAMED_COUNT;
	config.k = 10;
	out.dense = choir_host(b->sums);
	st = choir_topk_create(comm, &config, &state);
	if (st == CHOIR_SUCCESS)
		st = choir_topk_allreduce(state, choir_host(b->values), &out, call, event_p);
	choir_topk_destroy(state);
	return st;
}

named_call_fn *const named_calls[N_NAMED_CALLS] = {
	named_allreduce, named_allgatherv,     named_alltoallv,      named_list, named_recv,        named_sendrecv,
	named_sparse,    named_broadcast_list, named_allgather_list, named_kept, named_kept_sparse, named_topk,
};

choir_call named(void)
{
	choir_call call = CHOIR_CALL_INIT;

	call.name = "gradients";
	return call;
}
