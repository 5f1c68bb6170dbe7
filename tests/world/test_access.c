/* SPDX-License-Identifier: MIT */
/* cl_mems whose flags let kernels only read or only write them: every call gives the right result, and no kernel gets a
 * receive buffer that it may not write, or a send buffer that it may not read.  Where kernels reduce, gather, scatter
 * and select they do get the same buffers without such flags.  clSetKernelArg is wrapped by the linker. */
#include "dev/dev.h"
#include "world/devices.h"
#include "world/flight.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- which kernels get a buffer that is watched --- */

enum { MOST_WATCHED = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_mem watched[MOST_WATCHED];
static int given; /* arguments of kernels that were one of them */

static void change(cl_mem from, cl_mem to)
{
	int i = 0;

	pthread_mutex_lock(&lock);
	while (i < MOST_WATCHED - 1 && watched[i] != from)
		i++;
	watched[i] = to;
	pthread_mutex_unlock(&lock);
}

static void watch(cl_mem mem)
{
	change(NULL, mem);
}

static void unwatch(cl_mem mem)
{
	change(mem, NULL);
}

cl_int __real_clSetKernelArg(cl_kernel kernel, cl_uint i, size_t bytes, const void *value);
cl_int __wrap_clSetKernelArg(cl_kernel kernel, cl_uint i, size_t bytes, const void *value);
cl_int __wrap_clSetKernelArg(cl_kernel kernel, cl_uint i, size_t bytes, const void *value)
{
	cl_mem mem = NULL;

	if (bytes == sizeof mem && value != NULL)
		memcpy(&mem, value, sizeof mem);
	pthread_mutex_lock(&lock);
	for (int k = 0; k < MOST_WATCHED && mem != NULL; k++)
		given += watched[k] == mem;
	pthread_mutex_unlock(&lock);
	return __real_clSetKernelArg(kernel, i, bytes, value);
}

/* --- calls: every one of which watches its receive buffers, or its send buffers if kernels may only write --- */

static cl_mem_flags flags;

static bool watches_send(void)
{
	return flags == CL_MEM_WRITE_ONLY;
}

static void dense(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const size_t counts[] = { 37, 70001 };

	(void)unused;
	for (int i = 0; i < 2 * N_MOVING_COLLECTIVES; i++) {
		struct dense_call c = { .what = &collectives[i / 2],
			                .dtype = CHOIR_F32,
			                .op = CHOIR_OP_SUM,
			                .count = counts[i % 2],
			                .n = world->n,
			                .root = world->n - 1,
			                .device = true };
		struct dense_flight flight;
		cl_mem mem;

		flight_make(&flight, world, rank, &c);
		mem = watches_send() ? flight.send.mem : flight.recv.mem;
		watch(mem);
		if (OK(flight_call(&flight, comm, NULL, NULL)))
			flight_compare(&flight, world);
		unwatch(mem);
		flight_free(&flight);
	}
}

enum { TENSORS = 20, EACH = 64 };

static cl_command_queue queue_of(choir_device *device)
{
	return clCreateCommandQueueWithProperties(choir_device_context(device), choir_device_id(device), NULL, NULL);
}

/* Tensors that are a whole cl_mem each, which kernels may gather and scatter. */
static void list(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_device *device = choir_comm_device(comm);
	cl_command_queue queue = queue_of(device);
	choir_tensor tensors[TENSORS];
	cl_mem mems[TENSORS][2];
	int32_t values[EACH];

	(void)unused;
	for (int t = 0; t < TENSORS; t++) {
		for (int side = 0; side < 2; side++)
			mems[t][side] = clCreateBuffer(choir_device_context(device), flags, sizeof values, NULL, NULL);
		for (int i = 0; i < EACH; i++)
			values[i] = rank + t * EACH + i;
		clEnqueueWriteBuffer(queue, mems[t][0], CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
		tensors[t] = (choir_tensor){ choir_mem(mems[t][0], 0), choir_mem(mems[t][1], 0), EACH, CHOIR_I32 };
		watch(mems[t][!watches_send()]);
	}
	clFinish(queue);
	OK(choir_allreduce_multi(comm, tensors, TENSORS, CHOIR_OP_MAX, NULL, NULL));
	for (int t = 0; t < TENSORS; t++) {
		unwatch(mems[t][!watches_send()]);
		clEnqueueReadBuffer(queue, mems[t][1], CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
		clFinish(queue);
		for (int i = 0; i < EACH; i++)
			CHECK(values[i] == world->n - 1 + t * EACH + i);
		clReleaseMemObject(mems[t][0]);
		clReleaseMemObject(mems[t][1]);
	}
	clReleaseCommandQueue(queue);
}

enum { PAIRS = 600, RANGE = 1000 };

/* Index 7 i modulo RANGE, which is another one for each i. */
static void rows(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_device *device = choir_comm_device(comm);
	struct memory sides[2][2]; /* send, recv; indices, values */
	size_t n_ind = PAIRS, n_val = PAIRS;

	(void)unused;
	for (int side = 0; side < 2; side++)
		for (int k = 0; k < 2; k++) {
			CHECK(memory_make(&sides[side][k], device, true, PAIRS * 4, 4));
			if (side == watches_send() ? 0 : 1)
				watch(sides[side][k].mem);
		}
	for (int i = 0; i < PAIRS; i++) {
		((int32_t *)(void *)memory_payload(&sides[0][0]))[i] = i * 7 % RANGE;
		((float *)(void *)memory_payload(&sides[0][1]))[i] = (float)(rank + i);
	}
	memory_push(&sides[0][0]);
	memory_push(&sides[0][1]);
	OK(choir_sparse_allreduce(comm, sides[0][0].buffer, PAIRS, sides[0][1].buffer, PAIRS, sides[1][0].buffer,
	                          &n_ind, sides[1][1].buffer, &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL,
	                          NULL));
	CHECK(n_ind == PAIRS && n_val == PAIRS);
	memory_pull(&sides[1][0]);
	memory_pull(&sides[1][1]);
	for (int i = 0; i < PAIRS; i++) {
		int32_t ind = ((int32_t *)(void *)memory_payload(&sides[1][0]))[i];
		int from = ind * 143 % RANGE; /* 7 * 143 is 1 modulo RANGE */

		CHECK(((float *)(void *)memory_payload(&sides[1][1]))[i] ==
		      (float)(world->n * from + world->n * (world->n - 1) / 2));
	}
	for (int i = 0; i < 4; i++) {
		unwatch(sides[i / 2][i % 2].mem);
		memory_free(&sides[i / 2][i % 2]);
	}
}

enum { ELEMENTS = 4096, K = 100 };

/* All ranks have the same K large values. */
static void gradient(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state = NULL;
	struct memory grad, sum;

	(void)unused;
	config.count = ELEMENTS;
	config.dtype = CHOIR_F32;
	config.algorithm = "topka";
	config.op = CHOIR_OP_SUM;
	config.k = K;
	CHECK(memory_make(&grad, choir_comm_device(comm), true, ELEMENTS * 4, 4));
	CHECK(memory_make(&sum, choir_comm_device(comm), true, ELEMENTS * 4, 4));
	for (int i = 0; i < ELEMENTS; i++)
		((float *)(void *)memory_payload(&grad))[i] = i % 40 == 3 && i < 40 * K ? (float)(i + 2) : 1;
	memory_push(&grad);
	watch(watches_send() ? grad.mem : sum.mem);
	out.dense = sum.buffer;
	if (OK(choir_topk_create(comm, &config, &state)))
		OK(choir_topk_allreduce(state, grad.buffer, &out, NULL, NULL));
	choir_topk_destroy(state);
	unwatch(watches_send() ? grad.mem : sum.mem);
	memory_pull(&sum);
	for (int i = 0; i < ELEMENTS; i++) {
		float got = ((float *)(void *)memory_payload(&sum))[i];

		if (got != (i % 40 == 3 && i < 40 * K ? (float)(world->n * (i + 2)) : 0)) {
			world_fail(world, rank, "element %d of a gradient is %g", i, (double)got);
			break;
		}
	}
	memory_free(&grad);
	memory_free(&sum);
}

/* --- where --- */

static void by_rank(struct world *world, world_fn fn, const cl_mem_flags *which)
{
	flags = *which;
	memory_choose_flags(flags);
	given = 0;
	world_threads(world, fn, NULL);
	memory_choose_flags(CL_MEM_READ_WRITE);
}

static const struct {
	world_fn fn;
	const char *name;
} calls[] = { { dense, "dense calls" }, { list, "a list" }, { rows, "rows" }, { gradient, "a gradient" } };
enum { N_CALLS = sizeof calls / sizeof *calls };

static int may[N_CALLS]; /* receive buffers that kernels got where they may write them */

static void first_calls(struct world *world, int n)
{
	static const cl_mem_flags restricted[] = { CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY }, open = CL_MEM_READ_WRITE;

	for (int c = 0; c < n; c++) {
		by_rank(world, calls[c].fn, &open);
		may[c] += given;
		for (int i = 0; i < 2; i++) {
			by_rank(world, calls[c].fn, &restricted[i]);
			if (given > 0)
				world_fail(world, 0, "%s: kernels got %d buffers that they may not %s", calls[c].name,
				           given, i == 0 ? "write" : "read");
		}
	}
	world_end(world);
}

/* Copies and reductions from device to device. */
static void test_shared_context(void **state)
{
	struct world world;

	(void)state;
	devices_begin(&world, 2, 0);
	first_calls(&world, 2);
}

/* Kernels beside host memory: of class stage, and where the host reaches the caller's memory. */
static void test_kernels(void **state)
{
	choir_device_config device_config = CHOIR_DEVICE_CONFIG_INIT;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *far = world_far_device(CHOIR_REDUCE_KERNEL), *two[2], *near;
	struct world world;

	(void)state;
	config.ranks_per_node = 1;
	dev_list_way_set(far, DEV_LIST_KERNELS); /* copies, were they faster, would say nothing of kernels */
	two[0] = two[1] = far;
	world_begin_on(&world, 2, two, &config);
	first_calls(&world, N_CALLS);
	device_config.reduce = CHOIR_REDUCE_KERNEL;
	assert_int_equal(choir_device_create(choir_device_context(far), choir_device_id(far), &device_config, &near),
	                 CHOIR_SUCCESS);
	dev_list_way_set(near, DEV_LIST_KERNELS);
	two[0] = two[1] = near;
	world_begin_on(&world, 2, two, &config);
	first_calls(&world, 1);
	assert_true(may[1] > 0 && (may[0] > 0 || choir_device_class(near) != CHOIR_CLASS_DIRECT));
	choir_device_destroy(near);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shared_context), cmocka_unit_test(test_kernels) };

	return cmocka_run_group_tests(tests, devices_open, devices_close);
}
