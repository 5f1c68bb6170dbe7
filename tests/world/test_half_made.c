/* SPDX-License-Identifier: MIT */
/* The last gather of a comm's creation fails on one process, whose peers have heard all they wait for: they have a comm
 * that it has not, and learn that from it, not by their deadline. */
#include "world/processes.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NO_GATHER = 7, DEADLINE_MS = 30000, SOON_MS = 10000 };

struct counted {
	choir_bootstrap inner;
	int n, fails_at; /* calls; 0 = never */
};

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct counted *c = ctx;
	int rc = c->inner.gather(c->inner.ctx, mine, bytes, all);

	return ++c->n == c->fails_at ? NO_GATHER : rc;
}

static choir_status create(const struct rank *me, int per_node, int fails_at, int *n_p, choir_comm **comm_p)
{
	struct counted counted = { rank_bootstrap(me), 0, fails_at };
	choir_bootstrap boot = { sizeof boot, me->rank, me->n, gather, &counted };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_status st;

	config.ranks_per_node = per_node;
	config.deadline_ms = DEADLINE_MS;
	st = choir_comm_create(&boot, 1, &device, &config, comm_p);
	*n_p = counted.n;
	return st;
}

static void half_made(const struct rank *me, int per_node)
{
	choir_bootstrap meet = rank_bootstrap(me);
	choir_comm *comm = NULL;
	char mine = 0, all[8];
	int n;

	MUST(create(me, per_node, 0, &n, &comm) == CHOIR_SUCCESS);
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	if (me->rank == 1) {
		MUST(create(me, per_node, n, &n, &comm) == CHOIR_TRANSPORT);
		MUST(says(choir_last_error(), "choir_comm_create|returned 7 on process 1"));
	} else {
		int64_t start = rank_now_ms();

		MUST(create(me, per_node, 0, &n, &comm) == CHOIR_SUCCESS);
		MUST(choir_barrier(comm, NULL, NULL) == CHOIR_ABORTED);
		MUST(says(choir_last_error(), "rank 1|choir_comm_create|returned 7 on process 1"));
		MUST(rank_now_ms() - start < SOON_MS);
		choir_comm_destroy(comm);
	}
	MUST(meet.gather(meet.ctx, &mine, 1, all) == 0); /* nobody learns it by another's end */
	world_device_drop();
}

static void test_half_made(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		processes_run(3, per_node, half_made, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_half_made) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
