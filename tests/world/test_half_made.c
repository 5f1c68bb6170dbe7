/* SPDX-License-Identifier: MIT */
/* What ranks make together, and some of them fail as others get it: each learns why, and at once. */
#include "exec/symmetric.h"
#include "world/processes.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NO_GATHER = 7, DEADLINE_MS = 60000 };

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
	choir_bootstrap boot = { sizeof boot, me->rank, me->n, gather, &counted, NULL };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_status st;

	config.ranks_per_node = per_node;
	config.deadline_ms = DEADLINE_MS;
	st = choir_comm_create(&boot, 1, &device, &config, comm_p);
	*n_p = counted.n;
	return st;
}

static void meet(const struct rank *me)
{
	choir_bootstrap boot = rank_bootstrap(me);
	char mine = 0, all[8];

	MUST(boot.gather(boot.ctx, &mine, 1, all) == 0);
}

/* The last gather of a comm's creation fails on one process, whose peers have heard all they wait for: they have a comm
 * that it has not, and learn that from it, not by their deadline. */
static void half_made(const struct rank *me, int per_node)
{
	choir_comm *comm = NULL;
	int n;

	MUST(create(me, per_node, 0, &n, &comm) == CHOIR_SUCCESS);
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	if (me->rank == 1) {
		MUST(create(me, per_node, n, &n, &comm) == CHOIR_TRANSPORT);
		MUST(says(choir_last_error(), "choir_comm_create|returned 7 on process 1"));
	} else {
		MUST(create(me, per_node, 0, &n, &comm) == CHOIR_SUCCESS);
		MUST(choir_barrier(comm, NULL, NULL) == CHOIR_TRANSPORT);
		MUST(says(choir_last_error(), "rank 1|choir_comm_create|returned 7 on process 1"));
		choir_comm_destroy(comm);
	}
	meet(me); /* nobody learns it by another's end */
	world_device_drop();
}

static void test_half_made(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		processes_run(3, per_node, half_made, -1);
}

/* --- shares --- */

choir_status __real_arena_open(const struct arena_address *address, struct arena **out_p);
choir_status __wrap_arena_open(const struct arena_address *address, struct arena **out_p);
choir_status __real_symmetric_add(struct choir_comm *comm, struct symmetric *symmetric);
choir_status __wrap_symmetric_add(struct choir_comm *comm, struct symmetric *symmetric);

static const struct rank *sharing; /* this process, while the shares are made */

/* Maps the share of rank 0 once that rank has given it back. */
choir_status __wrap_arena_open(const struct arena_address *address, struct arena **out_p)
{
	if (sharing != NULL) {
		meet(sharing); /* all have said what they offer */
		meet(sharing);
	}
	return __real_arena_open(address, out_p);
}

choir_status __wrap_symmetric_add(struct choir_comm *comm, struct symmetric *symmetric)
{
	if (sharing->rank == 0) {
		meet(sharing);
		(void)choir_comm_abort(comm);
	}
	return __real_symmetric_add(comm, symmetric);
}

/* Who cannot map a share since its owner has aborted says so. */
static void abort_in_shares(const struct rank *me, int per_node)
{
	choir_comm *comm;
	void *share;
	int n;

	MUST(create(me, per_node, 0, &n, &comm) == CHOIR_SUCCESS);
	sharing = me;
	MUST(choir_mem_alloc(comm, 5000, &share, NULL) == CHOIR_ABORTED);
	MUST(says(choir_last_error(), "aborted by rank 0"));
	if (me->rank == 0)
		meet(me);
	sharing = NULL;
	choir_comm_destroy(comm);
	meet(me);
	world_device_drop();
}

static void test_abort_in_shares(void **state)
{
	(void)state;
	processes_run(3, 0, abort_in_shares, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_half_made), cmocka_unit_test(test_abort_in_shares) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
