/* SPDX-License-Identifier: MIT */
/* order=ranks: what is refused. */
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
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
	CHECK(strstr(choir_last_error(), "option order is 'rank'; it may be ranks, any"));
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

/* Top-k's algorithms that add lists in pairs of ranks are refused where the comm keeps the order. */
static void tops(struct world *world, int rank, choir_comm *comm, bool keeps)
{
	static const char *const names[] = { "gtopk", "spardl" };

	for (int i = 0; i < 2; i++) {
		choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
		choir_topk_state *top = NULL;

		config.count = 8;
		config.algorithm = names[i];
		IS(choir_topk_create(comm, &config, &top), keeps ? CHOIR_ARGUMENT : CHOIR_SUCCESS);
		CHECK(!keeps || strstr(choir_last_error(), names[i]));
		choir_topk_destroy(top);
	}
}

static void keeps_order(struct world *world, int rank, choir_comm *comm, bool keeps)
{
	char *text = NULL;

	OK(choir_comm_json(comm, &text));
	CHECK(text != NULL && strstr(text, keeps ? "\"order_ranks\": true" : "\"order_ranks\": false"));
	free(text);
	tops(world, rank, comm, keeps);
	IS(sum(comm, CHOIR_F32, "algorithm=ring"), keeps ? CHOIR_ARGUMENT : CHOIR_SUCCESS);
	OK(sum(comm, CHOIR_F32, "order=any, algorithm=ring"));
	IS(sum(comm, CHOIR_F32, "order=ranks, algorithm=ring"), CHOIR_ARGUMENT);
}

/* The options and order_ranks of a comm, and of one that is split off.  keeps: do the two keep the order? */
static const struct said {
	const char *options[2];
	int order_ranks[2];
	bool keeps[2];
} said[] = {
	{ { "order=ranks", NULL }, { 0, 0 }, { true, true } },
	{ { "order=ranks", "chunk_bytes=4096" }, { 0, 0 }, { true, true } },
	{ { "order=ranks", "order=any" }, { 0, 0 }, { true, false } },
	{ { "order=any", NULL }, { 1, 0 }, { false, false } },
	{ { "order=any", NULL }, { 0, 1 }, { false, true } },
	{ { NULL, "order=any" }, { 1, 1 }, { true, false } },
	{ { "chunk_bytes=4096", "order=ranks" }, { 0, 0 }, { false, true } },
};

static choir_comm_config config_of(const struct said *s, int i)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.options = s->options[i];
	config.order_ranks = s->order_ranks[i];
	return config;
}

static void as_said(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct said *s = arg;
	choir_comm_config config = config_of(s, 1);
	choir_comm *part = NULL;

	keeps_order(world, rank, comm, s->keeps[0]);
	if (OK(choir_comm_split_config(comm, 0, rank, &config, &part)))
		keeps_order(world, rank, part, s->keeps[1]);
	choir_comm_destroy(part);
	config.options = "order=rnks";
	IS(choir_comm_split_config(comm, 0, rank, &config, &part), CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "choir_comm_split_config: option order is 'rnks'; it may be ranks, any"));
}

static void comms_do_as_they_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
		choir_comm_config config = config_of(&said[i], 0);

		config.deadline_ms = 60000;
		world_run(RANKS, &config, as_said, (void *)&said[i]);
	}
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
	config.order_ranks = 0;
	config.options = "chunk_bytes=4096, order=rnks";
	assert_int_equal(choir_comm_create_local(1, &device, &config, &comm), CHOIR_ARGUMENT);
	assert_non_null(
	    strstr(choir_last_error(), "choir_comm_create_local: option order is 'rnks'; it may be ranks, any"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_orders_are_named),
		cmocka_unit_test(comms_do_as_they_say),
		cmocka_unit_test(wrong_config),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
