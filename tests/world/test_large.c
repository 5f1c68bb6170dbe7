/* SPDX-License-Identifier: MIT */
/* Results that do not fit the cache: what is written past it (Note [nt stores]) is right at odd offsets and lengths, in
 * place and not, directly and through slots. */
#include "exec/comm.h"
#include "world/flight.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct dense_call calls[] = {
	{ &collectives[ALLREDUCE], CHOIR_F32, CHOIR_OP_SUM, .options = "algorithm=auto" },
	{ &collectives[ALLREDUCE], CHOIR_BF16, CHOIR_OP_MAX, .options = "algorithm=auto", .in_place = true },
	{ &collectives[ALLREDUCE], CHOIR_U8, CHOIR_OP_BXOR, .options = "algorithm=twoshot" },
	{ &collectives[REDUCE_SCATTER], CHOIR_F32, CHOIR_OP_SUM, .options = "algorithm=auto" },
	{ &collectives[ALLGATHER], CHOIR_F32, CHOIR_OP_SUM, .options = "algorithm=auto" },
};

static void large(struct world *world, int rank, choir_comm *comm, void *unused)
{
	enum { BYTES = 16 << 20 };

	(void)unused;
	comm->cache_bytes = 1 << 20; /* as on a small machine; on all ranks, before their first call */
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		size_t bytes = calls[i].what == &collectives[ALLREDUCE] ? BYTES : BYTES / (size_t)world->n;
		struct dense_call c = calls[i];

		c.n = world->n;
		c.count = bytes / choir_dtype_bytes(c.dtype) + 13;
		flight_run(world, rank, comm, &c);
	}
}

static void test_large(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node += 2)
		world_run_at(per_node == 0 ? 2 : 3, per_node, 60000, large, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_large) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
