/* SPDX-License-Identifier: MIT */
/* choir_topk_allreduce_at: the caller selects. */
#include "topk/law.h"
#include "world/memory.h"

#include <choir/topk.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The caller's indices: unsorted, with duplicates, none on one rank. */
static void chosen_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { COUNT = 60 };
	static const int32_t ind[] = { 50, 3, 7, 3, 59, 7, 0, 50 }, bad[] = { 3, 60 };
	static const bool is_chosen[COUNT] = { [0] = true, [3] = true, [7] = true, [50] = true, [59] = true };

	(void)arg;
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;
		choir_topk_stats stats = { .struct_size = sizeof stats };
		choir_topk_state *state;
		choir_event *event;
		float grad[COUNT], result[COUNT], left[COUNT];
		size_t n = rank == 1 ? 0 : 8;
		choir_status st;

		config.algorithm = law_algorithms[a];
		config.count = COUNT;
		config.k = 8;
		config.op = CHOIR_OP_SUM;
		out.dense = choir_host(result);
		for (int i = 0; i < COUNT; i++)
			grad[i] = (float)(i + 1);
		OK(choir_topk_create(comm, &config, &state));
		st = choir_topk_allreduce_at(state, choir_host(grad), choir_host(ind), n, CHOIR_I32, &out, NULL, NULL);
		if (strcmp(config.algorithm, "spardl") == 0) {
			CHECK(st == CHOIR_UNSUPPORTED);
			choir_topk_destroy(state);
			continue;
		}
		OK(st);
		OK(choir_topk_residual(state, left));
		for (int i = 0; i < COUNT; i++) {
			bool all = strcmp(config.algorithm, "dense") == 0, sent = is_chosen[i] && rank != 1;

			CHECK(result[i] == (all ? 3 : is_chosen[i] ? 2 : 0) * grad[i]);
			CHECK(left[i] == (all || sent ? 0 : grad[i]));
		}
		if (strcmp(config.algorithm, "dense") != 0) {
			IS(choir_topk_allreduce_at(state, choir_host(grad), choir_host(bad), rank == 2 ? 2 : 1,
			                           CHOIR_I32, &out, NULL, NULL),
			   CHOIR_ARGUMENT);
			CHECK(strstr(choir_last_error(), "position 1 of rank 2") != NULL);
			OK(choir_topk_allreduce_at(state, choir_host(grad), choir_host(ind), n, CHOIR_I32, &out, NULL,
			                           &event));
			OK(choir_event_wait(event, -1));
			OK(choir_event_topk_stats(event, &stats));
			CHECK(stats.local_threshold == 0);
			choir_event_release(event);
		}
		choir_topk_destroy(state);
	}
}

static void unsorted_and_duplicate_indices(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 30000;
	world_run(3, &config, chosen_rank, NULL);
}

static void errors_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	float grad[20] = { 0 };
	int32_t ind[4] = { 0, 1, 2, 3 };

	(void)rank, (void)arg;
	config.algorithm = "gtopk";
	config.count = 20;
	config.k = 3;
	out.dense = choir_host(grad);
	OK(choir_topk_create(comm, &config, &state));
	IS(choir_topk_allreduce_at(NULL, choir_host(grad), choir_host(ind), 1, CHOIR_I32, &out, NULL, NULL),
	   CHOIR_ARGUMENT);
	IS(choir_topk_allreduce_at(state, choir_host(grad), choir_host(ind), 4, CHOIR_I32, &out, NULL, NULL),
	   CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "gave 4 different indices, and gtopk sends at most k = 3") != NULL);
	IS(choir_topk_allreduce_at(state, choir_host(grad), choir_host(ind), 1, CHOIR_F32, &out, NULL, NULL),
	   CHOIR_UNSUPPORTED);
	IS(choir_topk_allreduce_at(state, choir_host(grad), choir_none(), 1, CHOIR_I32, &out, NULL, NULL),
	   CHOIR_ARGUMENT);
	IS(choir_topk_allreduce_at(state, choir_host(grad), choir_host((char *)ind + 1), 1, CHOIR_I32, &out, NULL,
	                           NULL),
	   CHOIR_ARGUMENT);
	IS(choir_topk_allreduce_at(state, choir_host(grad), choir_host(grad), 1, CHOIR_I32, &out, NULL, NULL),
	   CHOIR_ARGUMENT);
	IS(choir_topk_allreduce_at(state, choir_host(grad), choir_host(ind), (size_t)1 << 62, CHOIR_I64, &out, NULL,
	                           NULL),
	   CHOIR_ARGUMENT);
	choir_topk_destroy(state);
}

static void errors(void **state)
{
	(void)state;
	world_run(2, NULL, errors_rank, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(unsorted_and_duplicate_indices),
		                            cmocka_unit_test(errors) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	memory_drop();
	world_device_drop();
	return failed;
}
