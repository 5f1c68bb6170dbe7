/* SPDX-License-Identifier: MIT */
/* Every dense collective on worlds of 1, 2, 3, 5 and 8 ranks: one node, a node a rank, two ranks a node. */
#include "quick.h"
#include "world/matrix.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

static const int sizes[] = { 1, 2, 3, 5, 8 };

static void on_all_worlds(world_fn fn, void *arg)
{
	bool quick = quick_wanted(); /* other kinds of memory: 8 ranks have nothing to add */

	for (int per_node = 0; per_node <= 3; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes - quick; i++) {
			if (per_node >= sizes[i]) /* one node again */
				continue;
			if (quick && sizes[i] == 5 && per_node % 2) /* one node, and three uneven ones */
				continue;
			world_run_at(sizes[i], per_node, 60000, fn, arg);
		}
}

static void test_sizes(void **state)
{
	bool quick = quick_wanted();

	(void)state;
	on_all_worlds(matrix_sizes, quick ? &quick : NULL);
}

/* All of them on up to 3 ranks; then a part on each layout, another on the next. */
static void types(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int part = world->n + choir_comm_nodes(comm);

	(void)unused;
	matrix_types(world, rank, comm, world->n > 3 ? &part : NULL);
}

static void test_types(void **state)
{
	(void)state;
	on_all_worlds(types, NULL);
}

static void test_premultiplied(void **state)
{
	(void)state;
	on_all_worlds(matrix_premultiplied, NULL);
}

static void test_roots(void **state)
{
	(void)state;
	on_all_worlds(matrix_roots, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_types),
		                            cmocka_unit_test(test_roots), cmocka_unit_test(test_premultiplied) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
