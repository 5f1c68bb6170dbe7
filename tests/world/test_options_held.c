/* SPDX-License-Identifier: MIT */
/* Options of a comm hold for the calls that can have them: every collective works whatever way or topology its comm is
 * given, and choir_supports says of each call what the call itself says.  A call's own options come first, and what
 * cannot be had is an error. */
#include "world/flight.h"
#include "world/gate.h"
#include "world/option_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A comm's options, and what an allreduce takes on one node and on two: one of these words, or what begins with one;
 * NULL = what the rules take. */
struct held {
	const char *options, *algorithms[2];
};

/* On four ranks. */
static void run_with(const char *options, int per_node, world_fn fn, void *arg)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.options = options;
	config.ranks_per_node = per_node;
	config.deadline_ms = 60000;
	world_run(4, &config, fn, arg);
}

static const char phases[] = "direct twoshot";

static void check_algorithm(struct world *world, int rank, choir_comm *comm, const struct held *held)
{
	const char *wanted = held->algorithms[choir_comm_nodes(comm) > 1], *took;

	took = run_one(world, rank, comm, 0, LONG, NULL);
	if (wanted != NULL && strstr(wanted, took) == NULL && strncmp(took, wanted, strlen(wanted)) != 0)
		world_fail(world, rank, "%s took %s, not %s", held->options, took, wanted);
}

static void every_collective(struct world *world, int rank, choir_comm *comm, void *held_p)
{
	static const size_t counts[] = { 1, 41, 5000 };

	check_algorithm(world, rank, comm, held_p);
	for (int what = 0; what < N_COLLECTIVE_ROWS; what++) {
		const struct collective_row *row = &collectives[what];

		for (int k = 0; k < 3; k++) {
			struct dense_call call = { .what = row,
				                   .dtype = CHOIR_I32,
				                   .op = CHOIR_OP_SUM,
				                   .count = counts[k],
				                   .n = world->n,
				                   .root = k % world->n };

			flight_run(world, rank, comm, &call);
		}
		OK(choir_supports(comm, row->name, CHOIR_I32, CHOIR_OP_SUM, choir_none()));
	}
}

static void test_every_collective(void **state)
{
	static struct held cases[] = {
		{ "collectiveImplementation=Hybrid", { NULL, "hier_" } },
		{ "useSynclessCollectives=hybrid", { NULL, "hier_" } },
		{ "collectiveImplementation=Syncful", { phases, NULL } },
		{ "collectiveImplementation=Syncless", { "ring", "ring" } },
		{ "link=node", { phases, NULL } },
		{ "link=network", { "ring", "ring" } },
		{ "topology=ring-on-line", { "ring", "ring" } },
		{ "topology=ring-on-line, link=node", { phases, "ring" } },
		{ "method=twoshot, topology=ring-on-line, collectiveImplementation=Hybrid", { "twoshot", NULL } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int per_node = 0; per_node <= 2; per_node += 2) {
			if (per_node > 0 && strncmp(cases[i].options, "method", 6) == 0)
				continue; /* a method that no layout of nodes has is an error */
			run_with(cases[i].options, per_node, every_collective, &cases[i]);
		}
}

/* The call's word of the way comes before the comm's, by whatever key. */
static void call_comes_first(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call hybrid = with_options("collectiveImplementation=Hybrid"), none = with_options("algorithm=ring"),
		   twoshot = with_options("link=network, algorithm=twoshot");
	int32_t x = 1, y = 0;

	(void)unused;
	CHECK(same(run_one(world, rank, comm, 0, LONG, "collectiveImplementation=Syncless"), "ring"));
	CHECK(same(run_one(world, rank, comm, 0, LONG, "topology=ring-on-line"), "ring"));
	OK(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &none, NULL));
	CHECK(y == world->n);
	SAYS(choir_barrier(comm, &hybrid, NULL), CHOIR_ARGUMENT, "collectiveImplementation|barrier|cannot be done");
	SAYS(choir_broadcast(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, 0, &hybrid, NULL), CHOIR_ARGUMENT,
	     "collectiveImplementation|broadcast|cannot be done");
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &twoshot, NULL),
	     CHOIR_ARGUMENT, "link|by twoshot");
}

static void ring_comes_first(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call line = with_options("topology=ring-on-line"),
		   both = with_options("topology=ring-on-line, link=node");
	int32_t x = 1, y = 0;

	(void)unused;
	CHECK(same(run_one(world, rank, comm, 0, LONG, "algorithm=twoshot"), "twoshot"));
	SAYS(choir_barrier(comm, &line, NULL), CHOIR_ARGUMENT, "topology is for rings, not for 'flags'");
	SAYS(choir_broadcast(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, 0, &line, NULL), CHOIR_ARGUMENT,
	     "topology is for rings, not for");
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &both, NULL),
	     CHOIR_ARGUMENT, "topology is for rings, not for");
}

static void test_call_first(void **state)
{
	(void)state;
	run_with("link=node", 0, call_comes_first, NULL);
	run_with("topology=ring-on-line", 0, ring_comes_first, NULL);
}

/* What no call of these ranks can have: the call fails, and choir_supports says so before. */
static void cannot_have(struct world *world, int rank, choir_comm *comm, void *words_p)
{
	const char *words = words_p;
	int32_t x = 1, y = 0;

	SAYS(choir_supports(comm, "allreduce", CHOIR_I32, CHOIR_OP_SUM, choir_none()), CHOIR_UNSUPPORTED, words);
	CHECK(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL) !=
	      CHOIR_SUCCESS);
	CHECK(says(choir_last_error(), words));
	OK(choir_supports(comm, "broadcast", CHOIR_I32, CHOIR_OP_SUM, choir_none()));
	OK(choir_broadcast(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, 0, NULL, NULL));
}

static void padded_cannot_have(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int32_t x[5] = { 0 }, y[2];

	(void)unused;
	SAYS(choir_supports(comm, "reduce_scatter_padded", CHOIR_I32, CHOIR_OP_SUM, choir_none()), CHOIR_UNSUPPORTED,
	     "algorithm 'direct'");
	SAYS(choir_reduce_scatter_padded(comm, choir_host(x), choir_host(y), 5, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL),
	     CHOIR_UNSUPPORTED, "algorithm 'direct'");
	SAYS(choir_supports(comm, "allgather_padded", CHOIR_I32, 0, choir_none()), CHOIR_UNSUPPORTED,
	     "algorithm 'direct'");
	SAYS(choir_allgather_padded(comm, choir_host(y), choir_host(x), 5, CHOIR_I32, NULL, NULL), CHOIR_UNSUPPORTED,
	     "algorithm 'direct'");
}

static void test_supports(void **state)
{
	static char topology[] = "rung-ring-8 does not fit 4 ranks", method[] = "algorithm 'hier_ring'";

	(void)state;
	run_with("topology=rung-ring-8", 0, cannot_have, topology);
	run_with("method=hier_ring", 0, cannot_have, method);
	run_with("method=direct", 2, padded_cannot_have, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_collective), cmocka_unit_test(test_call_first),
		                            cmocka_unit_test(test_supports) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
