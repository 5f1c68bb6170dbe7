/* SPDX-License-Identifier: MIT */
/* Two devices with a context each in one process, and rates that differ: the ranks agree on the larger bytes of a
 * command when the comm is made, so that they have the same chunks.  The rates are set by hand. */
#include "dev/device_impl.h"
#include "exec/comm.h"
#include "world/bus.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 2, COUNT = 300000, HALF = COUNT / N };

static choir_device *devices[N];

static int open_devices(void **state)
{
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	cl_device_id ids[N];
	cl_platform_id platform;
	cl_uint n = 0;

	(void)state;
	assert_int_equal(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
	assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, N, ids, &n), CL_SUCCESS);
	assert_int_equal(n, N);
	config.reduce = CHOIR_REDUCE_HOST;
	for (int i = 0; i < N; i++) {
		cl_int rc;
		cl_context context = clCreateContext(NULL, 1, &ids[i], NULL, NULL, &rc);

		assert_int_equal(rc, CL_SUCCESS);
		if (choir_device_create(context, ids[i], &config, &devices[i]) != CHOIR_SUCCESS)
			fail_msg("%s", choir_last_error());
		clReleaseContext(context);
	}
	return 0;
}

static int close_devices(void **state)
{
	(void)state;
	memory_drop();
	for (int i = 0; i < N; i++)
		choir_device_destroy(devices[i]);
	return 0;
}

/* --- the calls --- */

/* Sums of these depend on their order and are rounded. */
static float value(int rank, size_t i)
{
	return (float)(i % 1013 + 1) / (float)(7 * rank + 3);
}

static float sum(int rank, size_t i)
{
	(void)rank;
	return value(0, i) + value(1, i);
}

static float block_of_sum(int rank, size_t i)
{
	return sum(rank, (size_t)rank * HALF + i);
}

static float gathered(int rank, size_t i)
{
	(void)rank;
	return value((int)(i / HALF), i % HALF);
}

static float exchanged(int rank, size_t i)
{
	return value((int)(i / HALF), (size_t)rank * HALF + i % HALF);
}

static choir_status allreduce(choir_comm *comm, choir_buffer in, choir_buffer out)
{
	return choir_allreduce(comm, in, out, COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
}

static choir_status reduce_scatter(choir_comm *comm, choir_buffer in, choir_buffer out)
{
	return choir_reduce_scatter(comm, in, out, HALF, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
}

static choir_status allgather(choir_comm *comm, choir_buffer in, choir_buffer out)
{
	return choir_allgather(comm, in, out, HALF, CHOIR_F32, NULL, NULL);
}

static choir_status alltoall(choir_comm *comm, choir_buffer in, choir_buffer out)
{
	return choir_alltoall(comm, in, out, HALF, CHOIR_F32, NULL, NULL);
}

static const struct form {
	choir_status (*call)(choir_comm *comm, choir_buffer in, choir_buffer out);
	float (*wanted)(int rank, size_t i);
	size_t count; /* of the result */
} forms[] = { { allreduce, sum, COUNT },
	      { reduce_scatter, block_of_sum, HALF },
	      { allgather, gathered, COUNT },
	      { alltoall, exchanged, COUNT } };

static const int n_forms = sizeof forms / sizeof *forms;

struct buffers {
	const struct form *form;
	struct memory in[N], out[N];
};

static void make(struct world *world, int rank, struct buffers *b)
{
	float *in;

	CHECK(memory_make(&b->in[rank], devices[rank], true, COUNT * sizeof *in, 0));
	CHECK(memory_make(&b->out[rank], devices[rank], true, COUNT * sizeof *in, 0));
	in = (float *)(void *)memory_payload(&b->in[rank]);
	for (size_t i = 0; i < COUNT; i++)
		in[i] = value(rank, i);
	memory_push(&b->in[rank]);
}

static void call(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct buffers *b = arg;

	OK(b->form->call(comm, b->in[rank].buffer, b->out[rank].buffer));
}

static void check(struct world *world, int rank, struct buffers *b)
{
	const float *out = (const float *)(const void *)memory_payload(&b->out[rank]);
	size_t wrong = 0;

	memory_pull(&b->out[rank]);
	for (size_t i = 0; i < b->form->count; i++)
		wrong += out[i] != b->form->wanted(rank, i);
	CHECK(wrong == 0 && memory_sentinels_stand(&b->out[rank]));
	memory_free(&b->in[rank]);
	memory_free(&b->out[rank]);
}

/* --- the rates --- */

static void set_rates(choir_device *device, double us, double GBps)
{
	device->rates = (struct device_rates){
		.measured = true, .read_us = us / 2, .write_us = us, .read_GBps = GBps, .write_GBps = 2 * GBps
	};
}

/* An allreduce of 1.2 MB in two chunks; by the smaller number it would have eight. */
enum { SMALLER = 20000, LARGER = 320000, CHUNKS = 2 };

static void run_forms(struct world *world)
{
	for (int f = 0; f < n_forms; f++) {
		struct buffers b = { .form = &forms[f] };

		for (int r = 0; r < N; r++)
			make(world, r, &b);
		bus_reset();
		world_threads(world, call, &b);
		if (f == 0)
			assert_true(bus_reads().commands == N * CHUNKS && bus_writes().commands == N * CHUNKS);
		for (int r = 0; r < N; r++)
			check(world, r, &b);
	}
}

static void ranks_agree_on_the_larger(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 60000;
	for (int fast = 0; fast < N; fast++) {
		struct world world;

		set_rates(devices[fast], 20, 16);
		set_rates(devices[1 - fast], 10, 2);
		assert_int_equal(dev_command_bytes(devices[fast]), LARGER);
		assert_int_equal(dev_command_bytes(devices[1 - fast]), SMALLER);
		world_begin_on(&world, N, devices, &config);
		for (int r = 0; r < N; r++)
			assert_int_equal(world.comms[r]->command_bytes, LARGER);
		run_forms(&world);
		world_end(&world);
	}
}

/* No copies from device to device: the ranks share no context. */
static void contexts_share_nothing(void **state)
{
	struct world world;

	(void)state;
	set_rates(devices[0], 20, 16);
	set_rates(devices[1], 20, 16);
	world_begin_on(&world, N, devices, NULL);
	assert_ptr_not_equal(choir_device_context(devices[0]), choir_device_context(devices[1]));
	for (int r = 0; r < N; r++)
		assert_int_equal(world.comms[r]->device_bytes, 0);
	run_forms(&world);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(ranks_agree_on_the_larger),
		                            cmocka_unit_test(contexts_share_nothing) };

	return cmocka_run_group_tests_name("contexts", tests, open_devices, close_devices);
}
