/* SPDX-License-Identifier: MIT */
/* Options of dense calls: each changes what it says. */
#include "exec/comm.h"
#include "world/flight.h"
#include "world/gate.h"
#include "world/option_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

static void methods(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const struct {
		const char *method, *names[3];
	} cases[] = {
		{ "clockwise_ring", { "ring", "ring", "ring" } },
		{ "anticlockwise_ring", { "anticlockwise_ring", "anticlockwise_ring", "anticlockwise_ring" } },
		{ "bidirectional_ring_pair", { "bidirectional_ring", "bidirectional_ring", "bidirectional_ring" } },
		{ "meet_in_middle_ring", { "meet_in_middle_ring", "meet_in_middle_ring", "meet_in_middle_ring" } },
		{ "quad_directional_ring",
		  { "quad_directional_ring", "quad_directional_ring", "quad_directional_ring" } },
		{ "broadcast", { NULL, "pairwise", "broadcast" } },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int which = 0; which < 3; which++) {
			const char *wanted = cases[i].names[which], *name;
			char options[64];

			snprintf(options, sizeof options, "method=%s", cases[i].method);
			if (wanted == NULL) /* in slots where that is possible */
				wanted = choir_comm_nodes(comm) == 1 ? "oneshot" : "broadcast";
			name = run_one(world, rank, comm, which, SHORT, options);
			if (!same(name, wanted))
				world_fail(world, rank, "%s of collective %d took %s", options, which, name);
		}
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "method=auto"), run_one(world, rank, comm, 0, SHORT, NULL)));
}

static void test_methods(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (int n = 2; n <= 5; n += per_node == 0 ? 1 : 3)
			world_run_at(n, per_node, 30000, methods, NULL);
}

static void ways(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call phases = with_options("collectiveImplementation=Syncful"), hybrid = with_options("link=ipu-link"),
		   both = with_options("collectiveImplementation=Hybrid");
	int32_t x = 1, y;

	(void)arg;
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "collectiveImplementation=Syncless"), "ring"));
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "useSynclessCollectives=true"), "ring"));
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "link=gw-link"), "ring"));
	if (choir_comm_nodes(comm) > 1) {
		CHECK(strncmp(run_one(world, rank, comm, 0, LONG, "collectiveImplementation=Hybrid"), "hier_", 5) == 0);
		SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &phases, NULL),
		     CHOIR_ARGUMENT, "option collectiveImplementation|4 ranks of 2 nodes cannot");
		SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &hybrid, NULL),
		     CHOIR_ARGUMENT, "option link|2 nodes cannot");
		return;
	}
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "link=node"), "oneshot"));
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "link=ipu-link"), "oneshot"));
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "collectiveImplementation=Syncful"), "oneshot"));
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "useSynclessCollectives=false"), "oneshot"));
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &both, NULL),
	     CHOIR_ARGUMENT, "option collectiveImplementation|4 ranks of 1 node cannot");
}

/* Across nodes allreduce alone has algorithms of both kinds; a send or recv has one way, and does not look. */
static void hybrid(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		struct dense_call c = { .what = &collectives[what],
			                .dtype = CHOIR_I32,
			                .op = CHOIR_OP_SUM,
			                .count = SHORT,
			                .n = world->n,
			                .options = "collectiveImplementation=Hybrid" };
		struct dense_flight flight;

		if (what == ALLREDUCE || what == SEND_AND_RECV || what == SENDRECV) {
			flight_run(world, rank, comm, &c);
			continue;
		}
		flight_make(&flight, world, rank, &c);
		SAYS(flight_call(&flight, comm, NULL, NULL), CHOIR_ARGUMENT,
		     "option collectiveImplementation|ranks of 2 nodes cannot be done that way");
		CHECK(says(choir_last_error(), c.what->name));
		flight_free(&flight);
	}
	CHECK(sum_works(comm, SHORT));
}

static void test_ways(void **state)
{
	(void)state;
	world_run_at(4, 0, 30000, ways, NULL);
	world_run_at(4, 2, 30000, ways, NULL);
	world_run_at(4, 2, 30000, hybrid, NULL);
	world_run_at(3, 2, 30000, hybrid, NULL);
}

/* The bits of an inexact sum tell the order in which the ring added. */
static float sum_in_order(struct world *world, int rank, choir_comm *comm, const char *options)
{
	static const float values[4] = { 1e8f, 1, -1e8f, 3 };
	choir_call call = with_options(options);
	float sent[64], got[64] = { 0 };

	for (int i = 0; i < 64; i++)
		sent[i] = values[rank];
	OK(choir_allreduce(comm, choir_host(sent), choir_host(got), 64, CHOIR_F32, CHOIR_OP_SUM, &call, NULL));
	return got[0];
}

/* Block 0 is added up along the ring from member 0 on: 0 1 2 3, or 0 2 1 3, or 0 2 3 1, or 0 1 3 2. */
static void topologies(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call eight = with_options("topology=rung-ring-8"), odd = with_options("topology=ring-on-lime"),
		   twoshot = with_options("algorithm=twoshot,topology=ring-on-line");
	int32_t x = 1, y;

	(void)arg;
	CHECK(sum_in_order(world, rank, comm, "method=clockwise_ring") == ((1e8f + 1) - 1e8f) + 3);
	CHECK(sum_in_order(world, rank, comm, "topology=rung-ring-2") == ((1e8f - 1e8f) + 1) + 3);
	CHECK(sum_in_order(world, rank, comm, "topology=ring-on-line") == ((1e8f - 1e8f) + 3) + 1);
	CHECK(sum_in_order(world, rank, comm, "topology=peripheral-ring") == ((1e8f + 1) + 3) - 1e8f);
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &eight, NULL),
	     CHOIR_ARGUMENT, "topology: rung-ring-8 does not fit 4 ranks");
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &odd, NULL),
	     CHOIR_ARGUMENT, "option topology is 'ring-on-lime'|peripheral-ring");
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &twoshot, NULL),
	     CHOIR_ARGUMENT, "topology is for rings, not for 'twoshot'");
}

enum { RING = 8 };

/* Each in the order that docs/options.md says of 8 ranks, from member 0 on for block 0; the sum of each differs. */
static void rings_of_eight(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const struct {
		const char *options;
		int order[RING];
	} rings[] = {
		{ "topology=auto, method=clockwise_ring", { 0, 1, 2, 3, 4, 5, 6, 7 } },
		{ "topology=ring-on-line", { 0, 2, 4, 6, 7, 5, 3, 1 } },
		{ "topology=peripheral-ring", { 0, 1, 2, 3, 7, 6, 5, 4 } },
		{ "topology=rung-ring-2", { 0, 2, 4, 6, 1, 3, 5, 7 } },
		{ "topology=rung-ring-4", { 0, 4, 1, 5, 2, 6, 3, 7 } },
		{ "topology=rung-ring-8", { 0, 1, 2, 3, 4, 5, 6, 7 } },
	};
	static const float values[RING] = { 1e8f, 1, -1e8f, 3, 2, -1e8f, 1e8f, 5 };
	enum { EACH = 16, N_RINGS = sizeof rings / sizeof *rings };
	float sent[RING * EACH], got[RING * EACH], wanted[N_RINGS];

	(void)arg;
	for (int i = 0; i < RING * EACH; i++)
		sent[i] = values[rank];
	for (int k = 0; k < N_RINGS; k++) {
		choir_call call = with_options(rings[k].options);

		wanted[k] = values[rings[k].order[0]];
		for (int i = 1; i < RING; i++)
			wanted[k] += values[rings[k].order[i]];
		for (int other = 0; other < k && k < N_RINGS - 1; other++)
			CHECK(wanted[k] != wanted[other]);
		OK(choir_allreduce(comm, choir_host(sent), choir_host(got), RING * EACH, CHOIR_F32, CHOIR_OP_SUM, &call,
		                   NULL));
		if (got[0] != wanted[k])
			world_fail(world, rank, "%s: %g, not %g", rings[k].options, (double)got[0], (double)wanted[k]);
	}
}

static void test_topologies(void **state)
{
	(void)state;
	world_run_at(4, 0, 30000, topologies, NULL);
	world_run_at(4, 1, 30000, topologies, NULL);
	world_run_at(RING, 0, 30000, rings_of_eight, NULL);
	world_run_at(RING, 4, 30000, rings_of_eight, NULL);
}

/* A list is as many calls as it has buckets. */
static uint64_t calls_of_list(struct world *world, int rank, choir_comm *comm, const char *options)
{
	enum { TENSORS = 8, EACH = 100 };
	choir_call call = with_options(options);
	choir_tensor tensors[TENSORS];
	int32_t values[TENSORS][EACH];
	uint64_t before = comm->submission.next_seq;
	choir_event *event = NULL;

	for (int t = 0; t < TENSORS; t++) {
		for (int i = 0; i < EACH; i++)
			values[t][i] = t * i + rank;
		tensors[t] = (choir_tensor){ choir_host(values[t]), choir_host(values[t]), EACH, CHOIR_I32 };
	}
	if (OK(choir_allreduce_multi(comm, tensors, TENSORS, CHOIR_OP_SUM, &call, &event)))
		OK(choir_event_wait(event, -1));
	choir_event_release(event);
	for (int t = 0; t < TENSORS; t++)
		for (int i = 0; i < EACH; i++)
			CHECK(values[t][i] == world->n * t * i + world->n * (world->n - 1) / 2);
	return comm->submission.next_seq - before;
}

static void buckets(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call none = with_options("bucket_bytes=0");
	int32_t x = 1;
	choir_tensor tensor = { choir_host(&x), choir_host(&x), 1, CHOIR_I32 };

	(void)arg;
	CHECK(calls_of_list(world, rank, comm, NULL) == 1);
	CHECK(calls_of_list(world, rank, comm, "bucket_bytes=800") == 4);
	CHECK(calls_of_list(world, rank, comm, "bucket_bytes=799") == 8);
	CHECK(calls_of_list(world, rank, comm, "bucket_bytes=1") == 8);
	SAYS(choir_allreduce_multi(comm, &tensor, 1, CHOIR_OP_SUM, &none, NULL), CHOIR_ARGUMENT, "bucket_bytes is '0'");
	none.options = "bucket_bytes=9223372036854775808";
	SAYS(choir_allreduce_multi(comm, &tensor, 1, CHOIR_OP_SUM, &none, NULL), CHOIR_ARGUMENT,
	     "bucket_bytes is '9223372036854775808'|to 9223372036854775807");
	line_up(); /* the failure ends what is in flight */
	none.options = rank == 0 ? "bucket_bytes=800" : NULL;
	IS(choir_allreduce_multi(comm, &tensor, 1, CHOIR_OP_SUM, &none, NULL), CHOIR_MISMATCH);
}

/* The comm's options hold for its lists; those of a call come first. */
static void buckets_of_comm(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	CHECK(calls_of_list(world, rank, comm, NULL) == 4);
	CHECK(calls_of_list(world, rank, comm, "bucket_bytes=1") == 8);
}

static void test_buckets(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.options = "bucket_bytes=800";
	world_run(2, &config, buckets_of_comm, NULL);
	line_up_run(2, 0, 30000, buckets, NULL);
	line_up_run(3, 1, 30000, buckets, NULL);
}

/* Ranks exchange counts before they know how: the algorithm holds for what follows. */
static const char *exchange(struct world *world, int rank, choir_comm *comm, const char *options)
{
	choir_call call = with_options(options);
	int32_t send[MOST], recv[MOST] = { 0 };
	size_t counts[MOST], displacements[MOST];
	choir_event *event = NULL;
	const char *name = "";

	for (int r = 0; r < world->n; r++) {
		send[r] = 10 * rank + r;
		counts[r] = 1;
		displacements[r] = (size_t)r;
	}
	if (OK(choir_alltoallv(comm, choir_host(send), counts, displacements, choir_host(recv), counts, displacements,
	                       CHOIR_I32, &call, &event)) &&
	    OK(choir_event_wait(event, -1)))
		name = choir_event_algorithm(event);
	choir_event_release(event);
	for (int r = 0; r < world->n; r++)
		CHECK(recv[r] == 10 * r + rank);
	return name;
}

static void vectors(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++) { /* the last ones with counts that are agreed */
		CHECK(same(exchange(world, rank, comm, NULL), "pairwise"));
		CHECK(same(exchange(world, rank, comm, "method=slots"), "slots"));
	}
}

static choir_status exchange_nothing(choir_comm *comm, const char *options)
{
	choir_call call = with_options(options);
	int32_t send[MOST] = { 0 }, recv[MOST];
	size_t counts[MOST];

	for (int r = 0; r < MOST; r++)
		counts[r] = 1;
	return choir_alltoallv(comm, choir_host(send), counts, NULL, choir_host(recv), counts, NULL, CHOIR_I32, &call,
	                       NULL);
}

/* The options say the same of counts that are not agreed yet, which come first, and of those that are. */
static void vectors_that_way(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		CHECK(same(exchange(world, rank, comm, "link=network"), "pairwise"));
		CHECK(!same(exchange(world, rank, comm, "link=node"), "pairwise"));
		CHECK(same(exchange(world, rank, comm, "link=network, syncful.useOptimisedLayout=false"), "pairwise"));
		CHECK(same(exchange(world, rank, comm, "method=slots, chunk_bytes=4096"), "slots"));
		SAYS(exchange_nothing(comm, "method=slots, link=network"), CHOIR_ARGUMENT, "link|by slots");
		SAYS(exchange_nothing(comm, "method=pairwise, topology=ring-on-line"), CHOIR_ARGUMENT,
		     "topology is for rings|pairwise");
		SAYS(exchange_nothing(comm, "collectiveImplementation=Hybrid"), CHOIR_ARGUMENT, "cannot be done");
		SAYS(exchange_nothing(comm, "topology=rung-ring-2"), CHOIR_ARGUMENT, "does not fit 3 ranks");
	}
	SAYS(exchange_nothing(comm, rank == 1 ? "chunk_bytes=4096" : NULL), CHOIR_MISMATCH,
	     "ranks 0 and 1 give different options");
}

static void test_vectors_that_way(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 30000;
	world_run(3, &config, vectors_that_way, NULL);
}

static void test_vectors(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.options = "method=pairwise";
	config.deadline_ms = 30000;
	world_run(3, &config, vectors, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_methods), cmocka_unit_test(test_ways),    cmocka_unit_test(test_topologies),
		cmocka_unit_test(test_buckets), cmocka_unit_test(test_vectors), cmocka_unit_test(test_vectors_that_way),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
