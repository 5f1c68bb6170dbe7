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
	cl_command_queue queue;
	cl_mem mem;
	cl_event event;
	bool writes;
	cl_ulong start, end;
};

static struct copy copies[MOST_COPIES];
static atomic_int n_copies;

static void note(cl_command_queue queue, cl_mem mem, bool writes, cl_event event)
{
	int i = atomic_fetch_add(&n_copies, 1);

	if (i < MOST_COPIES)
		copies[i] = (struct copy){ .queue = queue, .mem = mem, .event = event, .writes = writes };
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
		note(queue, mem, false, *event_p);
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
		note(queue, mem, true, *event_p);
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

struct form {
	call_fn call;
	int per_node;
	choir_reduce_where where;
	bool from_root; /* rank 0 reads, rank 1 writes */
};

struct buffers {
	const struct form *form;
	choir_device *devices[N]; /* one a rank, so that each has engines and queues of its own */
	struct memory in[N], out[N];
	size_t count;
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

static choir_status broadcast(choir_comm *comm, choir_buffer in, choir_buffer out, size_t count)
{
	choir_call by_host = CHOIR_CALL_INIT;

	by_host.options = "algorithm=slots";
	return choir_broadcast(comm, in, out, count, CHOIR_F32, 0, &by_host, NULL);
}

static void call(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct buffers *b = arg;

	OK(b->form->call(comm, b->in[rank].buffer, b->out[rank].buffer, b->count));
}

static bool are_beside(const struct copy *read, const struct copy *write)
{
	return read->start < write->end && write->start < read->end;
}

/* A write to the rank's RECV, or of what its device is to reduce. */
static bool is_write_of(const struct buffers *b, int rank, const struct copy *c)
{
	return c->writes && (c->mem == b->out[rank].mem || c->queue == b->devices[rank]->copies[COPY_WRITES]);
}

/* Does half of the reads of one rank's SEND run beside a write of its own, or of the other one's? */
static bool reads_overlap(const struct buffers *b, int reader, int writer)
{
	int n_reads = 0, n_beside = 0;

	for (int r = 0; r < n_copies; r++) {
		bool beside = false;

		if (copies[r].writes || copies[r].mem != b->in[reader].mem)
			continue;
		for (int w = 0; w < n_copies; w++)
			beside |= is_write_of(b, writer, &copies[w]) && are_beside(&copies[r], &copies[w]);
		n_reads++;
		n_beside += beside;
	}
	if (n_reads < LEAST_CHUNKS)
		fail_msg("rank %d: %d chunks", reader, n_reads);
	return 2 * n_beside >= n_reads;
}

/* What a device has reduced does not come from the host. */
static bool writes_results(const struct buffers *b)
{
	bool any = false;

	for (int i = 0; i < n_copies; i++)
		any |= copies[i].writes && (copies[i].mem == b->out[0].mem || copies[i].mem == b->out[1].mem);
	return any;
}

static bool call_overlaps(struct world *world, struct buffers *b)
{
	drop_copies();
	world_threads(world, call, b);
	read_times();
	assert_int_equal(writes_results(b), b->form->where == CHOIR_REDUCE_HOST);
	if (b->form->from_root)
		return reads_overlap(b, 0, 1);
	return reads_overlap(b, 0, 0) && reads_overlap(b, 1, 1);
}

/* One of the model's, with a context of its own; chunks of some 70 000 bytes. */
static choir_device *open_device(int number, choir_reduce_where where)
{
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	choir_device *device = NULL;
	cl_device_id ids[N];
	cl_platform_id platform;
	cl_uint n = 0;
	cl_int rc;

	assert_int_equal(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
	assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, N, ids, &n), CL_SUCCESS);
	assert_int_equal(n, N);
	cl_context context = clCreateContext(NULL, 1, &ids[number], NULL, NULL, &rc);
	assert_int_equal(rc, CL_SUCCESS);
	config.reduce = where;
	if (choir_device_create(context, ids[number], &config, &device) != CHOIR_SUCCESS)
		fail_msg("%s", choir_last_error());
	clReleaseContext(context);
	device->rates =
	    (struct device_rates){ .measured = true, .read_us = 0.5, .write_us = 1, .read_GBps = 4, .write_GBps = 8 };
	return device;
}

/* Where the threads of a busy machine stand still, the reads end meanwhile: one of several calls will do. */
static void overlaps(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct buffers b = { .form = *state };
	struct world world;
	int tries = 5;

	b.count = b.form->per_node == 1 ? NODES_COUNT : COUNT;
	config.ranks_per_node = b.form->per_node;
	for (int r = 0; r < N; r++) {
		b.devices[r] = open_device(r, b.form->where);
		assert_true(memory_make(&b.in[r], b.devices[r], true, b.count * sizeof(float), 0));
		assert_true(memory_make(&b.out[r], b.devices[r], true, b.count * sizeof(float), 0));
	}
	world_begin_on(&world, N, b.devices, &config);
	while (!call_overlaps(&world, &b))
		if (--tries == 0)
			fail_msg("reads of later chunks do not run beside writes of earlier ones");
	drop_copies();
	for (int r = 0; r < N; r++) {
		memory_free(&b.in[r]);
		memory_free(&b.out[r]);
	}
	world_end(&world);
	memory_drop();
	for (int r = 0; r < N; r++)
		choir_device_destroy(b.devices[r]);
}

static struct form forms[] = { { .call = allreduce, .where = CHOIR_REDUCE_HOST },
	                       { .call = allreduce, .where = CHOIR_REDUCE_HOST, .per_node = 1 },
	                       { .call = reduce_scatter, .where = CHOIR_REDUCE_HOST },
	                       { .call = reduce_scatter, .where = CHOIR_REDUCE_AUTO },
	                       { .call = allgather, .where = CHOIR_REDUCE_HOST },
	                       { .call = alltoall, .where = CHOIR_REDUCE_HOST },
	                       { .call = broadcast, .where = CHOIR_REDUCE_HOST, .from_root = true } };

#define TEST(name, form)                                                                                               \
	{                                                                                                              \
		name, overlaps, NULL, NULL, &forms[form]                                                               \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("allreduce", 0),      TEST("allreduce, two nodes", 1),
		TEST("reduce_scatter", 2), TEST("reduce_scatter, own blocks by the device", 3),
		TEST("allgather", 4),      TEST("alltoall", 5),
		TEST("broadcast", 6)
	};

	return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
