/* SPDX-License-Identifier: MIT */
/* order=ranks: what is refused. */
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3 };

static choir_status sum(choir_comm *comm, choir_dtype dtype, const char *options)
{
	static float data[RANKS][64];
	choir_call call = CHOIR_CALL_INIT;

	call.options = options;
	return choir_allreduce(comm, choir_host(data[choir_comm_rank(comm)]), choir_host(data[choir_comm_rank(comm)]),
	                       8, dtype, CHOIR_OP_SUM, &call, NULL);
}

static void wrong(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	IS(sum(comm, CHOIR_F32, "order=ranks, algorithm=ring"), CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "algorithm 'ring' does not fold in rank order, which order=ranks asks for"));
	IS(sum(comm, CHOIR_F16, "algorithm=rank_chain,order=ranks"), CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "rounds after each rank"));
	IS(sum(comm, CHOIR_F32, "order=rank"), CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "option order is 'rank': 'ranks' or 'any' is wanted"));
	IS(sum(comm, CHOIR_F32, "oder=ranks"), CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "the nearest is 'order'"));
	OK(sum(comm, CHOIR_I32, "order=ranks, algorithm=ring")); /* no order changes a bit of integers */
}

static void not_alike(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	IS(sum(comm, CHOIR_F32, rank == 0 ? "order=ranks,algorithm=pairwise" : "algorithm=pairwise"), CHOIR_MISMATCH);
	CHECK(strstr(choir_last_error(), "pairwise, order=ranks)"));
}

static void bad_orders_are_named(void **state)
{
	(void)state;
	world_run_at(RANKS, 1, 60000, wrong, NULL);
	world_run_at(RANKS, 1, 60000, not_alike, NULL);
}

static void wrong_config(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_comm *comm;

	(void)state;
	config.order_ranks = 2;
	assert_int_equal(choir_comm_create_local(1, &device, &config, &comm), CHOIR_ARGUMENT);
	assert_non_null(strstr(choir_last_error(), "config->order_ranks is 2"));
	config = (choir_comm_config)CHOIR_COMM_CONFIG_INIT;
	config.order_ranks = 1;
	assert_int_equal(choir_comm_create_local(1, &device, &config, &comm), CHOIR_SUCCESS);
	{
		choir_topk_config topk = CHOIR_TOPK_CONFIG_INIT;
		choir_topk_state *top;

		topk.count = 8;
		topk.algorithm = "gtopk";
		assert_int_equal(choir_topk_create(comm, &topk, &top), CHOIR_ARGUMENT);
		assert_non_null(strstr(choir_last_error(), "'gtopk' adds lists in pairs of ranks"));
	}
	choir_comm_destroy(comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_orders_are_named),
		cmocka_unit_test(wrong_config),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
