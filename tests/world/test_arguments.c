/* SPDX-License-Identifier: MIT */
/* Every wrong argument of every public call: a status, a sentence with the call and the value, nothing sent.  Rank 0
 * alone makes the wrong calls; that the ranks' next call still meets shows that nothing was. */
#include "world/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static float a[1024], b[1024];
static const choir_status wrong = CHOIR_ARGUMENT;

static choir_status sum_of(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, const choir_call *call)
{
	return choir_allreduce(comm, send, recv, count, CHOIR_F32, CHOIR_OP_SUM, call, NULL);
}

static void wrong_numbers(struct world *world, int rank, choir_comm *comm)
{
	choir_buffer s = choir_host(a), r = choir_host(b);
	size_t huge[] = { SIZE_MAX, SIZE_MAX / 4, (size_t)1 << 62, ((size_t)1 << 61) - 1 };

	for (size_t i = 0; i < 4; i++) {
		SAYS(sum_of(comm, s, r, huge[i], NULL), wrong, "choir_allreduce");
		SAYS(choir_reduce_scatter(comm, s, r, huge[i], CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), wrong,
		     "choir_reduce_scatter");
		SAYS(choir_allgather(comm, s, r, huge[i], CHOIR_F32, NULL, NULL), wrong, "choir_allgather");
		SAYS(choir_broadcast(comm, s, r, huge[i], CHOIR_F32, 0, NULL, NULL), wrong, "choir_broadcast");
		SAYS(choir_reduce(comm, s, r, huge[i], CHOIR_F32, CHOIR_OP_SUM, 0, NULL, NULL), wrong, "choir_reduce");
		SAYS(choir_send(comm, s, huge[i], CHOIR_F32, 1, NULL, NULL), wrong, "choir_send");
		SAYS(choir_recv(comm, r, huge[i], CHOIR_F32, 1, NULL, NULL), wrong, "choir_recv");
		SAYS(choir_sendrecv(comm, s, huge[i], 1, r, 4, 1, CHOIR_F32, NULL, NULL), wrong, "choir_sendrecv");
		SAYS(choir_sendrecv(comm, s, 4, 1, r, huge[i], 1, CHOIR_F32, NULL, NULL), wrong, "choir_sendrecv");
		SAYS(choir_alltoall(comm, s, r, huge[i], CHOIR_F32, NULL, NULL), wrong, "choir_alltoall");
	}
	for (int root = -1; root <= 2; root += 3) {
		SAYS(choir_broadcast(comm, s, r, 4, CHOIR_F32, root, NULL, NULL), wrong,
		     root < 0 ? "choir_broadcast|rank -1" : "choir_broadcast|rank 2");
		SAYS(choir_reduce(comm, s, r, 4, CHOIR_F32, CHOIR_OP_SUM, root, NULL, NULL), wrong,
		     root < 0 ? "choir_reduce|rank -1" : "choir_reduce|rank 2");
		SAYS(choir_send(comm, s, 4, CHOIR_F32, root, NULL, NULL), wrong,
		     root < 0 ? "choir_send|rank -1" : "choir_send|rank 2");
		SAYS(choir_recv(comm, r, 4, CHOIR_F32, root, NULL, NULL), wrong,
		     root < 0 ? "choir_recv|rank -1" : "choir_recv|rank 2");
		SAYS(choir_sendrecv(comm, s, 4, root, r, 4, 1, CHOIR_F32, NULL, NULL), wrong,
		     root < 0 ? "choir_sendrecv|rank -1" : "choir_sendrecv|rank 2");
		SAYS(choir_sendrecv(comm, s, 4, 1, r, 4, root, CHOIR_F32, NULL, NULL), wrong,
		     root < 0 ? "choir_sendrecv|rank -1" : "choir_sendrecv|rank 2");
	}
}

static void wrong_types(struct world *world, int rank, choir_comm *comm)
{
	choir_buffer s = choir_host(a), r = choir_host(b);
	static const choir_dtype none[] = { -1, 77, 1 << 30 };
	static const size_t counts[] = { 4, 4 };

	for (size_t i = 0; i < 3; i++) {
		SAYS(choir_allreduce(comm, s, r, 4, none[i], CHOIR_OP_SUM, NULL, NULL), wrong, "choir_allreduce");
		SAYS(choir_allgather(comm, s, r, 4, none[i], NULL, NULL), wrong, "choir_allgather");
		SAYS(choir_send(comm, s, 4, none[i], 1, NULL, NULL), wrong, "choir_send");
		SAYS(choir_alltoall(comm, s, r, 4, none[i], NULL, NULL), wrong, "choir_alltoall");
		SAYS(choir_alltoallv(comm, s, counts, NULL, r, counts, NULL, none[i], NULL, NULL), wrong,
		     "choir_alltoallv|data type");
		SAYS(choir_reduce_scatterv(comm, s, r, counts, none[i], CHOIR_OP_SUM, NULL, NULL), wrong,
		     "choir_reduce_scatterv");
		SAYS(choir_reduce_scatterv(comm, s, r, counts, CHOIR_F32, none[i], NULL, NULL), wrong,
		     "choir_reduce_scatterv");
		SAYS(choir_allreduce(comm, s, r, 4, CHOIR_F32, none[i], NULL, NULL), wrong, "choir_allreduce");
		SAYS(choir_reduce(comm, s, r, 4, CHOIR_F32, none[i], 0, NULL, NULL), wrong, "choir_reduce");
	}
	SAYS(choir_allreduce(comm, s, r, 4, 77, CHOIR_OP_SUM, NULL, NULL), wrong, "77");
	SAYS(choir_allreduce(comm, s, r, 4, CHOIR_F32, CHOIR_OP_BAND, NULL, NULL), CHOIR_UNSUPPORTED,
	     "choir_allreduce|f32|band");
	SAYS(choir_reduce_scatter(comm, s, r, 4, CHOIR_F64, CHOIR_OP_BXOR, NULL, NULL), CHOIR_UNSUPPORTED,
	     "choir_reduce_scatter|f64|bxor");
	SAYS(choir_supports(comm, "allreduce", CHOIR_F32, CHOIR_OP_BOR, choir_none()), CHOIR_UNSUPPORTED, "f32|bor");
	SAYS(choir_supports(comm, "allreduce", 77, CHOIR_OP_SUM, choir_none()), CHOIR_UNSUPPORTED, "77");
	SAYS(choir_supports(comm, "reduce_scatterv", CHOIR_F32, CHOIR_OP_BOR, choir_none()), CHOIR_UNSUPPORTED,
	     "f32|bor");
	OK(choir_supports(comm, "alltoall", CHOIR_F32, CHOIR_OP_BOR, choir_none()));
	OK(choir_supports(comm, "alltoallv", CHOIR_BF16, 0, s));
	OK(choir_supports(comm, "sendrecv", CHOIR_BOOL, 0, s));
	SAYS(choir_supports(comm, "alreduce", CHOIR_F32, CHOIR_OP_SUM, choir_none()), wrong, "alreduce");
	SAYS(choir_supports(comm, NULL, CHOIR_F32, CHOIR_OP_SUM, choir_none()), wrong, "choir_supports|null");
	SAYS(choir_supports(NULL, "allreduce", CHOIR_F32, CHOIR_OP_SUM, choir_none()), wrong, "choir_supports|null");
	SAYS(choir_comm_warm(comm, 77, CHOIR_OP_SUM), wrong, "choir_comm_warm|77");
}

static void wrong_buffers(struct world *world, int rank, choir_comm *comm)
{
	choir_buffer s = choir_host(a), r = choir_host(b), odd = choir_host((char *)a + 2), bad = s;
	size_t counts[] = { 4, 4 }, apart[] = { 0, 2 };
	float *pair = (uintptr_t)a % 8 == 0 ? a + 1 : a;

	bad.kind = (choir_buffer_kind)9;
	SAYS(sum_of(comm, choir_none(), r, 4, NULL), wrong, "choir_allreduce|send");
	SAYS(sum_of(comm, s, choir_none(), 4, NULL), wrong, "choir_allreduce|recv");
	SAYS(sum_of(comm, choir_host(NULL), r, 4, NULL), wrong, "choir_allreduce|send|null");
	SAYS(sum_of(comm, bad, r, 4, NULL), wrong, "choir_allreduce|9");
	SAYS(sum_of(comm, odd, r, 4, NULL), wrong, "choir_allreduce|send|4 bytes");
	SAYS(choir_allreduce(comm, choir_host(pair), r, 1, CHOIR_F32_I32, CHOIR_OP_MINLOC, NULL, NULL), wrong,
	     "choir_allreduce|send|8 bytes"); /* pairs are aligned to their size */
	SAYS(sum_of(comm, s, choir_host(a + 2), 4, NULL), wrong, "choir_allreduce|overlap|8 bytes");
	SAYS(choir_allgather(comm, choir_host(b + 1), r, 4, CHOIR_F32, NULL, NULL), wrong, "choir_allgather|overlap");
	SAYS(choir_reduce_scatter(comm, s, choir_host(a + 2), 4, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), wrong,
	     "choir_reduce_scatter|overlap");
	SAYS(choir_allgatherv(comm, s, 4, r, NULL, NULL, CHOIR_F32, NULL, NULL), wrong, "choir_allgatherv|recv_counts");
	SAYS(choir_allgatherv(comm, s, 3, r, counts, NULL, CHOIR_F32, NULL, NULL), wrong, "choir_allgatherv|3|4");
	SAYS(choir_allgatherv(comm, s, 4, r, counts, apart, CHOIR_F32, NULL, NULL), wrong, "choir_allgatherv|overlap");
	SAYS(choir_alltoall(comm, s, choir_host(a + 2), 4, CHOIR_F32, NULL, NULL), wrong,
	     "choir_alltoall|overlap|8 bytes");
	SAYS(choir_alltoall(comm, choir_none(), r, 4, CHOIR_F32, NULL, NULL), wrong, "choir_alltoall|send");
	SAYS(choir_alltoallv(comm, s, NULL, NULL, r, counts, NULL, CHOIR_F32, NULL, NULL), wrong,
	     "choir_alltoallv|send_counts");
	SAYS(choir_alltoallv(comm, s, counts, NULL, r, NULL, NULL, CHOIR_F32, NULL, NULL), wrong,
	     "choir_alltoallv|recv_counts");
	SAYS(choir_alltoallv(comm, s, counts, NULL, r, counts, apart, CHOIR_F32, NULL, NULL), wrong,
	     "choir_alltoallv|byte 8 overlap");
	SAYS(choir_alltoallv(comm, s, counts, NULL, s, counts, NULL, CHOIR_F32, NULL, NULL), wrong,
	     "choir_alltoallv|send and recv overlap");
	SAYS(choir_alltoallv(comm, s, counts, NULL, choir_none(), counts, NULL, CHOIR_F32, NULL, NULL), wrong,
	     "choir_alltoallv|recv");
	SAYS(choir_reduce_scatterv(comm, s, r, NULL, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), wrong,
	     "choir_reduce_scatterv|recv_counts");
	SAYS(choir_reduce_scatterv(comm, s, choir_host(a + 4), counts, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), wrong,
	     "choir_reduce_scatterv|overlap");
	SAYS(choir_sendrecv(comm, s, 4, 1, choir_host(a + 3), 4, 1, CHOIR_F32, NULL, NULL), wrong,
	     "choir_sendrecv|overlap");
	SAYS(choir_sendrecv(comm, s, 4, 1, choir_none(), 4, 1, CHOIR_F32, NULL, NULL), wrong, "choir_sendrecv|recv");
	counts[1] = SIZE_MAX / 8;
	SAYS(choir_alltoallv(comm, s, counts, NULL, r, counts, NULL, CHOIR_F32, NULL, NULL), wrong,
	     "choir_alltoallv|rank 1");
	SAYS(choir_reduce_scatterv(comm, s, r, counts, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), wrong,
	     "choir_reduce_scatterv|rank 1");
	SAYS(choir_allgatherv(comm, s, 4, r, counts, NULL, CHOIR_F32, NULL, NULL), wrong, "choir_allgatherv|rank 1");
	SAYS(choir_broadcast(comm, choir_none(), r, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_broadcast|send");
	SAYS(choir_reduce(comm, s, choir_none(), 4, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, NULL), wrong,
	     "choir_reduce|recv");
	SAYS(choir_send(comm, choir_none(), 4, CHOIR_F32, 1, NULL, NULL), wrong, "choir_send");
	SAYS(choir_recv(comm, choir_none(), 4, CHOIR_F32, 1, NULL, NULL), wrong, "choir_recv");
}

static void wrong_mems(struct world *world, int rank, choir_comm *comm)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(world->device), CL_MEM_READ_WRITE, 64, NULL, &rc);
	cl_mem foreign = clCreateBuffer(gate_context(), CL_MEM_READ_WRITE, 64, NULL, &rc);
	choir_buffer r = choir_host(b);

	SAYS(sum_of(comm, choir_mem(mem, 0), r, 17, NULL), wrong, "choir_allreduce|send|68 bytes|64 bytes");
	SAYS(sum_of(comm, choir_mem(mem, 4), r, 16, NULL), wrong, "choir_allreduce|offset 4|64 bytes");
	SAYS(sum_of(comm, choir_mem(mem, SIZE_MAX - 3), r, 1, NULL), wrong, "choir_allreduce|offset");
	SAYS(sum_of(comm, choir_mem(mem, 2), r, 4, NULL), wrong, "choir_allreduce|offset 2");
	SAYS(sum_of(comm, choir_mem(NULL, 0), r, 4, NULL), wrong, "choir_allreduce|null");
	SAYS(sum_of(comm, choir_mem(foreign, 0), r, 4, NULL), wrong, "choir_allreduce|context");
	SAYS(sum_of(comm, choir_mem(mem, 0), choir_mem(mem, 16), 8, NULL), wrong, "choir_allreduce|overlap");
	SAYS(choir_supports(comm, "allreduce", CHOIR_F32, CHOIR_OP_SUM, choir_mem(foreign, 0)), wrong, "context");
	clReleaseMemObject(mem);
	clReleaseMemObject(foreign);
}

static void wrong_calls(struct world *world, int rank, choir_comm *comm)
{
	choir_buffer s = choir_host(a), r = choir_host(b);
	choir_call call = CHOIR_CALL_INIT;
	choir_event *no_event = NULL;
	cl_event no_cl = NULL;
	static const struct {
		const char *options, *words;
		choir_status st;
	} options[] = {
		{ "algorithm=rong", "choir_allreduce|rong", CHOIR_ARGUMENT },
		{ "algoritm=ring", "choir_allreduce|algoritm|algorithm", CHOIR_ARGUMENT },
		{ "algorithm", "choir_allreduce|algorithm", CHOIR_ARGUMENT },
		{ "algorithm=", "choir_allreduce", CHOIR_ARGUMENT },
		{ "=ring", "choir_allreduce", CHOIR_ARGUMENT },
		{ "algorithm=oneshot,colour=red", "colour", CHOIR_ARGUMENT },
		{ "colour=red,algorithm=oneshot", "colour", CHOIR_ARGUMENT },
		{ "algorithm=single", "choir_allreduce|single", CHOIR_UNSUPPORTED },
		{ "algorithm=hier_ring", "choir_allreduce|hier_ring", CHOIR_UNSUPPORTED },
	};
	static const size_t struct_sizes[] = { 0, 1, 7, 1000 };

	for (size_t i = 0; i < 4; i++) {
		call.struct_size = struct_sizes[i];
		SAYS(sum_of(comm, s, r, 4, &call), wrong, "choir_allreduce|struct_size");
	}
	call = (choir_call)CHOIR_CALL_INIT;
	call.n_deps = 2;
	SAYS(sum_of(comm, s, r, 4, &call), wrong, "choir_allreduce|deps");
	call.deps = &no_event;
	call.n_deps = 1;
	SAYS(sum_of(comm, s, r, 4, &call), wrong, "choir_allreduce|deps[0]");
	call = (choir_call)CHOIR_CALL_INIT;
	call.n_cl_deps = 1;
	SAYS(choir_barrier(comm, &call, NULL), wrong, "choir_barrier|deps");
	call.cl_deps = &no_cl;
	SAYS(choir_barrier(comm, &call, NULL), wrong, "choir_barrier|cl_deps[0]");
	call = (choir_call)CHOIR_CALL_INIT;
	call.deadline_ms = -1;
	SAYS(sum_of(comm, s, r, 4, &call), wrong, "choir_allreduce|deadline_ms|-1");
	call.deadline_ms = 0;
	call.factor = 0.5;
	SAYS(sum_of(comm, s, r, 4, &call), wrong, "choir_allreduce|factor|0.5|premul_sum");
	SAYS(choir_barrier(comm, &call, NULL), wrong, "choir_barrier|factor|0.5");
	SAYS(choir_allgather(comm, s, r, 4, CHOIR_F32, &call, NULL), wrong, "choir_allgather|factor");
	call.factor = NAN;
	SAYS(choir_allreduce(comm, s, r, 4, CHOIR_F32, CHOIR_OP_PREMUL_SUM, &call, NULL), wrong,
	     "choir_allreduce|factor|nan");
	call.factor = -INFINITY;
	SAYS(choir_allreduce(comm, s, r, 4, CHOIR_F32, CHOIR_OP_PREMUL_SUM, &call, NULL), wrong,
	     "choir_allreduce|factor|-inf");
	call.factor = 1;
	SAYS(choir_allreduce(comm, s, r, 4, CHOIR_I32, CHOIR_OP_PREMUL_SUM, &call, NULL), CHOIR_UNSUPPORTED,
	     "choir_allreduce|premul_sum|i32");
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		call.options = options[i].options;
		SAYS(sum_of(comm, s, r, 4, &call), options[i].st, options[i].words);
	}
}

static void null_things(struct world *world, int rank, choir_comm *comm)
{
	choir_buffer s = choir_host(a), r = choir_host(b);
	size_t counts[] = { 1 };
	choir_event *null_event = NULL;
	choir_request *request = NULL;
	cl_event cl;
	char *text;
	int done;

	SAYS(sum_of(NULL, s, r, 4, NULL), wrong, "choir_allreduce|null comm");
	SAYS(choir_reduce_scatter(NULL, s, r, 4, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), wrong,
	     "choir_reduce_scatter|null comm");
	SAYS(choir_allgather(NULL, s, r, 4, CHOIR_F32, NULL, NULL), wrong, "choir_allgather|null comm");
	SAYS(choir_allgatherv(NULL, s, 1, r, counts, NULL, CHOIR_F32, NULL, NULL), wrong, "choir_allgatherv|null comm");
	SAYS(choir_broadcast(NULL, s, r, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_broadcast|null comm");
	SAYS(choir_reduce(NULL, s, r, 4, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, NULL), wrong, "choir_reduce|null comm");
	SAYS(choir_barrier(NULL, NULL, NULL), wrong, "choir_barrier|null comm");
	SAYS(choir_send(NULL, s, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_send|null comm");
	SAYS(choir_recv(NULL, r, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_recv|null comm");
	SAYS(choir_sendrecv(NULL, s, 4, 0, r, 4, 0, CHOIR_F32, NULL, NULL), wrong, "choir_sendrecv|null comm");
	SAYS(choir_alltoall(NULL, s, r, 4, CHOIR_F32, NULL, NULL), wrong, "choir_alltoall|null comm");
	SAYS(choir_alltoallv(NULL, s, counts, NULL, r, counts, NULL, CHOIR_F32, NULL, NULL), wrong,
	     "choir_alltoallv|null comm");
	SAYS(choir_reduce_scatterv(NULL, s, r, counts, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), wrong,
	     "choir_reduce_scatterv|null comm");
	SAYS(choir_sparse_allreduce(NULL, s, 1, s, 1, r, NULL, r, NULL, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL,
	                            NULL),
	     wrong, "choir_sparse_allreduce|null comm");
	SAYS(choir_sparse_allreduce(comm, s, 4, s, 9, r, counts, r, counts, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL,
	                            NULL, NULL),
	     wrong, "choir_sparse_allreduce: |multiple");
	SAYS(choir_sparse_allreduce_init(comm, s, 4, s, 9, r, counts, r, counts, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM,
	                                 NULL, NULL, &request),
	     wrong, "choir_sparse_allreduce_init: |multiple");
	SAYS(choir_comm_split(NULL, 0, 0, &comm), wrong, "choir_comm_split|null comm");
	SAYS(choir_comm_split(comm, 0, 0, NULL), wrong, "choir_comm_split|null");
	SAYS(choir_comm_split_local(0, &comm, &done, &done, &comm), wrong, "choir_comm_split|n_local 0");
	SAYS(choir_comm_status(NULL), wrong, "choir_comm_status|null");
	SAYS(choir_comm_abort(NULL), wrong, "choir_comm_abort|null");
	SAYS(choir_comm_warm(NULL, CHOIR_F32, CHOIR_OP_SUM), wrong, "choir_comm_warm|null");
	SAYS(choir_comm_json(NULL, &text), wrong, "choir_comm_json|null");
	SAYS(choir_comm_json(comm, NULL), wrong, "choir_comm_json|null");
	OK(choir_comm_destroy(NULL));
	CHECK(choir_comm_rank(NULL) == -1 && choir_comm_size(NULL) == 0 && choir_comm_nodes(NULL) == 0 &&
	      choir_comm_device(NULL) == NULL);
	CHECK(choir_comm_node(comm, -1) == -1 && choir_comm_node(comm, 2) == -1 &&
	      choir_comm_node_rank(comm, 2) == -1 && choir_comm_node(NULL, 0) == -1);
	SAYS(choir_event_test(NULL, &done), wrong, "choir_event_test|null");
	SAYS(choir_event_wait(NULL, 0), wrong, "choir_event_wait|null");
	SAYS(choir_event_status(NULL), wrong, "choir_event_status|null");
	SAYS(choir_event_on_complete(NULL, NULL, NULL), wrong, "choir_event_on_complete|null");
	SAYS(choir_event_to_cl(NULL, &cl), wrong, "choir_event_to_cl|null");
	SAYS(choir_queue_wait(NULL, 0, NULL), wrong, "choir_queue_wait|null");
	SAYS(choir_queue_wait(NULL, 1, &null_event), wrong, "choir_queue_wait|null");
	SAYS(choir_sparse_fetch(NULL, s, counts, r, counts), wrong, "choir_sparse_fetch|null");
	SAYS(choir_group_end(), wrong, "choir_group_end|choir_group_begin");
	CHECK(strcmp(choir_event_error(NULL), "") == 0 && strcmp(choir_event_algorithm(NULL), "") == 0 &&
	      choir_event_wire_bytes(NULL) == 0);
	choir_event_release(NULL);
	CHECK(choir_event_retain(NULL) == NULL);
}

static void all_wrong(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const size_t nothing[2];
	choir_call older = CHOIR_CALL_INIT;
	float in = 3, out = 0;

	(void)arg;
	CHECK(sum_works(comm, 100));
	if (rank == 0) {
		wrong_numbers(world, rank, comm);
		wrong_types(world, rank, comm);
		wrong_buffers(world, rank, comm);
		wrong_mems(world, rank, comm);
		wrong_calls(world, rank, comm);
		null_things(world, rank, comm);
		choir_group_begin(); /* a refused call leaves a group as it was */
		SAYS(sum_of(comm, choir_none(), choir_host(b), 4, NULL), wrong, "choir_allreduce|send");
		OK(choir_group_end());
	}
	OK(choir_comm_status(comm));
	for (int i = 0; i < 20; i++)
		CHECK(sum_works(comm, 100));
	older.struct_size = offsetof(choir_call, factor); /* a caller built before there were factors */
	memset(&older.factor, 0xff, sizeof older.factor);
	OK(choir_allreduce(comm, choir_host(&in), choir_host(&out), 1, CHOIR_F32, CHOIR_OP_PREMUL_SUM, &older, NULL));
	CHECK(out == 6);
	/* nothing to move: nothing is looked at */
	OK(sum_of(comm, choir_none(), choir_none(), 0, NULL));
	OK(choir_allgather(comm, choir_none(), choir_none(), 0, CHOIR_F32, NULL, NULL));
	OK(choir_alltoall(comm, choir_none(), choir_none(), 0, CHOIR_F32, NULL, NULL));
	OK(choir_alltoallv(comm, choir_none(), nothing, NULL, choir_none(), nothing, NULL, CHOIR_F32, NULL, NULL));
	OK(choir_reduce_scatterv(comm, choir_none(), choir_none(), nothing, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL));
	OK(choir_sendrecv(comm, choir_none(), 0, rank, choir_none(), 0, rank, CHOIR_F32, NULL, NULL));
	CHECK(sum_works(comm, 100));
}

static void test_calls(void **state)
{
	(void)state;
	world_run_at(2, 0, 20000, all_wrong, NULL);
}

#define REFUSED(call, words)                                                                                           \
	do {                                                                                                           \
		assert_int_equal(call, CHOIR_ARGUMENT);                                                                \
		if (!says(choir_last_error(), words))                                                                  \
			fail_msg("%s: \"%s\"", #call, choir_last_error());                                             \
	} while (0)

static int no_gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	(void)ctx, (void)mine, (void)bytes, (void)all;
	return 7;
}

static void test_creation(void **state)
{
	choir_device *device = world_device(), *both[] = { device, NULL };
	choir_comm *comms[2] = { NULL, NULL };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_bootstrap boot = { sizeof boot, 0, 2, no_gather, NULL, NULL };
	char *text = NULL;

	(void)state;
	REFUSED(choir_comm_create_local(0, &device, NULL, comms), "choir_comm_create_local|n_local is 0");
	REFUSED(choir_comm_create_local(-3, &device, NULL, comms), "n_local is -3");
	REFUSED(choir_comm_create_local(1, NULL, NULL, comms), "choir_comm_create_local|null");
	REFUSED(choir_comm_create_local(1, &device, NULL, NULL), "choir_comm_create_local|null");
	REFUSED(choir_comm_create_local(2, both, NULL, comms), "devices[1]");
	config.struct_size = 5;
	REFUSED(choir_comm_create_local(1, &device, &config, comms), "struct_size is 5");
	config = (choir_comm_config)CHOIR_COMM_CONFIG_INIT;
	config.deadline_ms = -2;
	REFUSED(choir_comm_create_local(1, &device, &config, comms), "choir_comm_create_local");
	config.deadline_ms = 0;
	config.rules = "allreduce: 0-16q oneshot";
	REFUSED(choir_comm_create_local(1, &device, &config, comms), "rules|allreduce");
	config.rules = "allreduce: rong";
	REFUSED(choir_comm_create_local(1, &device, &config, comms), "rong");
	REFUSED(choir_comm_create(NULL, 1, &device, NULL, comms), "choir_comm_create|bootstrap");
	assert_int_equal(choir_comm_create(&boot, 1, &device, NULL, comms), CHOIR_TRANSPORT);
	assert_true(says(choir_last_error(), "choir_comm_create|gather|7"));
	boot.rank = 2;
	REFUSED(choir_comm_create(&boot, 1, &device, NULL, comms), "rank 2 of 2");
	boot.gather = NULL;
	REFUSED(choir_comm_create(&boot, 1, &device, NULL, comms), "bootstrap");
	assert_null(comms[0]);
	setenv("CHOIR_DEADLINE_MS", "soon", 1);
	REFUSED(choir_comm_create_local(1, &device, NULL, comms), "CHOIR_DEADLINE_MS|soon");
	setenv("CHOIR_DEADLINE_MS", "1234", 1);
	assert_int_equal(choir_comm_create_local(1, &device, NULL, comms), CHOIR_SUCCESS);
	unsetenv("CHOIR_DEADLINE_MS");
	assert_int_equal(choir_comm_json(comms[0], &text), CHOIR_SUCCESS);
	assert_true(says(text, "\"deadline_ms\": 1234,"));
	free(text);
	choir_comm_destroy(comms[0]);
	setenv("CHOIR_RULES", "allreduce: rong", 1);
	REFUSED(choir_comm_create_local(1, &device, NULL, comms), "rong");
	unsetenv("CHOIR_RULES");
	REFUSED(choir_device_create(NULL, NULL, NULL, &device), "null");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_calls), cmocka_unit_test(test_creation) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
