/* SPDX-License-Identifier: MIT */
/* choir_mem_alloc: splits, one thread for all ranks, and what is left when things go wrong. */
#include "world/gate.h"
#include "world/matrix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SHARE = 4 << 20, SMALL = 4097 };

static void on_layouts(int n, int64_t deadline_ms, world_fn fn)
{
	for (int per_node = 0; per_node <= 2 && (per_node == 0 || per_node < n); per_node++)
		line_up_run(n, per_node, deadline_ms, fn, NULL);
}

/* The parent's memory is plain memory to a child, the child's own is not. */
static void splits(struct world *world, int rank, choir_comm *comm, void *unused)
{
	unsigned char *share, *own;
	choir_comm *child;
	int me, n;

	(void)unused;
	OK(choir_mem_alloc(comm, SHARE, (void **)&share, NULL));
	if (!OK(choir_comm_split(comm, rank % 2, -rank, &child)))
		return;
	me = choir_comm_rank(child);
	n = choir_comm_size(child);
	memory_use(share, NULL, SHARE, 24);
	matrix_roots(world, me, child, NULL);
	OK(choir_mem_alloc(child, SHARE, (void **)&own, NULL));
	OK(choir_barrier(comm, NULL, NULL));
	matrix_roots(world, me, child, NULL);
	for (size_t i = 0; i < 3000; i++)
		((int32_t *)share)[i] = me + (int32_t)i;
	memory_use(NULL, NULL, 0, 0);
	OK(choir_allreduce(child, choir_host(share), choir_host(own), 3000, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL));
	CHECK(((int32_t *)own)[2999] == n * 2999 + n * (n - 1) / 2);
	OK(choir_comm_destroy(child)); /* and its memory */
	CHECK(sum_works(comm, SMALL));
}

static void test_splits(void **state)
{
	(void)state;
	on_layouts(5, 20000, splits);
}

/* One thread for all ranks. */
static void test_one_thread(void **state)
{
	enum { N = 3 };

	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		struct world world;
		int32_t *shares[N];
		cl_mem mems[N];
		void *out = NULL;

		config.ranks_per_node = per_node;
		config.deadline_ms = 20000;
		world_begin(&world, N, &config);
		assert_int_equal(choir_mem_alloc_local(N, world.comms, 4 * 500, (void **)shares, mems), CHOIR_SUCCESS);
		assert_int_equal(choir_mem_alloc(world.comms[1], 64, &out, NULL), CHOIR_WOULD_DEADLOCK);
		assert_int_equal(choir_mem_free(world.comms[1], shares[1]), CHOIR_WOULD_DEADLOCK);
		for (int r = 0; r < N; r++)
			for (int i = 0; i < 500; i++)
				shares[r][i] = r * i;
		assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
		for (int r = 0; r < N; r++)
			assert_int_equal(choir_allreduce(world.comms[r], choir_host(shares[r]), choir_host(shares[r]),
			                                 500, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL),
			                 CHOIR_SUCCESS);
		assert_int_equal(choir_group_end(), CHOIR_SUCCESS);
		for (int r = 0; r < N; r++)
			assert_int_equal(shares[r][499], 3 * 499);
		assert_int_equal(choir_mem_free_local(N, world.comms, (void *const *)shares), CHOIR_SUCCESS);
		assert_int_equal(choir_mem_free_local(N, world.comms, (void *const *)shares), CHOIR_ARGUMENT);
		world_end(&world);
	}
}

/* A rank that does not come, and one that gives up. */
static void late(struct world *world, int rank, choir_comm *comm, void *unused)
{
	void *share = NULL;

	(void)unused;
	line_up(); /* of ranks that are missing the lowest is named */
	if (rank == 0)
		return;
	SAYS(choir_mem_alloc(comm, 4096, &share, NULL), CHOIR_TIMEOUT, "waits for rank 0");
	CHECK(share == NULL);
	IS(choir_mem_alloc(comm, 4096, &share, NULL), CHOIR_TIMEOUT);
}

static void gives_up(struct world *world, int rank, choir_comm *comm, void *unused)
{
	void *share = NULL, *more = NULL;

	(void)unused;
	OK(choir_mem_alloc(comm, 4096, &share, NULL));
	OK(choir_barrier(comm, NULL, NULL));
	line_up();
	if (rank == 0) {
		OK(choir_comm_abort(comm));
		return;
	}
	SAYS(choir_mem_alloc(comm, 4096, &more, NULL), CHOIR_ABORTED, "aborted by rank 0");
	IS(choir_mem_free(comm, share), CHOIR_ABORTED);
	memset(share, 7, 4096); /* it stays until the comm goes */
	CHECK(more == NULL);
}

static void test_failures(void **state)
{
	(void)state;
	on_layouts(3, 1500, late);
	on_layouts(3, 20000, gives_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_splits),
		cmocka_unit_test(test_one_thread),
		cmocka_unit_test(test_failures),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
