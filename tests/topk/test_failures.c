/* SPDX-License-Identifier: MIT */
/* What calls of a top-k state leave when they fail. */
#include "dev/dev.h"
#include "topk/law.h"
#include "world/gate.h"
#include "world/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 120, K = 10 };

/* Commands that write memory of a device and go well until one fails; negative = none fails. */
static _Atomic int good_commands = -1;

static bool fails(void)
{
	return good_commands >= 0 && good_commands-- == 0;
}

choir_status __real_dev_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                              uint64_t bytes, cl_event *event_p);
choir_status __wrap_dev_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                              uint64_t bytes, cl_event *event_p);

choir_status __wrap_dev_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                              uint64_t bytes, cl_event *event_p)
{
	if (fails())
		return error_cl("clEnqueueWriteBuffer", CL_OUT_OF_RESOURCES);
	return __real_dev_write(device, access, off, from, bytes, event_p);
}

choir_status __real_dev_fill_zero(choir_device *device, cl_mem mem, size_t off, uint64_t bytes, size_t elem_bytes,
                                  cl_event *event_p);
choir_status __wrap_dev_fill_zero(choir_device *device, cl_mem mem, size_t off, uint64_t bytes, size_t elem_bytes,
                                  cl_event *event_p);

choir_status __wrap_dev_fill_zero(choir_device *device, cl_mem mem, size_t off, uint64_t bytes, size_t elem_bytes,
                                  cl_event *event_p)
{
	if (fails())
		return error_cl("clEnqueueFillBuffer", CL_OUT_OF_RESOURCES);
	return __real_dev_fill_zero(device, mem, off, bytes, elem_bytes, event_p);
}

/* A call that fails on all ranks leaves residual, thresholds and count of calls, and the comm goes on. */
static void failures_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_state *state, *beside;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	float grad[N], bad[N], a[N], b[N], val[N], before[N], after[N];
	int32_t ind[N];
	size_t pairs;

	(void)arg;
	config.nan_fails = 1;
	OK(choir_topk_create(comm, &config, &state));
	OK(choir_topk_create(comm, &config, &beside));
	out.ind = choir_host(ind);
	out.val = choir_host(val);
	out.pairs_p = &pairs;
	for (int call = 0; call < 3; call++) {
		for (size_t i = 0; i < N; i++)
			bad[i] = grad[i] = law_value(rank, call, i);
		bad[17] = rank == 1 ? NAN : bad[17];
		OK(choir_topk_residual(state, before));
		SAYS(law_call(state, bad, a, NULL), CHOIR_ARGUMENT, "rank 1 has a NaN at 17");
		pairs = rank == 2 ? 1 : N;
		SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_CAPACITY,
		     "rank 2 has room for 1");
		CHECK(pairs > 1);
		OK(choir_topk_residual(state, after));
		CHECK(memcmp(before, after, sizeof before) == 0);
		OK(law_call(state, grad, a, NULL));
		OK(law_call(beside, grad, b, NULL));
		CHECK(memcmp(a, b, sizeof a) == 0);
	}
	choir_topk_destroy(state);
	choir_topk_destroy(beside);
}

static void failures(void **state)
{
	(void)state;
	line_up_run(3, 0, 30000, failures_rank, NULL);
}

/* A dense call in place that has no room for its pairs leaves the gradient too. */
static void dense_failures_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config(arg, N, K);
	choir_topk_state *state, *beside;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	float grad[N], copy[N], want[N], val[N];
	int32_t ind[N];
	size_t pairs = rank == 2 ? 1 : N;

	config.dense_calls = 1;
	OK(choir_topk_create(comm, &config, &state));
	OK(choir_topk_create(comm, &config, &beside));
	for (size_t i = 0; i < N; i++)
		copy[i] = grad[i] = law_value(rank, 0, i);
	out.dense = choir_host(grad);
	out.ind = choir_host(ind);
	out.val = choir_host(val);
	out.pairs_p = &pairs;
	SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_CAPACITY, "rank 2 has room for 1");
	CHECK(pairs == N);
	CHECK(memcmp(grad, copy, sizeof grad) == 0);
	OK(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL));
	OK(law_call(beside, copy, want, NULL));
	CHECK(memcmp(grad, want, sizeof grad) == 0);
	choir_topk_destroy(state);
	choir_topk_destroy(beside);
}

static void dense_failures(void **state)
{
	static char names[][8] = { "dense", "oktopk" };

	(void)state;
	for (int i = 0; i < 2; i++)
		line_up_run(3, 0, 30000, dense_failures_rank, names[i]);
}

/* A rank that imports another tensor's state has learnt other regions. */
static void swapped_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("oktopk", N, K);
	choir_topk_state *a, *b;
	float grad[N], got[N];
	unsigned char *bytes;
	size_t room = 0;

	(void)arg;
	OK(choir_topk_create(comm, &config, &a));
	OK(choir_topk_create(comm, &config, &b));
	for (int call = 0; call < 3; call++) {
		for (size_t i = 0; i < N; i++)
			grad[i] = law_value(rank, call, i);
		OK(law_call(a, grad, got, NULL));
		for (size_t i = 0; i < N; i++)
			grad[i] = i < N / 4 ? 1000 * law_value(rank, call, i) : 0;
		OK(law_call(b, grad, got, NULL));
	}
	OK(choir_topk_export(b, NULL, &room));
	bytes = malloc(room);
	OK(choir_topk_export(b, bytes, &room));
	if (rank == 1)
		OK(choir_topk_import(a, bytes, room));
	SAYS(law_call(a, grad, got, NULL), CHOIR_ARGUMENT, "rank 1's state are not rank 0's");
	free(bytes);
	choir_topk_destroy(a);
	choir_topk_destroy(b);
}

static void swapped(void **state)
{
	(void)state;
	line_up_run(3, 0, 30000, swapped_rank, NULL);
}

struct checkpoint {
	unsigned char bytes[4096];
	size_t n;
};

static void some_calls(struct world *world, int rank, choir_topk_state *state, int from, struct checkpoint *after)
{
	float grad[N], got[N];

	for (int call = from; call < from + 3; call++) {
		for (size_t i = 0; i < N; i++)
			grad[i] = law_value(rank, call, i);
		OK(law_call(state, grad, got, NULL));
	}
	after->n = sizeof after->bytes;
	OK(choir_topk_export(state, after->bytes, &after->n));
}

/* The residual's bytes, or zeros, reach the device, those of the momentum do not: the state has neither. */
static void half_replaced_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	struct checkpoint first, second, now;
	choir_topk_state *state;

	(void)arg;
	config.momentum = 0.5;
	OK(choir_topk_create(comm, &config, &state));
	some_calls(world, rank, state, 0, &first);
	some_calls(world, rank, state, 3, &second);
	CHECK(memcmp(first.bytes, second.bytes, first.n) != 0);
	for (int i = 0; i < 4; i++) {
		now.n = sizeof now.bytes;
		good_commands = i / 2;
		IS(i % 2 ? choir_topk_reset(state) : choir_topk_import(state, first.bytes, first.n), CHOIR_OPENCL);
		good_commands = -1;
		OK(choir_topk_export(state, now.bytes, &now.n));
		CHECK(now.n == second.n && memcmp(now.bytes, second.bytes, now.n) == 0);
	}
	OK(choir_topk_import(state, first.bytes, first.n));
	some_calls(world, rank, state, 3, &now);
	CHECK(memcmp(now.bytes, second.bytes, now.n) == 0);
	OK(choir_topk_reset(state));
	some_calls(world, rank, state, 0, &now);
	CHECK(memcmp(now.bytes, first.bytes, now.n) == 0);
	choir_topk_destroy(state);
}

static void half_replaced(void **state)
{
	choir_device *device = world_far_device(CHOIR_REDUCE_KERNEL);
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct world world;

	(void)state;
	if (!dev_has_long_loops(device))
		skip(); /* it gets no such kernels, so the tensors are the host's */
	config.deadline_ms = 30000;
	world_begin_on(&world, 1, &device, &config);
	world_threads(&world, half_replaced_rank, NULL);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(failures), cmocka_unit_test(dense_failures),
		                            cmocka_unit_test(swapped), cmocka_unit_test(half_replaced) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	memory_drop();
	world_device_drop();
	return failed;
}
