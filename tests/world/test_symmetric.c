/* SPDX-License-Identifier: MIT */
/* choir_mem_alloc: the table of collectives in symmetric memory, what is refused and what is reused.  Processes, where
 * it matters most which memory a rank gives, have a case of their own (tests/mpi/symmetric.c, test_processes.c). */
#include "world/gate.h"
#include "world/matrix.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SHARE = 4 << 20, MOST = 64, SMALL = 4097 };

static const choir_status wrong = CHOIR_ARGUMENT;

static void on_layouts(int n, int64_t deadline_ms, world_fn fn)
{
	for (int per_node = 0; per_node <= 2 && (per_node == 0 || per_node < n); per_node++)
		line_up_run(n, per_node, deadline_ms, fn, NULL);
}

static bool all_zero(const unsigned char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (at[i] != 0)
			return false;
	return true;
}

/* Buffers at another offset on every rank, none on a line of 64. */
static void table(struct world *world, int rank, choir_comm *comm, void *unused)
{
	unsigned char *share;
	cl_mem mem;

	(void)unused;
	if (!OK(choir_mem_alloc(comm, SHARE, (void **)&share, &mem)))
		return;
	CHECK((uintptr_t)share % 4096 == 0 && all_zero(share, SHARE));
	memory_use(share, mem, SHARE, 16 * (2 * (size_t)rank + 1));
	matrix_roots(world, rank, comm, NULL);
	matrix_types(world, rank, comm, NULL);
	matrix_sizes(world, rank, comm, world);
	memory_use(NULL, NULL, 0, 0);
	OK(choir_mem_free(comm, share));
	CHECK(sum_works(comm, SMALL));
}

static void test_table(void **state)
{
	(void)state;
	on_layouts(1, 60000, table);
	on_layouts(3, 60000, table);
}

/* What goes in through the cl_mem comes out through the pointer, without a map. */
static void both_ways(struct world *world, int rank, choir_comm *comm, void *unused)
{
	cl_context context = choir_device_context(world->device);
	cl_int rc;
	cl_command_queue queue = clCreateCommandQueueWithProperties(context, choir_device_id(world->device), NULL, &rc);
	float ones[5] = { 1, 1, 1, 1, 1 }, got[5] = { 0 };
	float *share;
	cl_mem mem;

	(void)unused;
	if (!OK(choir_mem_alloc(comm, 77, (void **)&share, &mem)))
		return;
	if (mem != NULL) {
		CHECK(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 8, sizeof ones, ones, 0, NULL, NULL) == CL_SUCCESS);
		clFinish(queue);
		CHECK(memcmp(share + 2, ones, sizeof ones) == 0);
		OK(choir_allreduce(comm, choir_mem(mem, 8), choir_host(share + 9), 5, CHOIR_F32, CHOIR_OP_SUM, NULL,
		                   NULL));
		CHECK(share[9] == (float)world->n && share[13] == (float)world->n && share[14] == 0);
		CHECK(clEnqueueReadBuffer(queue, mem, CL_TRUE, 36, sizeof got, got, 0, NULL, NULL) == CL_SUCCESS &&
		      got[4] == (float)world->n);
	}
	clReleaseCommandQueue(queue);
	OK(choir_mem_free(comm, share));
}

static void test_both_ways(void **state)
{
	(void)state;
	on_layouts(2, 20000, both_ways);
}

/* Sizes that differ are refused on every rank, and nothing is left of it. */
static void differ(struct world *world, int rank, choir_comm *comm, void *unused)
{
	void *share = &share;

	(void)unused;
	for (int odd = 0; odd < world->n; odd++) {
		IS(choir_mem_alloc(comm, rank == odd ? 8192 : 4096, &share, NULL), CHOIR_MISMATCH);
		CHECK(share == &share && says(choir_last_error(), "choir_mem_alloc|4096|8192"));
		CHECK(sum_works(comm, SMALL));
	}
}

static void test_differ(void **state)
{
	(void)state;
	on_layouts(2, 20000, differ);
	on_layouts(5, 20000, differ);
}

/* As many as there can be, one more, and the numbers of those that were freed again. */
static void many(struct world *world, int rank, choir_comm *comm, void *unused)
{
	unsigned char *shares[MOST];
	void *more = NULL;

	(void)unused;
	for (int i = 0; i < MOST; i++)
		if (OK(choir_mem_alloc(comm, 4096, (void **)&shares[i], NULL)))
			memset(shares[i], i + 1, 4096);
	for (int round = 0; round < 2; round++) {
		SAYS(choir_mem_alloc(comm, 64, &more, NULL), CHOIR_NO_MEMORY, "64 symmetric allocations");
		CHECK(more == NULL);
		for (int i = 10 + round; i < MOST; i += 30) {
			OK(choir_mem_free(comm, shares[i]));
			OK(choir_mem_alloc(comm, 12288, (void **)&shares[i], NULL));
			CHECK(all_zero(shares[i], 12288));
			memset(shares[i], i + 1, 12288);
		}
	}
	for (int i = 0; i < MOST; i++) {
		OK(choir_allreduce(comm, choir_host(shares[i]), choir_host(shares[(i + 1) % MOST] + 1000), 1000,
		                   CHOIR_U8, CHOIR_OP_SUM, NULL, NULL));
		CHECK(shares[(i + 1) % MOST][1999] == (unsigned char)(world->n * (i + 1)));
	}
	for (int i = 0; i < MOST; i += 1 + i % 2) /* the others go with the comm */
		OK(choir_mem_free(comm, shares[i]));
}

static void test_many(void **state)
{
	(void)state;
	on_layouts(3, 20000, many);
}

static void in_a_callback(void *ctx, choir_status status)
{
	struct {
		struct world *world;
		int rank;
		choir_comm *comm;
		void *share;
		sem_t called;
	} *c = ctx;
	struct world *world = c->world;
	int rank = c->rank;
	void *out = NULL;

	CHECK(status == CHOIR_SUCCESS);
	SAYS(choir_mem_alloc(c->comm, 64, &out, NULL), CHOIR_WOULD_DEADLOCK, "choir_mem_alloc|callback");
	SAYS(choir_mem_free(c->comm, c->share), CHOIR_WOULD_DEADLOCK, "choir_mem_free|callback");
	CHECK(out == NULL);
	sem_post(&c->called);
}

/* Rank 0 alone: that the next call meets shows that nothing was sent. */
static void refusals(struct world *world, int rank, choir_comm *comm, void *share)
{
	struct {
		struct world *world;
		int rank;
		choir_comm *comm;
		void *share;
		sem_t called;
	} caller = { world, rank, comm, share, { { 0 } } };
	choir_comm *none = NULL, *two[2] = { comm, NULL };
	void *out = &out, *outs[2], *inner = (char *)share + 64;
	choir_event *event;

	SAYS(choir_mem_alloc(NULL, 64, &out, NULL), wrong, "choir_mem_alloc");
	SAYS(choir_mem_alloc(comm, 0, &out, NULL), wrong, "choir_mem_alloc|0 bytes");
	SAYS(choir_mem_alloc(comm, SIZE_MAX, &out, NULL), wrong, "choir_mem_alloc|bytes");
	SAYS(choir_mem_alloc(comm, 64, NULL, NULL), wrong, "choir_mem_alloc|null");
	SAYS(choir_mem_alloc_local(0, two, 64, outs, NULL), wrong, "choir_mem_alloc|n_local 0");
	SAYS(choir_mem_alloc_local(-1, two, 64, outs, NULL), wrong, "choir_mem_alloc|n_local -1");
	SAYS(choir_mem_alloc_local(1, NULL, 64, outs, NULL), wrong, "choir_mem_alloc");
	SAYS(choir_mem_alloc_local(1, &none, 64, outs, NULL), wrong, "choir_mem_alloc");
	SAYS(choir_mem_alloc_local(2, two, 64, outs, NULL), wrong, "choir_mem_alloc");
	SAYS(choir_mem_free(NULL, share), wrong, "choir_mem_free");
	SAYS(choir_mem_free(comm, NULL), wrong, "choir_mem_free");
	SAYS(choir_mem_free(comm, inner), wrong, "choir_mem_free|rank 0");
	SAYS(choir_mem_free(comm, &out), wrong, "choir_mem_free|rank 0");
	SAYS(choir_mem_free_local(1, &comm, NULL), wrong, "choir_mem_free");
	OK(choir_group_begin());
	SAYS(choir_mem_alloc(comm, 64, &out, NULL), wrong, "choir_mem_alloc|group");
	SAYS(choir_mem_free(comm, share), wrong, "choir_mem_free|group");
	OK(choir_group_end());
	CHECK(out == &out);
	sem_init(&caller.called, 0, 0);
	OK(choir_send(comm, choir_host(&rank), 1, CHOIR_I32, 0, NULL, &event));
	OK(choir_event_on_complete(event, in_a_callback, &caller));
	OK(choir_recv(comm, choir_host(&rank), 1, CHOIR_I32, 0, NULL, NULL));
	OK(choir_event_wait(event, -1));
	sem_wait(&caller.called);
	sem_destroy(&caller.called);
	choir_event_release(event);
}

static void wrong_calls(struct world *world, int rank, choir_comm *comm, void *unused)
{
	void *share, *of_child;
	choir_comm *child;

	(void)unused;
	OK(choir_mem_alloc(comm, 300, &share, NULL));
	if (rank == 0)
		refusals(world, rank, comm, share);
	OK(choir_comm_split(comm, 0, -rank, &child)); /* meets: nothing was sent */
	OK(choir_mem_alloc(child, 300, &of_child, NULL));
	SAYS(choir_mem_free(comm, of_child), wrong, "choir_mem_free"); /* another comm's */
	SAYS(choir_mem_free(child, share), wrong, "choir_mem_free");
	OK(choir_mem_free(child, of_child));
	SAYS(choir_mem_free(child, of_child), wrong, "choir_mem_free"); /* again */
	OK(choir_mem_free(comm, share));
	CHECK(sum_works(comm, SMALL) && sum_works(child, SMALL));
	choir_comm_destroy(child);
}

static void test_wrong(void **state)
{
	(void)state;
	on_layouts(2, 20000, wrong_calls);
}

/* Two ranks, short: each reduces all for itself, which needs RECV apart from SEND on both.  In place on both the slices
 * are reduced, on one of them through slots. */
static void in_place_on_some(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const char *const usual[] = { "direct_oneshot", "oneshot", "oneshot", "direct_oneshot" };
	enum { COUNT = 2001 };
	int32_t *share;

	(void)unused;
	if (!OK(choir_mem_alloc(comm, SHARE, (void **)&share, NULL)))
		return;
	for (int who = 0; who < 4 * 3; who++) {
		int32_t *in = share + 3 + rank, *out = who % 4 >> rank & 1 ? in : in + COUNT + 1;
		choir_event *event;

		for (int32_t i = 0; i < COUNT; i++)
			in[i] = i * (rank + 1);
		out[COUNT] = -5;
		if (!OK(choir_allreduce(comm, choir_host(in), choir_host(out), COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL,
		                        &event)))
			return;
		OK(choir_event_wait(event, -1));
		if (strcmp(choir_event_algorithm(event), usual[who % 4]) != 0)
			world_fail(world, rank, "in place on ranks %x: %s", who % 4, choir_event_algorithm(event));
		for (int32_t i = 0; i < COUNT; i++)
			if (out[i] != 3 * i || (out != in && in[i] != i * (rank + 1)))
				return world_fail(world, rank, "in place on ranks %x: element %d", who % 4, (int)i);
		CHECK(out[COUNT] == -5);
		choir_event_release(event);
	}
	OK(choir_mem_free(comm, share));
}

static void test_in_place_on_some(void **state)
{
	(void)state;
	world_run_at(2, 0, 20000, in_place_on_some, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table), cmocka_unit_test(test_both_ways), cmocka_unit_test(test_differ),
		cmocka_unit_test(test_many),  cmocka_unit_test(test_wrong),     cmocka_unit_test(test_in_place_on_some),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
