/* SPDX-License-Identifier: MIT */
/* Ranks that may run on one core are warned of, with the cure; the ranks of --local are bound to a core each. */
#include "bench/ranks/cores.h"
#include "bench/ranks/world.h"
#include "unit.h"

#include <string.h>

static struct cores on(const char *host, int first, int n)
{
	struct cores cores = { .host = "" };

	strcpy(cores.host, host);
	CPU_ZERO(&cores.may);
	for (int c = first; c < first + n; c++)
		CPU_SET(c, &cores.may);
	return cores;
}

static void shared_cores_are_warned_of(void **state)
{
	const struct cores bound[] = { on("a", 0, 1), on("a", 1, 1), on("b", 0, 1) };
	const struct cores free_to_move[] = { on("a", 0, 1), on("b", 0, 2), on("b", 0, 2) };
	const struct cores crowded[] = { on("a", 0, 2), on("a", 0, 2), on("a", 0, 2) };
	struct cores one[] = { on("a", 3, 1), on("a", 3, 1) };
	char text[CORES_WARNING_BYTES];

	(void)state;
	assert_false(cores_warning(bound, 3, text));
	assert_true(cores_warning(free_to_move, 3, text));
	assert_non_null(strstr(text, "ranks 1 and 2"));
	assert_non_null(strstr(text, "mpiexec -bind-to core -n 3"));
	assert_true(cores_warning(crowded, 3, text));
	assert_non_null(strstr(text, "3 ranks share 2 cores of a"));
	assert_non_null(strstr(text, "start at most 2"));
	assert_true(cores_warning(one, 2, text));
	assert_non_null(strstr(text, "2 ranks share 1 core of a: "));
	assert_non_null(strstr(text, "start at most 1"));
	one[0].online = one[1].online = 4;
	assert_true(cores_warning(one, 2, text));
	assert_non_null(strstr(text, "bind them, mpiexec -bind-to core -n 2"));
}

static int rank_main(struct world *world, void *ctx)
{
	struct cores mine = cores_mine(), all[2];
	int n_cores = *(int *)ctx;
	char text[CORES_WARNING_BYTES];

	world_gather(world, &mine, sizeof mine, all);
	return cores_warning(all, 2, text) != (n_cores < 2);
}

static void local_ranks_are_bound(void **state)
{
	struct cores before = cores_mine(), after;
	int n_cores = CPU_COUNT(&before.may);

	(void)state;
	assert_int_equal(world_run_local(2, rank_main, &n_cores), 0);
	after = cores_mine();
	assert_true(CPU_EQUAL(&before.may, &after.may));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shared_cores_are_warned_of),
		                            cmocka_unit_test(local_ranks_are_bound) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
