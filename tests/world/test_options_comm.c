/* SPDX-License-Identifier: MIT */
/* Options of a comm hold for its calls; those of a call come first.  Old spellings are logged. */
#include "world/gate.h"
#include "world/option_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char logged[1024];

static void note(void *ctx, int level, const char *line)
{
	(void)ctx;
	(void)level;
	snprintf(logged, sizeof logged, "%s", line);
}

/* Each is read and warns with the spelling to take, which does not warn. */
static void old_spellings(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const struct {
		const char *old, *words;
	} spellings[] = {
		{ "useSynclessCollectives=true", "collectiveImplementation=Syncless" },
		{ "useSynclessCollectives=false", "collectiveImplementation=Syncful" },
		{ "useSynclessCollectives=hybrid", "collectiveImplementation=Hybrid" },
		{ "useSynclessCollectives=auto", "collectiveImplementation=Auto" },
		{ "useSynclessCollectives=Syncless", "collectiveImplementation=Syncless" },
		{ "useSynclessCollectives=Syncful", "collectiveImplementation=Syncful" },
		{ "collectiveImplementation=hybrid", "collectiveImplementation=Hybrid" },
	};
	char wanted[128];

	(void)arg;
	choir_set_log(note, NULL);
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		logged[0] = '\0';
		CHECK(same(run_one(world, rank, comm, 1, SHORT, spellings[i].old), "single"));
		snprintf(wanted, sizeof wanted, "%s is deprecated|write %s", spellings[i].old, spellings[i].words);
		if (!says(logged, wanted))
			world_fail(world, rank, "of %s the log says: %s", spellings[i].old, logged);
		logged[0] = '\0';
		run_one(world, rank, comm, 0, SHORT, spellings[i].words);
		CHECK(logged[0] == '\0');
	}
	run_one(world, rank, comm, 0, SHORT, "collectiveImplementation=Hybrid, link=auto-link");
	CHECK(logged[0] == '\0');
	choir_set_log(NULL, NULL);
}

static void of_comm(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call bad = with_options("methode=ring"), differs = with_options("topology=ring-on-line");
	int32_t x = 1, y;

	(void)arg;
	CHECK(same(run_one(world, rank, comm, 0, SHORT, NULL), "meet_in_middle_ring"));
	CHECK(same(run_one(world, rank, comm, 2, SHORT, NULL), "meet_in_middle_ring"));
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "method=clockwise_ring"), "ring"));
	for (int i = 0; i < 3; i++) {
		OK(choir_barrier(comm, NULL, NULL)); /* which has no such method */
		OK(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL));
		CHECK(y == world->n);
	}
	SAYS(choir_barrier(comm, &bad, NULL), CHOIR_ARGUMENT, "'methode'|nearest is 'method'");
	line_up();
	IS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM,
	                   rank == 0 ? &differs : NULL, NULL),
	   CHOIR_MISMATCH);
}

/* What an option of the comm makes of an allreduce. */
struct of_comm {
	const char *options, *algorithm;
};

static void each_of_comm(struct world *world, int rank, choir_comm *comm, void *wanted_p)
{
	const struct of_comm *wanted = wanted_p;
	const char *name = run_one(world, rank, comm, 0, SHORT, NULL);

	if (!same(name, wanted->algorithm))
		world_fail(world, rank, "%s took %s, not %s", wanted->options, name, wanted->algorithm);
}

static void test_each_of_comm(void **state)
{
	static const struct of_comm cases[] = {
		{ "method=anticlockwise_ring", "anticlockwise_ring" },
		{ "collectiveImplementation=Syncless", "ring" },
		{ "useSynclessCollectives=true", "ring" },
		{ "link=network", "ring" },
		{ "topology=ring-on-line", "ring" },
		{ "syncful.maxBroadcastSize=3600", "oneshot" },
	};
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 30000;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct of_comm wanted = cases[i];

		config.options = wanted.options;
		world_run(3, &config, each_of_comm, &wanted);
	}
}

/* Blanks are nothing, commas more than one neither; a key without a value is an error. */
static void blanks(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const char *const texts[] = { "method=anticlockwise_ring", "method = anticlockwise_ring",
		                             "  method= anticlockwise_ring  ", "method =anticlockwise_ring,",
		                             " , link = network ,, method  =  anticlockwise_ring , " };
	choir_call none = with_options("method , link = network");
	int32_t x = 1, y;

	(void)arg;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		CHECK(same(run_one(world, rank, comm, 0, SHORT, texts[i]), "anticlockwise_ring"));
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &none, NULL),
	     CHOIR_ARGUMENT, "option 'method' has no value");
}

static void test_blanks(void **state)
{
	(void)state;
	world_run_at(3, 0, 30000, blanks, NULL);
}

/* A comm's options, a call's, and what the call takes where the rules say twoshot for allreduce. */
struct two_keys {
	const char *comm, *call;
	int which;
	const char *algorithm;
};

static void each_of_two_keys(struct world *world, int rank, choir_comm *comm, void *wanted_p)
{
	const struct two_keys *wanted = wanted_p;
	const char *name = run_one(world, rank, comm, wanted->which, SHORT, wanted->call);

	if (!same(name, wanted->algorithm))
		world_fail(world, rank, "%s after %s took %s, not %s", wanted->call, wanted->comm, name,
		           wanted->algorithm);
}

/* algorithm and method are one thing: either of the call lifts either of the comm.  A comm's that the collective lacks
 * leaves its other one. */
static void test_two_keys(void **state)
{
	static const struct two_keys cases[] = {
		{ "method=meet_in_middle_ring", "algorithm=ring", 0, "ring" },
		{ "algorithm=meet_in_middle_ring", "method=clockwise_ring", 0, "ring" },
		{ "method=meet_in_middle_ring", "algorithm=auto", 0, "twoshot" },
		{ "algorithm=meet_in_middle_ring", "method=auto", 0, "twoshot" },
		{ "method=meet_in_middle_ring", "method=auto", 0, "twoshot" },
		{ "method=oneshot", "algorithm=bruck", 2, "bruck" },
		{ "algorithm=oneshot", "method=bruck", 2, "bruck" },
		{ "algorithm=oneshot, method=bruck", NULL, 0, "oneshot" },
		{ "algorithm=bruck, method=oneshot", NULL, 2, "bruck" },
		{ "link=network", "collectiveImplementation=Syncful", 0, "twoshot" },
		{ "collectiveImplementation=Syncless", "link=node", 0, "twoshot" },
		{ "useSynclessCollectives=true", "link=auto-link", 0, "twoshot" },
	};
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 30000;
	config.rules = "allreduce: 0- twoshot";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct two_keys wanted = cases[i];

		config.options = wanted.comm;
		world_run(3, &config, each_of_two_keys, &wanted);
	}
}

/* Of one text the key that is not auto holds, whichever comes last. */
static void one_text(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "collectiveImplementation=Syncless, link=auto-link"), "ring"));
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "link=gw-link, collectiveImplementation=auto"), "ring"));
}

static void run_with(int n, const char *rules, const char *options, world_fn fn)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.deadline_ms = 30000;
	config.rules = rules;
	config.options = options;
	world_run(n, &config, fn, NULL);
}

static void test_one_text(void **state)
{
	(void)state;
	run_with(3, "allreduce: 0- twoshot", NULL, one_text);
}

/* An order of rings that a comm's four ranks have, and three of them do not: their split takes it for auto. */
static void no_such_order(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_comm *comm = NULL;
	int32_t x = 1, y = 0;

	(void)arg;
	OK(choir_comm_split(parent, rank < 3 ? 0 : -1, rank, &comm));
	if (comm == NULL)
		return;
	OK(choir_supports(comm, "allreduce", CHOIR_I32, CHOIR_OP_SUM, choir_none()));
	OK(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL));
	CHECK(y == 3);
	call.options = "topology=rung-ring-2";
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &call, NULL),
	     CHOIR_ARGUMENT, "does not fit 3 ranks");
	call.options = "order=rnks";
	SAYS(choir_broadcast(comm, choir_host(&x), choir_host(&x), 1, CHOIR_I32, 0, &call, NULL), CHOIR_ARGUMENT,
	     "option order is 'rnks'");
	OK(choir_barrier(comm, NULL, NULL));
	OK(choir_comm_destroy(comm));
}

static void test_no_such_order(void **state)
{
	(void)state;
	run_with(4, NULL, "topology=rung-ring-2", no_such_order);
}

/* Where the rules take a ring, which sends messages, the link inside the node and Syncful want phases. */
static void links(struct world *world, int rank, choir_comm *comm, void *of_comm)
{
	static const size_t counts[] = { 1, SHORT, LONG };

	for (int which = 0; which < 3; which++)
		for (int k = 0; k < 3; k++) {
			const char *usual = run_one(world, rank, comm, which, counts[k], NULL),
				   *node = run_one(world, rank, comm, which, counts[k], "link=node"),
				   *ipu = run_one(world, rank, comm, which, counts[k], "link=ipu-link"),
				   *gw = run_one(world, rank, comm, which, counts[k], "link=gw-link"),
				   *syncful = run_one(world, rank, comm, which, counts[k],
			                              "collectiveImplementation = Syncful"),
				   *any = run_one(world, rank, comm, which, counts[k], "link=auto-link");

			if (!same(ipu, node) || !same(syncful, node) || same(ipu, "ring") || !same(gw, "ring") ||
			    !same(any, "ring") || !same(usual, of_comm != NULL ? node : "ring"))
				world_fail(world, rank,
				           "collective %d of %zu: %s; node %s, ipu %s, Syncful %s, gw %s, auto %s",
				           which, counts[k], usual, node, ipu, syncful, gw, any);
		}
}

static void test_links(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 30000;
	config.rules = "allreduce: 0- ring\nreduce_scatter: 0- ring\nallgather: 0- ring";
	for (int n = 2; n <= 5; n += 3) {
		config.options = NULL;
		world_run(n, &config, links, NULL);
		config.options = "link=ipu-link";
		world_run(n, &config, links, &config);
	}
}

static void test_comm_options(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_comm *comm;

	(void)state;
	world_run_at(1, 0, 30000, old_spellings, NULL);
	config.deadline_ms = 30000;
	config.options = "method=meet_in_middle_ring";
	line_up_begin(3);
	world_run(3, &config, of_comm, NULL);
	line_up_end();
	config.options = "method=meet_in_middle_rings";
	assert_int_equal(choir_comm_create_local(1, &device, &config, &comm), CHOIR_ARGUMENT);
	assert_true(says(choir_last_error(), "no collective has an algorithm 'meet_in_middle_rings'"));
	config.options = "topolgy=auto";
	assert_int_equal(choir_comm_create_local(1, &device, &config, &comm), CHOIR_ARGUMENT);
	assert_true(says(choir_last_error(), "'topolgy'|nearest is 'topology'"));
}

/* A comm's options are for the program's calls: what a split or an allocation gathers goes as it can. */
static void makes_more(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm *child = NULL;
	void *share = NULL;

	(void)arg;
	OK(choir_comm_split(comm, 0, 0, &child));
	OK(choir_mem_alloc(comm, 4096, &share, NULL));
	OK(choir_mem_free(comm, share));
	OK(choir_comm_destroy(child));
}

static void test_parts(void **state)
{
	static const char *const options[] = { "algorithm=recursive_doubling", "algorithm=direct", "result=atomic",
		                               "link=node", "topology=ring-on-line" };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 30000;
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		for (config.ranks_per_node = 0; config.ranks_per_node < 2; config.ranks_per_node++) {
			config.options = options[i];
			world_run(3, &config, makes_more, NULL);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_comm_options), cmocka_unit_test(test_each_of_comm),
		                            cmocka_unit_test(test_blanks),       cmocka_unit_test(test_two_keys),
		                            cmocka_unit_test(test_one_text),     cmocka_unit_test(test_no_such_order),
		                            cmocka_unit_test(test_links),        cmocka_unit_test(test_parts) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
