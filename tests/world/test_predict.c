/* SPDX-License-Identifier: MIT */
/* choir_predict: the time of a call on a comm is that of the same plans on paper. */
#include "world/gate.h"

#include <choir/plan.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Each rank is a node: what choir_plan_predict says of the same case. */
static void as_on_paper(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const char *const names[] = {
		"allreduce", "reduce_scatter", "allgather", "alltoall", "broadcast", "scan"
	};
	static const size_t counts[] = { 1, 300, 20000 };

	(void)unused;
	for (int i = 0; i < 6 * 3; i++) {
		choir_plan_options paper = CHOIR_PLAN_OPTIONS_INIT;
		choir_plan_prediction wanted = { .struct_size = sizeof wanted };
		size_t count = counts[i / 6];
		const char *algorithm = NULL;
		double seconds = -1;

		paper.collective = names[i % 6];
		paper.ranks = world->n;
		paper.ranks_per_node = 1;
		paper.bytes = count * 4;
		paper.dtype = CHOIR_F32;
		OK(choir_predict(comm, names[i % 6], count, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, &seconds, &algorithm));
		OK(choir_plan_predict(&paper, NULL, &wanted, NULL));
		if (algorithm == NULL || strcmp(algorithm, wanted.algorithm) != 0 ||
		    fabs(seconds - wanted.seconds) > 1e-9 * wanted.seconds)
			world_fail(world, rank, "%s of %zu: %g s by %s, on paper %g s by %s", names[i % 6], count,
			           seconds, algorithm != NULL ? algorithm : "none", wanted.seconds, wanted.algorithm);
	}
}

/* Plans on paper are of memory that the host reaches. */
static void wants_near_memory(void)
{
	if (choir_device_class(world_device()) != CHOIR_CLASS_STAGE)
		return;
	print_message("skipped: the device's memory is far, and plans on paper know of no bus\n");
	skip();
}

static void test_paper(void **state)
{
	(void)state;
	wants_near_memory();
	line_up_run(4, 1, 30000, as_on_paper, NULL);
}

/* What holds on any layout: options count, more takes longer, a pair has two ends. */
static void grows(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call ring = CHOIR_CALL_INIT;
	const char *algorithm = NULL;
	double little = 0, much = 0, to = 0, from = 0, none = -1;
	int peer = (rank + 1) % world->n;

	(void)unused;
	ring.options = "algorithm=ring";
	OK(choir_predict(comm, "allreduce", 100, CHOIR_F64, CHOIR_OP_SUM, 0, &ring, &little, &algorithm));
	CHECK(algorithm != NULL && strcmp(algorithm, "ring") == 0);
	OK(choir_predict(comm, "allreduce", 100000, CHOIR_F64, CHOIR_OP_SUM, 0, &ring, &much, NULL));
	CHECK(little > 0 && much > little);
	OK(choir_predict(comm, "send", 5000, CHOIR_F32, 0, peer, NULL, &to, NULL));
	OK(choir_predict(comm, "recv", 5000, CHOIR_F32, 0, peer, NULL, &from, NULL));
	CHECK(to > 0 && from > 0);
	OK(choir_predict(comm, "barrier", 0, CHOIR_U8, 0, 0, NULL, &none, NULL));
	CHECK(none > 0);
	SAYS(choir_predict(comm, "send", 5, CHOIR_F32, 0, rank, NULL, &none, NULL), CHOIR_UNSUPPORTED,
	     "choir_predict|itself");
	SAYS(choir_predict(comm, "broadcast", (size_t)1 << 50, CHOIR_U8, 0, 0, NULL, &none, NULL), CHOIR_UNSUPPORTED,
	     "choir_predict|pieces");
	SAYS(choir_predict(comm, "topk_allreduce", 5, CHOIR_F32, 0, 0, NULL, &none, NULL), CHOIR_UNSUPPORTED,
	     "choir_predict|topk_allreduce");
	SAYS(choir_predict(comm, "allreduce", 5, 77, CHOIR_OP_SUM, 0, NULL, &none, NULL), CHOIR_ARGUMENT,
	     "choir_predict|data type");
	SAYS(choir_predict(comm, "broadcast", 5, CHOIR_F32, 0, world->n, NULL, &none, NULL), CHOIR_ARGUMENT,
	     "choir_predict|there is no rank");
	SAYS(choir_predict(comm, "allreduce", SIZE_MAX / 4, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, &none, NULL),
	     CHOIR_ARGUMENT, "choir_predict|2^63");
	SAYS(choir_predict(comm, "allreduce", 5, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, NULL, NULL), CHOIR_ARGUMENT,
	     "choir_predict|seconds");
	CHECK(sum_works(comm, 8));
}

/* order=ranks: of the algorithms that keep the order the choice is near the cheapest. */
static void in_rank_order(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const char *const names[] = { "allreduce", "reduce", "reduce_scatter", "scan", "exscan" };
	static const char *const keepers[] = { "pairwise", "broadcast", "rank_chain", "scatter_gather", "chain" };
	static const size_t counts[] = { 1, 5000, 300000 };

	(void)unused;
	for (int i = 0; i < 5 * 3; i++) {
		const char *name = names[i % 5], *chosen = NULL, *named = NULL;
		choir_call call = CHOIR_CALL_INIT;
		size_t count = counts[i / 5];
		double seconds = -1, other;
		char options[64];
		bool keeps = false;

		call.options = "order=ranks";
		OK(choir_predict(comm, name, count, CHOIR_F32, CHOIR_OP_SUM, 0, &call, &seconds, &chosen));
		call.options = options;
		for (int k = 0; k < 5 && chosen != NULL; k++) {
			keeps |= strcmp(chosen, keepers[k]) == 0;
			snprintf(options, sizeof options, "order=ranks, algorithm=%s", keepers[k]);
			if (choir_predict(comm, name, count, CHOIR_F32, CHOIR_OP_SUM, 0, &call, &other, &named) ==
			        CHOIR_SUCCESS &&
			    seconds > 1.3 * other)
				world_fail(world, rank, "%s of %zu: %g s by %s, but %g s by %s", name, count, seconds,
				           chosen, other, named);
		}
		CHECK(keeps);
	}
}

/* The algorithm that a call takes, and what choir_predict says that it is; on paper the same. */
static void same_choice(struct world *world, int rank, choir_comm *comm, const choir_plan_options *paper, size_t count)
{
	choir_plan_prediction wanted = { .struct_size = sizeof wanted };
	void *in = calloc(count, 8), *out = calloc(count, 8);
	choir_event *event = NULL;
	const char *chosen = "none", *taken = "none";
	double seconds;

	OK(choir_plan_predict(paper, NULL, &wanted, NULL));
	OK(choir_predict(comm, paper->collective, count, paper->dtype, CHOIR_OP_SUM, 0, NULL, &seconds, &chosen));
	if (strcmp(paper->collective, "allreduce") == 0 &&
	    OK(choir_allreduce(comm, choir_host(in), choir_host(out), count, paper->dtype, CHOIR_OP_SUM, NULL,
	                       &event)) &&
	    OK(choir_event_wait(event, -1)))
		taken = choir_event_algorithm(event);
	else
		taken = chosen;
	if (strcmp(chosen, wanted.algorithm) != 0 || strcmp(taken, wanted.algorithm) != 0)
		world_fail(world, rank, "%s of %zu %s, %d a node: %s foreseen, %s taken, %s on paper",
		           paper->collective, count, choir_dtype_name(paper->dtype), paper->ranks_per_node, chosen,
		           taken, wanted.algorithm);
	choir_event_release(event);
	free(in);
	free(out);
}

/* A comm that keeps the order: what choir_plan_options says of the same case. */
static void in_order_as_on_paper(struct world *world, int rank, choir_comm *comm, void *ranks_per_node)
{
	static const char *const names[] = { "allreduce", "reduce", "reduce_scatter", "scan", "exscan", "allgather" };
	static const choir_dtype dtypes[] = { CHOIR_F32, CHOIR_F16, CHOIR_I32 };
	static const size_t counts[] = { 1, 300, 20000, 300000 };

	for (int i = 0; i < 6 * 3 * 4; i++) {
		choir_plan_options paper = CHOIR_PLAN_OPTIONS_INIT;
		size_t count = counts[i / 18];

		paper.collective = names[i % 6];
		paper.dtype = dtypes[i / 6 % 3];
		paper.ranks = world->n;
		paper.ranks_per_node = *(int *)ranks_per_node;
		paper.bytes = count * choir_dtype_bytes(paper.dtype);
		paper.shared = paper.ranks_per_node == world->n;
		paper.order_ranks = 1;
		same_choice(world, rank, comm, &paper, count);
	}
}

static void test_order_on_paper(void **state)
{
	static int per_node[] = { 1, 2, 8 };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	wants_near_memory();
	config.deadline_ms = 30000;
	config.options = "order=ranks";
	for (int i = 0; i < 3; i++) {
		config.ranks_per_node = per_node[i];
		world_run(8, &config, in_order_as_on_paper, &per_node[i]);
	}
}

static void test_rank_order(void **state)
{
	(void)state;
	line_up_run(2, 1, 30000, in_rank_order, NULL);
	line_up_run(8, 1, 30000, in_rank_order, NULL);
	line_up_run(8, 2, 30000, in_rank_order, NULL);
}

static void test_grows(void **state)
{
	(void)state;
	line_up_layouts(2, grows);
	line_up_layouts(3, grows);
	line_up_run(4, 2, 30000, grows, NULL);
}

/* Rates that the comm's rules set. */
static void by_rules(struct world *world, int rank, choir_comm *comm, void *seconds)
{
	(void)world;
	OK(choir_predict(comm, "allgather", 1000, CHOIR_F32, 0, 0, NULL, &((double *)seconds)[rank], NULL));
}

static void test_rules(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	double slow[2] = { 0 }, fast[2] = { 0 };

	(void)state;
	config.ranks_per_node = 1;
	config.rules = "costs: network alpha=5000000";
	world_run(2, &config, by_rules, slow);
	config.rules = "costs: network alpha=1000";
	world_run(2, &config, by_rules, fast);
	assert_true(slow[0] > 0.005 && fast[0] < 0.001 && slow[0] == slow[1]);
}

/* A root that the collective does not take is not looked at. */
static void no_root(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const int roots[] = { -1, 1 << 30 };
	double wanted, seconds;

	(void)unused;
	OK(choir_predict(comm, "allreduce", 1000, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, &wanted, NULL));
	for (int i = 0; i < 2; i++) {
		OK(choir_predict(comm, "allreduce", 1000, CHOIR_F32, CHOIR_OP_SUM, roots[i], NULL, &seconds, NULL));
		CHECK(seconds == wanted);
	}
}

static void test_no_root(void **state)
{
	(void)state;
	line_up_run(3, 0, 30000, no_root, NULL);
	line_up_run(3, 1, 30000, no_root, NULL);
}

/* What result=atomic takes is what is told: the device cannot be it, whose peers would read the library's memory. */
static void atomic_as_told(struct world *world, int rank, choir_comm *comm, void *unused)
{
	enum { LONG = 1 << 18 };
	cl_mem send = clCreateBuffer(choir_device_context(choir_comm_device(comm)), 0, LONG * 4, NULL, NULL),
	       recv = clCreateBuffer(choir_device_context(choir_comm_device(comm)), 0, LONG * 4, NULL, NULL);
	static const char *const options[] = { "algorithm=device, result=atomic", "result=atomic" };

	(void)unused;
	for (int i = 0; i < 2; i++) {
		choir_call call = CHOIR_CALL_INIT;
		const char *told = "";
		choir_event *event = NULL;
		double seconds;

		call.options = options[i];
		OK(choir_predict(comm, "allreduce", LONG, CHOIR_F32, CHOIR_OP_SUM, 0, &call, &seconds, &told));
		OK(choir_allreduce(comm, choir_mem(send, 0), choir_mem(recv, 0), LONG, CHOIR_F32, CHOIR_OP_SUM, &call,
		                   &event));
		OK(choir_event_wait(event, -1));
		CHECK(strcmp(told, choir_event_algorithm(event)) == 0 && strcmp(told, "device") != 0);
		choir_event_release(event);
	}
	clReleaseMemObject(send);
	clReleaseMemObject(recv);
}

static void test_atomic(void **state)
{
	choir_device *device = world_far_device(CHOIR_REDUCE_KERNEL), *devices[2] = { device, device };
	struct world world;

	(void)state;
	world_begin_on(&world, 2, devices, NULL);
	world_threads(&world, atomic_as_told, NULL);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_paper),      cmocka_unit_test(test_grows),
		                            cmocka_unit_test(test_rank_order), cmocka_unit_test(test_rules),
		                            cmocka_unit_test(test_no_root),    cmocka_unit_test(test_order_on_paper),
		                            cmocka_unit_test(test_atomic) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
