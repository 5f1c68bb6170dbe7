/* SPDX-License-Identifier: MIT */
/* Lists of whole cl_mems where only commands reach them: a kernel gathers them and another one scatters the results, so
 * a short list is one read and one write a rank; and a bucket is gathered while the one before it waits for its peers.
 * Reads, writes and kernels are counted. */
#include "exec/comm.h"
#include "quick.h"
#include "world/bus.h"
#include "world/gate.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static _Atomic int kernels;

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
	return __real_clEnqueueNDRangeKernel(queue, kernel, dims, from, global, local, n, list, event);
}

/* --- the lists --- */

enum form { ALLREDUCE, REDUCE_SCATTER, ALLGATHER, BROADCAST, REDUCE, SCATTER_PADDED, GATHER_PADDED, N_FORMS };
enum { TENSORS = 37, LONGEST = 1000, MOST_RANKS = 3, LAUNCHES = (TENSORS + 15) / 16 };

struct shape {
	enum form form;
	choir_dtype dtype;
	bool in_place;
	const char *options;
	int root;
};

/* A rank's tensors, each side a cl_mem of its own.  They fill it, so nothing but them can change. */
struct set {
	struct shape shape;
	int rank, n;
	cl_command_queue queue;
	cl_mem mems[TENSORS][2];
	size_t bytes[TENSORS][2]; /* 0 = no such buffer */
	choir_tensor tensors[TENSORS];
};

static size_t count_of(int i)
{
	static const size_t counts[] = { 3, 1, 17, 250, LONGEST, 64, 9 };

	return counts[i % 7];
}

static size_t blocks_up(size_t count, int n)
{
	return (count + (size_t)n - 1) / (size_t)n;
}

static size_t elements(const struct set *set, int i, bool send)
{
	size_t count = count_of(i), n = (size_t)set->n;
	bool is_root = set->rank == set->shape.root;

	switch (set->shape.form) {
	case REDUCE_SCATTER: return send ? count * n : count;
	case ALLGATHER: return send ? count : count * n;
	case BROADCAST: return send && !is_root ? 0 : count;
	case REDUCE: return !send && !is_root ? 0 : count;
	case SCATTER_PADDED: return send ? count : blocks_up(count, set->n);
	case GATHER_PADDED: return send ? blocks_up(count, set->n) : count;
	default: return count;
	}
}

static long value_of(int rank, int tensor, size_t element)
{
	return ((long)element * 7 + tensor * 13 + rank * 5) % 61;
}

/* Element e of what this rank gets of a tensor. */
static long wanted_of(const struct set *set, int i, size_t e)
{
	size_t count = count_of(i), block = blocks_up(count, set->n);
	long sum = 0;

	switch (set->shape.form) {
	case ALLGATHER: return value_of((int)(e / count), i, e % count);
	case GATHER_PADDED: return value_of((int)(e / block), i, e % block);
	case BROADCAST: return value_of(set->shape.root, i, e);
	case REDUCE_SCATTER: e += (size_t)set->rank * count; break;
	case SCATTER_PADDED: e += (size_t)set->rank * block; break;
	default: break;
	}
	if (set->shape.form == SCATTER_PADDED && e >= count)
		return 0;
	for (int r = 0; r < set->n; r++)
		sum += value_of(r, i, e);
	return sum;
}

static void put(unsigned char *at, choir_dtype dtype, size_t i, long value)
{
	if (dtype == CHOIR_U8)
		at[i] = (unsigned char)value;
	else if (dtype == CHOIR_F32)
		((float *)(void *)at)[i] = (float)value;
	else
		((int64_t *)(void *)at)[i] = value;
}

static bool make(struct set *set, choir_device *device)
{
	cl_context context = choir_device_context(device);
	bool made = true;
	cl_int rc;

	set->queue = clCreateCommandQueueWithProperties(context, choir_device_id(device), NULL, &rc);
	for (int i = 0; i < TENSORS && set->queue != NULL; i++) {
		choir_buffer sides[2];

		for (int side = 0; side < 2; side++) {
			bool shares = side == 1 && set->shape.in_place && set->bytes[i][0] > 0;

			set->bytes[i][side] = elements(set, i, side == 0) * choir_dtype_bytes(set->shape.dtype);
			sides[side] = shares && set->bytes[i][1] > 0 ? sides[0] : choir_none();
			if (shares || set->bytes[i][side] == 0)
				continue;
			set->mems[i][side] =
			    clCreateBuffer(context, CL_MEM_READ_WRITE, set->bytes[i][side], NULL, &rc);
			made &= set->mems[i][side] != NULL;
			sides[side] = choir_mem(set->mems[i][side], 0);
		}
		set->tensors[i] = (choir_tensor){ sides[0], sides[1], count_of(i), set->shape.dtype };
	}
	return made && set->queue != NULL;
}

static void drop(struct set *set)
{
	for (int i = 0; i < TENSORS; i++)
		for (int side = 0; side < 2; side++)
			if (set->mems[i][side] != NULL)
				clReleaseMemObject(set->mems[i][side]);
	if (set->queue != NULL)
		clReleaseCommandQueue(set->queue);
}

/* The buffer of a side: in place the results lie in SEND's. */
static cl_mem mem_of(const struct set *set, int i, int side)
{
	return set->mems[i][side] != NULL ? set->mems[i][side] : set->mems[i][0];
}

static void fill(struct set *set)
{
	static const unsigned char junk = 0xA5;
	unsigned char *room = malloc(LONGEST * MOST_RANKS * sizeof(int64_t));

	for (int i = 0; i < TENSORS && room != NULL; i++) {
		for (size_t e = 0; e < elements(set, i, true); e++)
			put(room, set->shape.dtype, e, value_of(set->rank, i, e));
		if (set->bytes[i][0] > 0)
			clEnqueueWriteBuffer(set->queue, set->mems[i][0], CL_TRUE, 0, set->bytes[i][0], room, 0, NULL,
			                     NULL);
		if (set->mems[i][1] != NULL)
			clEnqueueFillBuffer(set->queue, set->mems[i][1], &junk, 1, 0, set->bytes[i][1], 0, NULL, NULL);
	}
	clFinish(set->queue);
	free(room);
}

/* The first tensor that is wrong, or -1.  What is sent stays as it is. */
static int wrong_tensor(const struct set *set)
{
	unsigned char *room = malloc(2 * LONGEST * MOST_RANKS * sizeof(int64_t)),
		      *wanted = room + LONGEST * MOST_RANKS * sizeof(int64_t);
	int wrong = room == NULL ? 0 : -1;

	for (int i = 0; i < TENSORS && wrong < 0; i++)
		for (int side = 0; side < 2; side++) {
			size_t bytes = set->bytes[i][side];

			if (bytes == 0 || (side == 0 && set->mems[i][1] == NULL && set->bytes[i][1] > 0))
				continue;
			for (size_t e = 0; e < elements(set, i, side == 0); e++)
				put(wanted, set->shape.dtype, e,
				    side == 0 ? value_of(set->rank, i, e) : wanted_of(set, i, e));
			clEnqueueReadBuffer(set->queue, mem_of(set, i, side), CL_TRUE, 0, bytes, room, 0, NULL, NULL);
			if (memcmp(room, wanted, bytes) != 0)
				wrong = i;
		}
	free(room);
	return wrong;
}

static choir_status call_of(struct set *set, choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	choir_tensor *list = set->tensors;
	int root = set->shape.root;

	switch (set->shape.form) {
	case REDUCE_SCATTER: return choir_reduce_scatter_multi(comm, list, TENSORS, CHOIR_OP_SUM, call, event_p);
	case ALLGATHER: return choir_allgather_multi(comm, list, TENSORS, call, event_p);
	case BROADCAST: return choir_broadcast_multi(comm, list, TENSORS, root, call, event_p);
	case REDUCE: return choir_reduce_multi(comm, list, TENSORS, CHOIR_OP_SUM, root, call, event_p);
	case SCATTER_PADDED:
		return choir_reduce_scatter_padded_multi(comm, list, TENSORS, CHOIR_OP_SUM, call, event_p);
	case GATHER_PADDED: return choir_allgather_padded_multi(comm, list, TENSORS, call, event_p);
	default: return choir_allreduce_multi(comm, list, TENSORS, CHOIR_OP_SUM, call, event_p);
	}
}

static void run_shape(struct world *world, int rank, choir_comm *comm, const struct shape *shape)
{
	struct set set = { .shape = *shape, .rank = rank, .n = world->n };
	choir_call call = CHOIR_CALL_INIT;
	bool made = make(&set, world->device);

	CHECK(made);
	call.options = shape->options;
	for (int round = 0; round < 2 && made; round++) {
		choir_event *event = NULL;
		int wrong;

		fill(&set);
		OK(call_of(&set, comm, &call, round == 1 ? &event : NULL));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		if (event != NULL && shape->options != NULL && strcmp(shape->options, "algorithm=device") == 0 &&
		    strcmp(choir_event_algorithm(event), "device") != 0)
			world_fail(world, rank, "form %d: by %s", (int)shape->form, choir_event_algorithm(event));
		choir_event_release(event);
		wrong = wrong_tensor(&set);
		if (wrong >= 0)
			world_fail(world, rank, "form %d, type %d, in place %d, '%s', round %d: tensor %d is wrong",
			           (int)shape->form, (int)shape->dtype, shape->in_place,
			           shape->options != NULL ? shape->options : "", round, wrong);
	}
	drop(&set);
}

/* Bytes, words and pairs of words, so that the kernels copy units of several widths. */
static void all_shapes(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const choir_dtype types[] = { CHOIR_F32, CHOIR_U8, CHOIR_I64 };
	static const char *const options[] = { NULL, "bucket_bytes=8000", "algorithm=slots", "algorithm=device" };
	bool near = choir_comm_nodes(comm) == 1, on_device = near && comm->device_bytes > 0;

	(void)unused;
	for (int i = 0; i < N_FORMS * 4; i++) {
		struct shape s = { .form = (enum form)(i % N_FORMS),
			           .dtype = types[(i + i / N_FORMS) % 3],
			           .options = options[i / N_FORMS],
			           .root = i % world->n };

		s.in_place = i % 2 == 1 && (s.form == ALLREDUCE || s.form == BROADCAST || s.form == REDUCE);
		if (i / N_FORMS == 2 && (!near || s.form == ALLREDUCE))
			s.options = NULL; /* slots are of one node, and there an allreduce's are called otherwise */
		if (i / N_FORMS == 3 && !on_device)
			continue;
		run_shape(world, rank, comm, &s);
	}
}

static void test_shapes(void **state)
{
	(void)state;
	for (int n = 2; n <= (quick_wanted() ? 2 : MOST_RANKS); n++)
		line_up_layouts(n, all_shapes);
}

/* Memory of the host that begins between two units of a kernel: such cl_mems are no gathered list. */
static void over_host(struct world *world, int rank, choir_comm *comm, void *unused)
{
	enum { N = 5, COUNT = 64 };
	struct set set = { .shape = { .form = ALLREDUCE, .dtype = CHOIR_F32 }, .rank = rank, .n = world->n };
	float *room = malloc((N * COUNT + 4) * sizeof *room), got[COUNT] = { 0 };
	choir_tensor tensors[N];
	cl_mem mems[N];

	(void)unused;
	CHECK(make(&set, world->device));
	for (int i = 0; i < N * COUNT + 4; i++)
		room[i] = (float)(rank + 1);
	for (int i = 0; i < N; i++) {
		mems[i] = clCreateBuffer(choir_device_context(world->device), CL_MEM_USE_HOST_PTR,
		                         COUNT * sizeof *room, room + 1 + i * COUNT, NULL);
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
	drop(&set);
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
	struct shape shape = { .form = *(enum form *)of_form, .dtype = CHOIR_F32 };
	struct set set = { .shape = shape, .rank = rank, .n = world->n };

	CHECK(make(&set, world->device));
	fill(&set);
	OK(call_of(&set, comm, NULL, NULL));
	line_up();
	if (rank == 0)
		bus_reset();
	atomic_store(&kernels, 0);
	line_up();
	OK(call_of(&set, comm, NULL, NULL));
	line_up();
	if (bus_reads().commands != (uint64_t)world->n || bus_writes().commands != (uint64_t)world->n ||
	    kernels != 2 * LAUNCHES * world->n)
		world_fail(world, rank, "form %d: %d lists of %d tensors took %d reads, %d writes and %d kernels",
		           (int)set.shape.form, world->n, TENSORS, (int)bus_reads().commands,
		           (int)bus_writes().commands, atomic_load(&kernels));
	line_up();
	CHECK(wrong_tensor(&set) < 0);
	drop(&set);
}

static void test_commands(void **state)
{
	static enum form forms[] = { ALLREDUCE, REDUCE_SCATTER, ALLGATHER, GATHER_PADDED };

	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		line_up_run(2, 0, 60000, counts, &forms[i]);
}

/* --- buckets --- */

/* Rank 1 calls when rank 0 has gathered its second bucket: none of rank 0's exchanges can be over by then. */
static void gathers_ahead(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct set set = { .shape = { .form = ALLREDUCE, .dtype = CHOIR_F32 }, .rank = rank, .n = world->n };
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	int done = 0;

	(void)unused;
	call.options = "bucket_bytes=10000"; /* 5 to 13 tensors: four buckets, a kernel each */
	CHECK(make(&set, world->device));
	fill(&set);
	OK(call_of(&set, comm, &call, NULL));
	line_up();
	if (rank == 0) {
		atomic_store(&kernels, 0);
		OK(call_of(&set, comm, &call, &event));
		while (atomic_load(&kernels) < 2 && choir_event_test(event, &done) == CHOIR_SUCCESS && !done)
			sched_yield();
		if (done)
			world_fail(world, rank, "the call is over after %d kernels", atomic_load(&kernels));
	}
	line_up();
	if (rank == 1)
		OK(call_of(&set, comm, &call, &event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	CHECK(wrong_tensor(&set) < 0);
	drop(&set);
}

static void test_gathers_ahead(void **state)
{
	(void)state;
	line_up_run(2, 0, 60000, gathers_ahead, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes), cmocka_unit_test(test_over_host),
		                            cmocka_unit_test(test_commands),
		                            cmocka_unit_test(test_gathers_ahead) };
	int failed;

	setenv("CHOIR_CLASS", "stage", 1);
	failed = cmocka_run_group_tests_name("gathered", tests, NULL, NULL);
	gate_drop();
	world_device_drop();
	return failed;
}
