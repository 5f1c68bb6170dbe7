/* SPDX-License-Identifier: MIT */
/* Lists of whole cl_mems where only commands reach them: kernels, or copies on the device where these are faster,
 * gather them and scatter the results, so a short list is one read and one write a rank; and a bucket is gathered while
 * the one before it waits for its peers.  Reads, writes, kernels and copies are counted. */
#include "base/wait.h"
#include "exec/comm.h"
#include "kern/reduce.h"
#include "quick.h"
#include "world/bus.h"
#include "world/gathered_set.h"
#include "world/gate.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	TRIED = 16,   /* buffers of a trial of the two ways */
	SLOW_MS = 320 /* longer than the other way takes on a machine that is at work, and less than a second for all */
};

static _Atomic int kernels, copies;
static _Atomic bool slow_kernels, slow_copies;
static cl_event held; /* what copies behind the first trial of them wait for */
static _Atomic bool holds;

static void be_slow(int64_t ms)
{
	for (int64_t end = wait_now_ns() + ms * 1000000; wait_now_ns() < end;)
		sched_yield();
}

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event)
{
	atomic_fetch_add(&kernels, 1);
	if (slow_kernels)
		be_slow(SLOW_MS);
	return __real_clEnqueueNDRangeKernel(queue, kernel, dims, from, global, local, n, list, event);
}

cl_int __real_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off, size_t to_off,
                                  size_t bytes, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off, size_t to_off,
                                  size_t bytes, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off, size_t to_off,
                                  size_t bytes, cl_uint n, const cl_event *list, cl_event *event)
{
	atomic_fetch_add(&copies, 1);
	if (slow_copies)
		be_slow(SLOW_MS / TRIED);
	if (holds && copies > TRIED)
		return __real_clEnqueueCopyBuffer(queue, from, to, from_off, to_off, bytes, 1, &held, event);
	return __real_clEnqueueCopyBuffer(queue, from, to, from_off, to_off, bytes, n, list, event);
}

static enum dev_list_way way; /* of the tests that say which */

static void run_shape(struct world *world, int rank, choir_comm *comm, const struct gathered_shape *shape)
{
	struct gathered_set set = { .shape = *shape, .rank = rank, .n = world->n };
	choir_call call = CHOIR_CALL_INIT;
	bool made = gathered_set_make(&set, world->device);

	CHECK(made);
	call.options = shape->options;
	for (int round = 0; round < 2 && made; round++) {
		choir_event *event = NULL;
		int wrong;

		gathered_set_fill(&set);
		OK(gathered_set_call(&set, comm, &call, round == 1 ? &event : NULL));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		if (event != NULL && shape->options != NULL && strcmp(shape->options, "algorithm=device") == 0 &&
		    strcmp(choir_event_algorithm(event), "device") != 0)
			world_fail(world, rank, "form %d: by %s", (int)shape->form, choir_event_algorithm(event));
		choir_event_release(event);
		wrong = gathered_set_wrong(&set);
		if (wrong >= 0)
			world_fail(world, rank, "form %d, type %d, in place %d, '%s', round %d: tensor %d is wrong",
			           (int)shape->form, (int)shape->dtype, shape->in_place,
			           shape->options != NULL ? shape->options : "", round, wrong);
	}
	gathered_set_drop(&set);
}

/* Bytes, words and pairs of words, so that the kernels copy units of several widths. */
static void all_shapes(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const choir_dtype types[] = { CHOIR_F32, CHOIR_U8, CHOIR_I64 };
	static const char *const options[] = { NULL, "bucket_bytes=8000", "algorithm=slots", "algorithm=device" };
	bool near = choir_comm_nodes(comm) == 1, on_device = near && comm->device_bytes > 0;

	(void)unused;
	dev_list_way_set(world->device, way);
	for (int i = 0; i < N_FORMS * 4; i++) {
		struct gathered_shape s = { .form = (enum gathered_form)(i % N_FORMS),
			                    .dtype = types[(i + i / N_FORMS) % 3],
			                    .options = options[i / N_FORMS],
			                    .root = i % world->n };

		s.in_place = i % 2 == 1 && (s.form == ALLREDUCE || s.form == BROADCAST || s.form == REDUCE);
		if (i / N_FORMS == 2 && (!near || s.form == ALLREDUCE))
			s.options = NULL; /* slots are of one node, and there an allreduce's are called otherwise */
		/* llvmpipe's kernels have other f32 sums */
		if (i / N_FORMS == 3 &&
		    (!on_device || reduce_kernel_supported(world->device, s.dtype, CHOIR_OP_SUM) != CHOIR_SUCCESS))
			continue;
		run_shape(world, rank, comm, &s);
	}
}

static void run_shapes(enum dev_list_way which)
{
	way = which;
	for (int n = 2; n <= (quick_wanted() ? 2 : MOST_RANKS); n++)
		line_up_layouts(n, all_shapes);
}

static void test_kernels(void **state)
{
	(void)state;
	run_shapes(DEV_LIST_KERNELS);
}

static void test_copies(void **state)
{
	(void)state;
	run_shapes(DEV_LIST_COPIES);
}

/* Memory of the host that begins between two units of a kernel: such cl_mems are no gathered list. */
static void over_host(struct world *world, int rank, choir_comm *comm, void *unused)
{
	enum { N = 5, COUNT = 64 };
	struct gathered_set set = { .shape = { .form = ALLREDUCE, .dtype = CHOIR_F32 }, .rank = rank, .n = world->n };
	float *room = malloc((N * COUNT + 4) * sizeof *room), got[COUNT] = { 0 };
	choir_tensor tensors[N];
	cl_mem mems[N];

	(void)unused;
	CHECK(gathered_set_make(&set, world->device));
	for (int i = 0; i < N * COUNT + 4; i++)
		room[i] = (float)(rank + 1);
	for (int i = 0; i < N; i++) {
		mems[i] = clCreateBuffer(choir_device_context(world->device), CL_MEM_USE_HOST_PTR, COUNT * sizeof *room,
		                         room + 1 + i * COUNT, NULL);
		tensors[i] = (choir_tensor){ choir_mem(mems[i], 0), choir_mem(mems[i], 0), COUNT, CHOIR_F32 };
	}
	OK(choir_allreduce_multi(comm, tensors, N, CHOIR_OP_SUM, NULL, NULL));
	for (int i = 0; i < N; i++) {
		clEnqueueReadBuffer(set.queue, mems[i], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL);
		for (int e = 0; e < COUNT; e++)
			CHECK(got[e] == 3);
		clReleaseMemObject(mems[i]);
	}
	free(room);
	gathered_set_drop(&set);
}

static void test_over_host(void **state)
{
	(void)state;
	line_up_run(2, 0, 60000, over_host, NULL);
}

/* --- commands --- */

/* After a first call, which makes the library's memory. */
static void counts(struct world *world, int rank, choir_comm *comm, void *of_form)
{
	struct gathered_shape shape = { .form = *(enum gathered_form *)of_form, .dtype = CHOIR_F32 };
	struct gathered_set set = { .shape = shape, .rank = rank, .n = world->n };

	/* the other side of the others has a block for each rank */
	int sides = way != DEV_LIST_COPIES ? 0 : shape.form == ALLREDUCE ? 2 : 1;
	int by_copies = sides * TENSORS * world->n, by_kernels = (2 - sides) * LAUNCHES * world->n;

	dev_list_way_set(world->device, way);
	CHECK(gathered_set_make(&set, world->device));
	gathered_set_fill(&set);
	OK(gathered_set_call(&set, comm, NULL, NULL));
	line_up();
	if (rank == 0)
		bus_reset();
	atomic_store(&kernels, 0);
	atomic_store(&copies, 0);
	line_up();
	OK(gathered_set_call(&set, comm, NULL, NULL));
	line_up();
	if (bus_reads().commands != (uint64_t)world->n || bus_writes().commands != (uint64_t)world->n ||
	    kernels != by_kernels || copies != by_copies)
		world_fail(world, rank,
		           "form %d: %d lists of %d tensors took %d reads, %d writes, %d kernels and %d copies",
		           (int)set.shape.form, world->n, TENSORS, (int)bus_reads().commands,
		           (int)bus_writes().commands, atomic_load(&kernels), atomic_load(&copies));
	line_up();
	CHECK(gathered_set_wrong(&set) < 0);
	gathered_set_drop(&set);
}

static void test_commands(void **state)
{
	static enum gathered_form forms[] = { ALLREDUCE, REDUCE_SCATTER, ALLGATHER, GATHER_PADDED };

	(void)state;
	for (way = DEV_LIST_KERNELS; way <= DEV_LIST_COPIES; way++)
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
			line_up_run(2, 0, 60000, counts, &forms[i]);
}

/* --- which of the two --- */

static void tries(struct world *world, int rank, choir_comm *comm, void *of_way)
{
	struct gathered_set set = { .shape = { .form = ALLREDUCE, .dtype = CHOIR_F32 }, .rank = rank, .n = world->n };

	dev_list_way_set(world->device, DEV_LIST_UNTRIED);
	atomic_store(&kernels, 0);
	atomic_store(&copies, 0);
	line_up();
	CHECK(gathered_set_make(&set, world->device));
	gathered_set_fill(&set);
	for (int round = 0; round < 2; round++) {
		OK(gathered_set_call(&set, comm, NULL, NULL));
		line_up();
		CHECK(gathered_set_wrong(&set) < 0);
		CHECK(dev_list_way(world->device) == *(enum dev_list_way *)of_way);
		CHECK(kernels > 0 && copies > 0); /* both were tried */
		line_up();
	}
	gathered_set_drop(&set);
}

static void test_the_faster_is_taken(void **state)
{
	static enum dev_list_way ways[] = { DEV_LIST_KERNELS, DEV_LIST_COPIES };

	(void)state;
	for (int i = 0; i < 2; i++) {
		slow_copies = ways[i] == DEV_LIST_KERNELS;
		slow_kernels = ways[i] == DEV_LIST_COPIES;
		line_up_run(2, 0, 60000, tries, &ways[i]);
	}
	slow_copies = slow_kernels = false;
}

/* Copies that do not end hold the caller for a second.  Rank 1 lets them go on once rank 0 has done with the trial. */
static void ends_in_time(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct gathered_set set = { .shape = { .form = ALLREDUCE, .dtype = CHOIR_F32 }, .rank = rank, .n = world->n };
	int64_t start;

	(void)unused;
	CHECK(gathered_set_make(&set, world->device));
	gathered_set_fill(&set);
	dev_list_way_set(world->device, DEV_LIST_UNTRIED);
	atomic_store(&copies, 0);
	atomic_store(&holds, true); /* not before: a comm that is made times copies too */
	line_up();
	start = wait_now_ns();
	while (rank == 1 && dev_list_way(world->device) < DEV_LIST_KERNELS)
		sched_yield();
	if (rank == 1) {
		CHECK(copies == 2 * TRIED && wait_now_ns() - start < INT64_C(9000000000));
		atomic_store(&holds, false);
		gate_open(held, CL_COMPLETE);
	}
	OK(gathered_set_call(&set, comm, NULL, NULL));
	CHECK(gathered_set_wrong(&set) < 0 && dev_list_way(world->device) == DEV_LIST_KERNELS);
	gathered_set_drop(&set);
}

static void test_a_trial_ends_in_time(void **state)
{
	(void)state;
	held = gate_make(choir_device_context(world_device()));
	line_up_run(2, 0, 60000, ends_in_time, NULL);
	clReleaseEvent(held);
}

/* --- buckets --- */

/* Rank 1 calls when rank 0 has gathered its second bucket: none of rank 0's exchanges can be over by then. */
static void gathers_ahead(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct gathered_set set = { .shape = { .form = ALLREDUCE, .dtype = CHOIR_F32 }, .rank = rank, .n = world->n };
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	int done = 0;

	(void)unused;
	dev_list_way_set(world->device, DEV_LIST_KERNELS);
	call.options = "bucket_bytes=10000"; /* 5 to 13 tensors: four buckets, a kernel each */
	CHECK(gathered_set_make(&set, world->device));
	gathered_set_fill(&set);
	OK(gathered_set_call(&set, comm, &call, NULL));
	line_up();
	if (rank == 0) {
		atomic_store(&kernels, 0);
		OK(gathered_set_call(&set, comm, &call, &event));
		while (atomic_load(&kernels) < 2 && choir_event_test(event, &done) == CHOIR_SUCCESS && !done)
			sched_yield();
		if (done)
			world_fail(world, rank, "the call is over after %d kernels", atomic_load(&kernels));
	}
	line_up();
	if (rank == 1)
		OK(gathered_set_call(&set, comm, &call, &event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	CHECK(gathered_set_wrong(&set) < 0);
	gathered_set_drop(&set);
}

static void test_gathers_ahead(void **state)
{
	(void)state;
	line_up_run(2, 0, 60000, gathers_ahead, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_kernels),
		                            cmocka_unit_test(test_copies),
		                            cmocka_unit_test(test_over_host),
		                            cmocka_unit_test(test_commands),
		                            cmocka_unit_test(test_the_faster_is_taken),
		                            cmocka_unit_test(test_a_trial_ends_in_time),
		                            cmocka_unit_test(test_gathers_ahead) };
	int failed;

	setenv("CHOIR_CLASS", "stage", 1);
	failed = cmocka_run_group_tests_name("gathered", tests, NULL, NULL);
	gate_drop();
	world_device_drop();
	return failed;
}
