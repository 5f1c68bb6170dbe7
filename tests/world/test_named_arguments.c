/* SPDX-License-Identifier: MIT */
/* choir_call.name stands in the sentence about a wrong argument of every kind of call, also where the comm is null. */
#include "world/gate.h"

#include <choir/chunks.h>
#include <choir/pairs.h>
#include <choir/topk.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COUNT = 100 };

struct buffers {
	int32_t in[COUNT], out[COUNT];
};

typedef choir_status (*wrong_fn)(choir_comm *comm, struct buffers *b, const choir_call *call);

static choir_status null_send(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	choir_request *request;

	return choir_allreduce_init(comm, choir_host(NULL), choir_host(b->out), COUNT, CHOIR_I32, CHOIR_OP_SUM, call,
	                            &request);
}

static choir_status far_peer(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	choir_request *request;

	return choir_send_init(comm, choir_host(b->in), COUNT, CHOIR_I32, 7, call, &request);
}

static choir_status no_tensors(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	choir_request *request;

	(void)b;
	return choir_allreduce_multi_init(comm, NULL, 2, CHOIR_OP_SUM, call, &request);
}

static choir_status kept_alltoallv(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	choir_request *request;

	return choir_alltoallv_init(comm, choir_host(b->in), NULL, NULL, choir_host(b->out), NULL, NULL, CHOIR_I32,
	                            call, &request);
}

static choir_status bad_local(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	choir_buffer send = choir_host(b->in), recv = choir_host(b->out);

	return choir_allreduce_local(1, &comm, &send, &recv, COUNT, CHOIR_I32, (choir_op)99, call, NULL);
}

static choir_status null_local(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	(void)b;
	return choir_allreduce_local(1, &comm, NULL, NULL, COUNT, CHOIR_I32, CHOIR_OP_SUM, call, NULL);
}

static choir_status no_comms(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	choir_buffer send = choir_host(b->in), recv = choir_host(b->out);

	(void)comm;
	return choir_allreduce_local(0, NULL, &send, &recv, COUNT, CHOIR_I32, CHOIR_OP_SUM, call, NULL);
}

static choir_status gather_chunks(choir_comm *comm, struct buffers *b, size_t n, const choir_call *call)
{
	choir_chunk chunk[2] = { { .buffer = choir_host(b->in), .index = 1, .count = COUNT } };
	choir_chunks chunks = CHOIR_CHUNKS_INIT;
	choir_buffer recv = choir_host(b->out);

	chunks.chunks = chunk;
	chunks.n = n;
	chunks.count = COUNT;
	chunks.dtype = CHOIR_I32;
	return choir_chunks_allgather(1, &comm, &chunks, &recv, call, NULL);
}

static choir_status no_chunks(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	return gather_chunks(comm, b, 0, call);
}

static choir_status many_chunks(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	return gather_chunks(comm, b, 2, call);
}

static choir_status far_holder(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	choir_chunks chunks = CHOIR_CHUNKS_INIT;

	return choir_chunks_concat(1, &comm, &chunks, 5, choir_host(b->out), call, NULL);
}

static choir_status null_comm(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	(void)comm;
	return choir_allreduce(NULL, choir_host(b->in), choir_host(b->out), COUNT, CHOIR_I32, CHOIR_OP_SUM, call, NULL);
}

static choir_status null_sparse_comm(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	(void)comm;
	return choir_sparse_allreduce(NULL, choir_host(b->in), 0, choir_host(b->in), 0, choir_host(b->out), NULL,
	                              choir_host(b->out), NULL, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, call, NULL);
}

static choir_status null_kept_comm(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	(void)comm;
	return null_send(NULL, b, call);
}

static choir_status null_request(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	(void)comm, (void)b;
	return choir_start(NULL, call, NULL);
}

static choir_status null_device(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	(void)comm;
	return choir_gather_rows(NULL, choir_host(b->in), 1, CHOIR_I32, choir_host(b->in), 1, 1, CHOIR_I32,
	                         choir_host(b->out), call, NULL);
}

static choir_status null_topk(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	(void)comm;
	return choir_topk_allreduce(NULL, choir_host(b->in), NULL, call, NULL);
}

static choir_status null_sequence(choir_comm *comm, struct buffers *b, const choir_call *call)
{
	(void)comm, (void)b;
	return choir_sequence_start(NULL, call, NULL);
}

/* Each call, and how its sentence goes on behind the name. */
static const struct {
	wrong_fn fn;
	const char *says;
} wrongs[] = {
	{ null_send, "'gradients': choir_allreduce_init: send buffer" },
	{ far_peer, "'gradients': choir_send_init: " },
	{ no_tensors, "'gradients': choir_allreduce_multi_init: " },
	{ kept_alltoallv, "'gradients': choir_alltoallv_init: " },
	{ bad_local, "choir_allreduce_local: comms[0]: 'gradients': choir_allreduce_init: 99 is no operator" },
	{ null_local, "'gradients': choir_allreduce_local: sends is null" },
	{ no_comms, "'gradients': choir_allreduce_local: n_local is 0" },
	{ no_chunks, "'gradients': choir_chunks_allgather: chunks->chunks is null" },
	{ many_chunks, "'gradients': choir_chunks_allgather: chunks->n is 2" },
	{ far_holder, "'gradients': choir_chunks_concat: holder is 5" },
	{ null_comm, "'gradients': choir_allreduce: null comm" },
	{ null_sparse_comm, "'gradients': choir_sparse_allreduce: null comm" },
	{ null_kept_comm, "'gradients': choir_allreduce_init: null comm" },
	{ null_request, "'gradients': choir_start: null request" },
	{ null_device, "'gradients': choir_gather_rows: null device" },
	{ null_topk, "'gradients': choir_topk_allreduce: null" },
	{ null_sequence, "'gradients': choir_sequence_start: null sequence" },
};

static void call_wrongly(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct buffers *b = calloc(1, sizeof *b);
	choir_call call = CHOIR_CALL_INIT;

	(void)unused;
	call.name = "gradients";
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
		SAYS(wrongs[i].fn(comm, b, &call), CHOIR_ARGUMENT, wrongs[i].says);
	free(b);
}

static void test_wrong_arguments(void **state)
{
	(void)state;
	world_run(1, NULL, call_wrongly, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_wrong_arguments) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
