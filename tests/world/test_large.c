/* SPDX-License-Identifier: MIT */
/* Results that do not fit the cache: what is written past it (Note [nt stores]) is right at odd offsets and lengths, in
 * place and not, directly and through slots. */
#include "exec/comm.h"
#include "world/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct trial trials[] = {
	{ .dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .options = "algorithm=auto" },
	{ .dtype = CHOIR_BF16, .op = CHOIR_OP_MAX, .options = "algorithm=auto", .in_place = true },
	{ .dtype = CHOIR_U8, .op = CHOIR_OP_BXOR, .options = "algorithm=twoshot" },
};

static void large(struct world *world, int rank, choir_comm *comm, void *unused)
{
	enum { BYTES = 16 << 20 };

	(void)unused;
	comm->cache_bytes = 1 << 20; /* as on a small machine; on all ranks, before their first call */
	for (size_t c = 0; c < n_test_cases; c++)
		for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
			const char *name = test_cases[c].name;
			struct trial t = trials[i];

			if (strcmp(name, "allreduce") != 0 &&
			    (i > 0 || (strcmp(name, "allgather") != 0 && strcmp(name, "reduce_scatter") != 0)))
				continue;
			t.n = world->n;
			t.count = (strcmp(name, "allreduce") == 0 ? BYTES : BYTES / (size_t)t.n) /
			              choir_dtype_bytes(t.dtype) +
			          13;
			case_run(world, rank, comm, &test_cases[c], &t);
		}
}

static void test_large(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node += 2) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

		config.ranks_per_node = per_node;
		config.deadline_ms = 60000;
		world_run(per_node == 0 ? 2 : 3, &config, large, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_large) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
