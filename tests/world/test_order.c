/* SPDX-License-Identifier: MIT */
/* order=ranks: the bits of a gather and a fold on one rank, whatever the layout, the algorithm, the length and the cut
 * into calls, and the memory.  Random cases on 8 ranks as 1, 2, 4 and 8 nodes; CHOIR_TEST_LONG: 10 000 of them.
 * CHOIR_TEST_SEED: others. */
#include "quick.h"
#include "world/order_case.h"
#include "world/order_trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = ORDER_RANKS, QUICK_CASES = 12, FEW_CASES = 20, CASES = 60, LONG_CASES = 2500 };

static const int layouts[] = { 8, 4, 2, 1 };

static void same_bits_on_all_layouts(void **state)
{
	int n = getenv("CHOIR_TEST_LONG") != NULL ? LONG_CASES : quick_wanted() ? QUICK_CASES : CASES;
	int dense = 0, named = 0, done = 0;

	(void)state;
	for (int l = 0; l < 4; l++) {
		struct order_trial trial = { .first = order_trial_seed() + (uint64_t)(l * n), .n = n };

		world_run_at(RANKS, layouts[l], 120000, order_trial_run, &trial);
		dense += trial.dense;
		named += trial.named;
		done += trial.done;
	}
	print_message("%d cases from number %llu on: %d dense ones, %d by an algorithm's name, which could do %d\n",
	              4 * n, (unsigned long long)order_trial_seed(), dense, named, done);
	assert_true(named > dense * 4 / 10 && done > dense * 2 / 10); /* whatever the seed: draw_mix */
}

/* The data would show another order: without the promise some results on 8 nodes have other bits. */
static void without_it_bits_differ(void **state)
{
	struct order_trial trial = { .n = FEW_CASES, .options = "order=any" };

	(void)state;
	world_run_at(RANKS, 1, 120000, order_trial_run, &trial);
	assert_true(trial.differ > 0);
}

/* In a comm whose ranks are other ones, and those of a node not one behind the other. */
static void cases_of_split(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm *part = NULL;

	OK(choir_comm_split(comm, 0, rank * 3 % RANKS, &part));
	if (part != NULL)
		order_trial_run(world, rank, part, arg);
	choir_comm_destroy(part);
}

/* The comm's setting, and the environment's, hold for calls that say nothing, and for comms that are split off. */
static void comms_have_the_order(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct order_trial trial = { .n = FEW_CASES, .options = "" };

	(void)state;
	config.ranks_per_node = 1;
	config.order_ranks = 1;
	world_run(RANKS, &config, order_trial_run, &trial);
	assert_int_equal(trial.differ, 0);
	config.ranks_per_node = 2;
	world_run(RANKS, &config, cases_of_split, &trial);
	assert_int_equal(trial.differ, 0);
	config.order_ranks = 0;
	world_run(RANKS, &config, cases_of_split, &trial);
	assert_true(trial.differ > 0);
	trial.differ = 0;
	setenv("CHOIR_DETERMINISTIC", "1", 1);
	world_run(RANKS, &config, order_trial_run, &trial);
	assert_int_equal(trial.differ, 0);
	config.options = "order=any";
	world_run(RANKS, &config, order_trial_run, &trial);
	unsetenv("CHOIR_DETERMINISTIC");
	assert_true(trial.differ > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_bits_on_all_layouts),
		cmocka_unit_test(without_it_bits_differ),
		cmocka_unit_test(comms_have_the_order),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
