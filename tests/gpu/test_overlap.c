/* SPDX-License-Identifier: MIT */
/* Chunks of far memory do not go one behind the other: reads of later ones run beside writes of earlier ones, by the
 * model's times.  A copy takes longer than a thread of a busy machine stands still. */
#include "dev/device_impl.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 2, COUNT = 300000, NODES_COUNT = 3000000, LEAST_CHUNKS = 8, MOST_COPIES = 400 };

struct copy {
	cl_mem mem;
	cl_event event;
	bool writes;
	cl_ulong start, end;
};

static struct copy copies[MOST_COPIES];
static atomic_int n_copies;

static void note(cl_mem mem, bool writes, cl_event event)
{
	int i = atomic_fetch_add(&n_copies, 1);

	if (i < MOST_COPIES)
		copies[i] = (struct copy){ .mem = mem, .event = event, .writes = writes };
}

cl_command_queue __real_clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties how,
                                             cl_int *rc_p);
cl_command_queue __wrap_clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties how,
                                             cl_int *rc_p);
cl_command_queue __wrap_clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties how,
                                             cl_int *rc_p)
{
	return __real_clCreateCommandQueue(context, device, how | CL_QUEUE_PROFILING_ENABLE, rc_p);
}

cl_int __real_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event)
{
	cl_event own = NULL, *event_p = event != NULL ? event : &own;
	cl_int rc = __real_clEnqueueReadBuffer(queue, mem, blocking, off, bytes, to, n, list, event_p);

	if (rc == CL_SUCCESS && (event == NULL || clRetainEvent(*event) == CL_SUCCESS))
		note(mem, false, *event_p);
	return rc;
}

cl_int __real_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event)
{
	cl_event own = NULL, *event_p = event != NULL ? event : &own;
	cl_int rc = __real_clEnqueueWriteBuffer(queue, mem, blocking, off, bytes, from, n, list, event_p);

	if (rc == CL_SUCCESS && (event == NULL || clRetainEvent(*event) == CL_SUCCESS))
		note(mem, true, *event_p);
	return rc;
}

static void read_times(void)
{
	assert_true(n_copies <= MOST_COPIES);
	for (int i = 0; i < n_copies; i++) {
		struct copy *c = &copies[i];

		assert_int_equal(clWaitForEvents(1, &c->event), CL_SUCCESS);
		assert_int_equal(
		    clGetEventProfilingInfo(c->event, CL_PROFILING_COMMAND_START, sizeof c->start, &c->start, NULL),
		    CL_SUCCESS);
		assert_int_equal(
		    clGetEventProfilingInfo(c->event, CL_PROFILING_COMMAND_END, sizeof c->end, &c->end, NULL),
		    CL_SUCCESS);
	}
}

static void drop_copies(void)
{
	for (int i = 0; i < n_copies; i++)
		clReleaseEvent(copies[i].event);
	n_copies = 0;
}

/* --- the calls --- */

typedef choir_status (*call_fn)(choir_comm *comm, choir_buffer in, choir_buffer out, size_t count);

struct buffers {
	struct memory in[N], out[N];
	size_t count;
	call_fn call;
};

static choir_status allreduce(choir_comm *comm, choir_buffer in, choir_buffer out, size_t count)
{
	choir_call by_host = CHOIR_CALL_INIT;

	by_host.options = choir_comm_nodes(comm) == 1 ? "algorithm=twoshot" : NULL;
	return choir_allreduce(comm, in, out, count, CHOIR_F32, CHOIR_OP_SUM, &by_host, NULL);
}

static choir_status reduce_scatter(choir_comm *comm, choir_buffer in, choir_buffer out, size_t count)
{
	choir_call by_host = CHOIR_CALL_INIT;

	by_host.options = "algorithm=slots";
	return choir_reduce_scatter(comm, in, out, count / N, CHOIR_F32, CHOIR_OP_SUM, &by_host, NULL);
}

static choir_status allgather(choir_comm *comm, choir_buffer in, choir_buffer out, size_t count)
{
	choir_call by_host = CHOIR_CALL_INIT;

	by_host.options = "algorithm=slots";
	return choir_allgather(comm, in, out, count / N, CHOIR_F32, &by_host, NULL);
}

static choir_status alltoall(choir_comm *comm, choir_buffer in, choir_buffer out, size_t count)
{
	choir_call by_host = CHOIR_CALL_INIT;

	by_host.options = "algorithm=slots";
	return choir_alltoall(comm, in, out, count / N, CHOIR_F32, &by_host, NULL);
}

static void make(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct buffers *b = arg;

	(void)comm;
	CHECK(memory_make(&b->in[rank], world->device, true, b->count * sizeof(float), 0));
	CHECK(memory_make(&b->out[rank], world->device, true, b->count * sizeof(float), 0));
}

static void call(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct buffers *b = arg;

	OK(b->call(comm, b->in[rank].buffer, b->out[rank].buffer, b->count));
}

static bool are_beside(const struct copy *read, const struct copy *write)
{
	return read->start < write->end && write->start < read->end;
}

/* Do many reads of SEND run beside a write to RECV of the same rank?  Those of two ranks do anyway. */
static bool rank_overlaps(const struct buffers *b, int rank)
{
	int n_reads = 0, n_beside = 0;

	for (int r = 0; r < n_copies; r++) {
		bool beside = false;

		if (copies[r].writes || copies[r].mem != b->in[rank].mem)
			continue;
		for (int w = 0; w < n_copies; w++)
			beside |=
			    copies[w].writes && copies[w].mem == b->out[rank].mem && are_beside(&copies[r], &copies[w]);
		n_reads++;
		n_beside += beside;
	}
	if (n_reads < LEAST_CHUNKS)
		fail_msg("rank %d: %d chunks", rank, n_reads);
	return 8 * n_beside >= n_reads;
}

static bool call_overlaps(struct world *world, struct buffers *b)
{
	bool all = true;

	drop_copies();
	world_threads(world, call, b);
	read_times();
	for (int r = 0; r < N; r++)
		all &= rank_overlaps(b, r);
	return all;
}

/* Where the threads of a busy machine stand still, the reads end meanwhile: one of several calls will do. */
static void overlaps(int per_node, call_fn fn)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct buffers b = { .call = fn, .count = per_node == 1 ? NODES_COUNT : COUNT };
	choir_device *device = world_far_device(CHOIR_REDUCE_HOST);
	struct world world;
	int tries = 5;

	config.ranks_per_node = per_node;
	/* chunks of some 70 000 bytes */
	device->rates =
	    (struct device_rates){ .measured = true, .read_us = 0.5, .write_us = 1, .read_GBps = 4, .write_GBps = 8 };
	world_begin_on(&world, N, (choir_device *[]){ device, device }, &config);
	world_threads(&world, make, &b);
	while (!call_overlaps(&world, &b))
		if (--tries == 0)
			fail_msg("reads of later chunks do not run beside writes of earlier ones");
	drop_copies();
	for (int r = 0; r < N; r++) {
		memory_free(&b.in[r]);
		memory_free(&b.out[r]);
	}
	world_end(&world);
}

static void test_allreduce(void **state)
{
	(void)state;
	overlaps(0, allreduce);
}

static void test_allreduce_nodes(void **state)
{
	(void)state;
	overlaps(1, allreduce);
}

static void test_reduce_scatter(void **state)
{
	(void)state;
	overlaps(0, reduce_scatter);
}

static void test_allgather(void **state)
{
	(void)state;
	overlaps(0, allgather);
}

static void test_alltoall(void **state)
{
	(void)state;
	overlaps(0, alltoall);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_allreduce), cmocka_unit_test(test_allreduce_nodes),
		                            cmocka_unit_test(test_reduce_scatter), cmocka_unit_test(test_allgather),
		                            cmocka_unit_test(test_alltoall) };
	int failed = cmocka_run_group_tests_name("overlap", tests, NULL, NULL);

	world_device_drop();
	return failed;
}
