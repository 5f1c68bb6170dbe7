/* SPDX-License-Identifier: MIT */
/* Inline execution (exec/inline.h): blocking calls allocate nothing, ask OpenCL for nothing and read no options, may be
 * made by several threads at once beside calls with events, wait for late peers as ordinary calls, and fail with the
 * same sentences.  malloc, OpenCL's functions and the reader of options are wrapped by the linker. */
#include "api/options.h"
#include "base/wait.h"
#include "exec/comm.h"
#include "world/gate.h"
#include "world/repeated.h"
#include "world/repeated_ends.h"
#include "world/repeated_lists.h"
#include "world/repeated_many.h"
#include "world/repeated_memory.h"
#include "world/repeated_threads.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 500, LATE_MS = 300 };

/* --- what a call costs --- */

static _Thread_local unsigned allocated,
    asked; /* this thread's allocations; its OpenCL calls and readings of options */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *ptr, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	allocated++;
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	allocated++;
	return __real_calloc(n, bytes);
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
	allocated++;
	return __real_realloc(ptr, bytes);
}

/* The comm's options are read again. */
choir_status __real_options_read(const char *call, const choir_comm *comm, const choir_call *given,
                                 enum collective collective, struct dense_options *out);
choir_status __wrap_options_read(const char *call, const choir_comm *comm, const choir_call *given,
                                 enum collective collective, struct dense_options *out);

choir_status __wrap_options_read(const char *call, const choir_comm *comm, const choir_call *given,
                                 enum collective collective, struct dense_options *out)
{
	asked++;
	return __real_options_read(call, comm, given, collective, out);
}

/* A function of OpenCL that is counted, and done. */
#define COUNTED(name, params, args)                                                                                    \
	cl_int __real_##name params;                                                                                   \
	cl_int __wrap_##name params;                                                                                   \
	cl_int __wrap_##name params                                                                                    \
	{                                                                                                              \
		asked++;                                                                                               \
		return __real_##name args;                                                                             \
	}

COUNTED(clRetainMemObject, (cl_mem mem), (mem))
COUNTED(clReleaseMemObject, (cl_mem mem), (mem))
COUNTED(clRetainEvent, (cl_event event), (event))
COUNTED(clFlush, (cl_command_queue queue), (queue))
COUNTED(clGetMemObjectInfo, (cl_mem mem, cl_mem_info what, size_t bytes, void *value, size_t *bytes_p),
        (mem, what, bytes, value, bytes_p))
COUNTED(clEnqueueNDRangeKernel,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *off, const size_t *global,
         const size_t *local, cl_uint n, const cl_event *events, cl_event *event_p),
        (queue, kernel, dims, off, global, local, n, events, event_p))
COUNTED(clEnqueueReadBuffer,
        (cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t off, size_t bytes, void *to, cl_uint n,
         const cl_event *events, cl_event *event_p),
        (queue, mem, blocks, off, bytes, to, n, events, event_p))
COUNTED(clEnqueueWriteBuffer,
        (cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t off, size_t bytes, const void *from, cl_uint n,
         const cl_event *events, cl_event *event_p),
        (queue, mem, blocks, off, bytes, from, n, events, event_p))
COUNTED(clEnqueueMarkerWithWaitList, (cl_command_queue queue, cl_uint n, const cl_event *events, cl_event *event_p),
        (queue, n, events, event_p))

/* A list with tensors in a cl_mem; of one rank also of two types, which is two calls, one after the other. */
static choir_request *keep_list(choir_comm *comm, cl_mem mem, float *in, float *out)
{
	choir_tensor list[] = { { choir_host(in), choir_host(out), 7, CHOIR_F32 },
		                { choir_mem(mem, 64), choir_mem(mem, 64), 9, CHOIR_F32 },
		                { choir_host(in + 8), choir_host(out + 8), 6, CHOIR_I32 },
		                { choir_mem(mem, 0), choir_mem(mem, 0), 5, CHOIR_I32 } };
	choir_request *request = NULL;

	(void)choir_allreduce_multi_init(comm, list, choir_comm_size(comm) == 1 ? 4 : 2, CHOIR_OP_SUM, NULL, &request);
	return request;
}

static choir_status one_of_each(choir_comm *comm, int kind, choir_request *list, float *in, float *out)
{
	static const size_t counts[] = { 4, 4, 4, 4 };
	choir_call older = CHOIR_CALL_INIT; /* as programs give it that were built before it had a key */
	int n = choir_comm_size(comm), me = choir_comm_rank(comm);

	older.struct_size = offsetof(choir_call, key);
	switch (kind) {
	case 0:
		return choir_allreduce(comm, choir_host(in), choir_host(out), 16, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
	case 1:
		return choir_broadcast(comm, choir_host(in), choir_host(out), 16, CHOIR_F32, 0, NULL, NULL);
	case 2:
		return choir_allgather(comm, choir_host(in), choir_host(out), 16, CHOIR_F32, NULL, NULL);
	case 3:
		return choir_sendrecv(comm, choir_host(in), 16, (me + 1) % n, choir_host(out), 16, (me + n - 1) % n,
		                      CHOIR_F32, NULL, NULL);
	case 4:
		return choir_alltoallv(comm, choir_host(in), counts, NULL, choir_host(out), counts, NULL, CHOIR_F32,
		                       NULL, NULL);
	case 5:
		return choir_allgatherv(comm, choir_host(in), 4, choir_host(out), counts, NULL, CHOIR_F32, NULL, NULL);
	case 6:
		return choir_reduce_scatterv(comm, choir_host(in), choir_host(out), counts, CHOIR_F32, CHOIR_OP_SUM,
		                             NULL, NULL);
	case 7:
		return choir_start(list, NULL, NULL);
	case 8:
		return choir_allreduce(comm, choir_host(in), choir_host(out), 16, CHOIR_F32, CHOIR_OP_SUM, &older,
		                       NULL);
	default:
		return choir_barrier(comm, NULL, NULL);
	}
}

/* How many calls allocated nothing and asked OpenCL for nothing, and how many did behind the first ones. */
struct noise {
	unsigned quiet, loud;
};

static struct noise try_kind(struct world *world, int rank, choir_comm *comm, int kind, choir_request *list)
{
	enum { WARM = 20, TRIES = 3000 };
	float in[16] = { 1 }, out[16 * 4];
	struct noise noise = { 0, 0 };

	for (int i = 0; i < TRIES; i++) {
		allocated = asked = 0;
		OK(one_of_each(comm, kind, list, in, out));
		noise.quiet += allocated == 0 && asked == 0;
		noise.loud += i >= WARM && (allocated > 0 || asked > 0);
	}
	return noise;
}

/* Options of a comm, and what an allreduce of two ranks takes by them. */
struct of_comm {
	const char *options, *algorithm;
	bool by_messages; /* all collectives; an alltoallv's, whose counts may change, are the transport's */
};

/* A rank whose peer is late waits in another way, and a call that meets the background thread at its last look, after a
 * call with an event, is submitted.  So of several ranks a call of each kind is silent at some time, and of one rank
 * all calls of some round are, once other programs leave them the cores.  of_comm: NULL if the comm has no options. */
static void silent(struct world *world, int rank, choir_comm *comm, void *of_comm)
{
	const struct of_comm *of = of_comm;
	enum { KINDS = 10 };
	float in[16] = { 1 }, out[16 * 4], zeros[32] = { 0 };
	cl_mem mem =
	    clCreateBuffer(choir_device_context(world->device), CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, NULL);
	choir_request *list = keep_list(comm, mem, in, out);

	for (int kind = 0; kind < KINDS; kind++) {
		int64_t end = wait_now_ns() + INT64_C(20000000000);
		struct noise noise = { 0, 0 };
		bool was_silent = false;

		if (kind == 7 && choir_device_class(world->device) != CHOIR_CLASS_DIRECT)
			continue; /* its list has a cl_mem */
		if (kind == 4 && of != NULL && of->by_messages)
			continue;

		for (int32_t over = 0; over == 0;) { /* for all ranks at once */
			noise = try_kind(world, rank, comm, kind, list);
			was_silent |= noise.quiet > 0 && (world->n > 1 || noise.loud == 0);
			over = was_silent || wait_now_ns() > end;
			OK(choir_allreduce(comm, choir_host(&over), choir_host(&over), 1, CHOIR_I32, CHOIR_OP_MIN, NULL,
			                   NULL));
		}
		if (!was_silent)
			world_fail(world, rank, "kind %d: %u calls in silence, %u not", kind, noise.quiet, noise.loud);
	}
	choir_request_free(list);
	clReleaseMemObject(mem);
}

/* --- late peers --- */

/* Rank 0's call has become an ordinary run when the others come. */
static void late(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float in[16] = { 1 }, out[16 * 4];

	(void)unused;
	for (int k = 0; k < 20; k++) {
		int first = k % world->n;

		line_up();
		while (rank != first && atomic_load(&world->comms[first]->submission.unfinished) == 0)
			sched_yield();
		OK(one_of_each(comm, 0, NULL, in, out));
		CHECK(out[0] == (float)world->n);
	}
}

/* --- failures --- */

enum how { MISMATCH, LATE, ABORT };

struct failure {
	enum how how;
	bool ordinary;
	char said[2][1024]; /* by rank 0: first call that fails, next call */
};

/* What was said, but for how long it took. */
static void keep_text(char *to, size_t room)
{
	char *took;

	snprintf(to, room, "%s", choir_last_error());
	took = strstr(to, " after ");
	if (took != NULL)
		*took = '\0';
}

static void fails(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const choir_status wanted[] = { CHOIR_MISMATCH, CHOIR_TIMEOUT, CHOIR_ABORTED };
	struct failure *f = arg;
	float in[COUNT] = { 0 }, out[COUNT];
	choir_event *over;
	choir_call call = CHOIR_CALL_INIT;

	OK(choir_barrier(comm, NULL, &over));
	OK(choir_event_wait(over, -1));
	call.deps = &over; /* a call with deps is none of these */
	call.n_deps = f->ordinary;
	if (f->how == LATE)
		comm->deadline_ms = LATE_MS; /* not of the barrier: a rank may begin late */
	line_up();
	if (rank == 1 && f->how == ABORT) {
		while (atomic_load(&world->comms[0]->submission.next_seq) < 2)
			sched_yield();
		OK(choir_comm_abort(comm));
	} else if (rank == 0 || f->how == MISMATCH) {
		for (int i = 0; i < 2; i++) {
			IS(choir_allreduce(comm, choir_host(in), choir_host(out), (size_t)(COUNT - rank), CHOIR_F32,
			                   CHOIR_OP_SUM, &call, NULL),
			   wanted[f->how]);
			if (rank == 0)
				keep_text(f->said[i], sizeof f->said[i]);
		}
	}
	choir_event_release(over);
	line_up();
	IS(choir_comm_status(comm), wanted[f->how]);
}

static void on_one_node(int n, int64_t deadline_ms, world_fn fn, void *arg)
{
	line_up_run(n, 0, deadline_ms, fn, arg);
}

/* The options of a comm are read when a call is prepared: that its calls follow them, an event tells. */
static void silent_by_options(struct world *world, int rank, choir_comm *comm, void *of_comm)
{
	const struct of_comm *of = of_comm;
	float in[16] = { 1 }, out[16] = { 0 };
	choir_event *event = NULL;

	OK(choir_allreduce(comm, choir_host(in), choir_host(out), 16, CHOIR_F32, CHOIR_OP_SUM, NULL, &event));
	OK(choir_event_wait(event, -1));
	if (strcmp(choir_event_algorithm(event), world->n == 1 ? "single" : of->algorithm) != 0)
		world_fail(world, rank, "%s took %s", of->options, choir_event_algorithm(event));
	choir_event_release(event);
	silent(world, rank, comm, of_comm);
}

static void test_silent(void **state)
{
	static const struct of_comm of_comm[] = {
		{ "algorithm=twoshot, chunk_bytes=65536, bucket_bytes=1000000", "twoshot", false },
		{ "method=clockwise_ring, order=any", "ring", false },
		{ "method=broadcast, maxBytesPerTile=8192, order=ranks", "oneshot", false },
		{ "link=node, collectiveImplementation=Syncful, syncful.maxBroadcastSize=100", "twoshot", false },
		{ "syncful.useOptimisedLayout=false", "oneshot", false },
		{ "topology=ring-on-line, collectiveImplementation=Syncless, link=network", "ring", true },
	};
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	on_one_node(1, 20000, silent, NULL);
	on_one_node(2, 20000, silent, NULL);
	config.deadline_ms = 20000;
	for (size_t i = 0; i < sizeof of_comm / sizeof *of_comm; i++) {
		struct of_comm of = of_comm[i];

		config.options = of.options;
		world_run(2, &config, silent_by_options, &of);
		if (i == 0)
			world_run(1, &config, silent_by_options, &of);
	}
}

static void test_late(void **state)
{
	(void)state;
	on_one_node(2, 20000, late, NULL);
	on_one_node(3, 20000, late, NULL);
}

/* Either rank may be the first to see that calls differ; both calls are named in full. */
static void check_sentences(const struct failure *spot, const struct failure *ordinary)
{
	const char *both = "comm: calls differ|rank 0 calls allreduce #1 (500 x f32, sum, |rank 1 calls allreduce #1 "
			   "(499 x f32, sum, ";

	for (int i = 0; i < 2; i++)
		if (spot->how == MISMATCH)
			assert_true(says(spot->said[i], both) && says(ordinary->said[i], both));
		else
			assert_string_equal(spot->said[i], ordinary->said[i]);
}

/* The sentence is the same, whichever way the call went. */
static void test_failures(void **state)
{
	(void)state;
	for (int how = MISMATCH; how <= ABORT; how++) {
		struct failure spot = { .how = (enum how)how }, ordinary = { .how = (enum how)how, .ordinary = true };

		on_one_node(2, 20000, fails, &spot);
		on_one_node(2, 20000, fails, &ordinary);
		assert_true(strlen(spot.said[0]) > 20);
		check_sentences(&spot, &ordinary);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent),         cmocka_unit_test(test_threads),
		cmocka_unit_test(test_late),           cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_repeated_lists), cmocka_unit_test(test_repeated_memory),
		cmocka_unit_test(test_failures),       cmocka_unit_test(test_repeated_ends),
		cmocka_unit_test(test_repeated_many),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
