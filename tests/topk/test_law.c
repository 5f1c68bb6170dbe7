/* SPDX-License-Identifier: MIT */
/* The law for every algorithm, 1 to 8 ranks, 200 calls; test_law --short: 20 calls, and no more. */
#include "topk/law.h"
#include "topk/run.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int calls_each = 200;

static struct law law_of(const char *algorithm, int ranks, size_t count, size_t k, int calls)
{
	struct law law = { .config = CHOIR_TOPK_CONFIG_INIT, .ranks = ranks, .calls = calls };

	law.config.algorithm = algorithm;
	law.config.count = count;
	law.config.k = k;
	law.config.op = CHOIR_OP_SUM;
	return law;
}

static void every_algorithm(void **state)
{
	(void)state;
	for (int a = 0; a < LAW_ALGORITHMS; a++)
		for (int ranks = 1; ranks <= LAW_RANKS; ranks++) {
			struct law law = law_of(law_algorithms[a], ranks, 211, 12, calls_each);

			law.device = ranks % 2 == 0;
			law.config.dense_calls = ranks == 3 ? 2 : 0;
			law_holds(&law);
			assert_true(law_moved() > 0);
		}
}

/* Ranks of several nodes: messages instead of shared memory. */
static void across_nodes(void **state)
{
	(void)state;
	for (int a = 0; a < LAW_ALGORITHMS; a++)
		for (int per_node = 1; per_node <= 2; per_node++) {
			struct law law = law_of(law_algorithms[a], 5, 150, 9, 20);

			law.ranks_per_node = per_node;
			law_holds(&law);
		}
}

/* Tensors that are worked on beside the driver. */
static void larger_tensors(void **state)
{
	(void)state;
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		struct law law = law_of(law_algorithms[a], 3, 90001, 0, 4);

		law.device = a % 2 == 1;
		law_holds(&law);
	}
}

/* Tensors beyond the caches: made block by block, candidates found meanwhile, the result stored by nt stores.  In
 * the last calls the values rise a hundredfold, so that more pass the old threshold than there is room for. */
static float rises(int rank, int call, size_t i)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)rank * 7 + (uint64_t)call * 13;
	float value = (float)(int)((x >> 40) % 2001) - 1000;

	return call < 2 ? value : value * 100;
}

static void past_the_caches(void **state)
{
	static const char *const some[] = { "topka2", "topk-opt", "gaussiank", "oktopk", "spardl" };

	(void)state;
	for (size_t a = 0; a < sizeof some / sizeof *some; a++) {
		struct law law = law_of(some[a], 2, 600011, 12000, 4);

		law.value = rises;
		law_holds(&law);
	}
}

static _Atomic int evened_out; /* calls of a rank */

choir_status __real_topk_exchange(struct topk_run *run, struct script_turn *turn, const struct pairs *to,
                                  topk_step then);
choir_status __wrap_topk_exchange(struct topk_run *run, struct script_turn *turn, const struct pairs *to,
                                  topk_step then);

choir_status __wrap_topk_exchange(struct topk_run *run, struct script_turn *turn, const struct pairs *to,
                                  topk_step then)
{
	atomic_fetch_add(&evened_out, 1);
	return __real_topk_exchange(run, turn, to, then);
}

/* After the regions were cut for entries everywhere, all of them lie in one: what is kept is evened out. */
static float moves_to_a_corner(int rank, int call, size_t i)
{
	if (call == 0)
		return (float)((i * 31 + (size_t)rank) % 1009) - 504;
	return i < 40000 ? (float)((i * 17 + (size_t)rank) % 97) + 2000 : 0;
}

static void evens_out(void **state)
{
	struct law law = law_of("oktopk", 3, 120000, 20000, 6);

	(void)state;
	law.value = moves_to_a_corner;
	atomic_store(&evened_out, 0);
	law_holds(&law);
	assert_true(law_stats().imbalance > 2.5);
	assert_true(atomic_load(&evened_out) > 0);
}

/* The same entries everywhere: there is nothing to even out. */
static void does_not_even_out(void **state)
{
	struct law law = law_of("oktopk", 3, 120000, 20000, 3);

	(void)state;
	law.value = rises;
	atomic_store(&evened_out, 0);
	law_holds(&law);
	assert_int_equal(atomic_load(&evened_out), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_algorithm), cmocka_unit_test(across_nodes),
		                            cmocka_unit_test(larger_tensors),  cmocka_unit_test(past_the_caches),
		                            cmocka_unit_test(evens_out),       cmocka_unit_test(does_not_even_out) };
	const struct CMUnitTest few[] = { cmocka_unit_test(every_algorithm) };
	bool is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
	int failed;

	if (is_short)
		calls_each = 20;
	failed = is_short ? cmocka_run_group_tests(few, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
	memory_drop();
	world_device_drop();
	return failed;
}
