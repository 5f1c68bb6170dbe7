/* SPDX-License-Identifier: MIT */
/* The law over runs that are long, or whose k changes with every call, and for values that are no integers.
 * test_long: a few calls; test_long --long: 10 000, or 200 on 1 to 8 ranks. */
#include "topk/law.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SHORT_CALLS = 150, LONG_CALLS = 10000, COUNT = 97, SHORT_LAW = 12, LONG_LAW = 200 };

static int calls = SHORT_CALLS, law_calls = SHORT_LAW;
static double densities[LONG_CALLS];

/* Of one entry, of some, of all: no two calls after each other have the same k. */
static void changing_k(void **state)
{
	(void)state;
	for (int i = 0; i < LONG_CALLS; i++)
		densities[i] = i % 50 == 49 ? 1 : (double)(1 + i * 37 % 41) / 97;
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		struct law law = { .config = CHOIR_TOPK_CONFIG_INIT, .ranks = 3, .calls = calls };

		law.config.algorithm = law_algorithms[a];
		law.config.count = COUNT;
		law.config.op = CHOIR_OP_SUM;
		law.config.densities = densities;
		law.config.n_densities = (size_t)calls;
		law.config.calls_per_density = 1;
		law_holds(&law);
	}
}

/* Neither sums nor products are exact. */
static float fraction(int rank, int call, size_t i)
{
	uint64_t x = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ ((uint64_t)rank * 8191 + (uint64_t)call * 131);

	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return (float)((double)(x >> 11) * 0x1p-53 - 0.5) * (x % 7 == 0 ? 100 : 1);
}

static void no_integers(void **state)
{
	(void)state;
	for (int a = 0; a < LAW_ALGORITHMS; a++)
		for (int ranks = 1; ranks <= LAW_RANKS; ranks++) {
			struct law law = { .config = CHOIR_TOPK_CONFIG_INIT, .ranks = ranks, .calls = law_calls };

			law.config.algorithm = law_algorithms[a];
			law.config.count = 211;
			law.config.k = 12;
			law.config.op = CHOIR_OP_SUM;
			law.config.decay = 0.93;
			law.config.scale = 0.3;
			law.value = fraction;
			law.tolerance = 1e-6;
			law_holds(&law);
		}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(changing_k), cmocka_unit_test(no_integers) };
	int failed;

	if (argc > 1 && strcmp(argv[1], "--long") == 0) {
		calls = LONG_CALLS;
		law_calls = LONG_LAW;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	memory_drop();
	world_device_drop();
	return failed;
}
