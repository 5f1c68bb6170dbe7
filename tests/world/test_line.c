/* SPDX-License-Identifier: MIT */
/* Short blocking calls of a rank that only gives.  Its bytes leave with its flag (Note [one store] in exec/run_admit.c)
 * from the run that carries the call out, which need not be the one that carried out the call before. */
#include "exec/comm.h"
#include "world/world.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { AHEAD = COMM_LANES + 1 }; /* a call for each lane, and one that finds none free */

typedef choir_status (*rooted_call)(choir_comm *comm, const int64_t *from, int64_t *to);

/* In each of them rank 0 gives and rank 1 takes. */
static choir_status broadcast(choir_comm *comm, const int64_t *from, int64_t *to)
{
	return choir_broadcast(comm, choir_host(from), choir_host(to), 1, CHOIR_I64, 0, NULL, NULL);
}

static choir_status gather(choir_comm *comm, const int64_t *from, int64_t *to)
{
	return choir_gather(comm, choir_host(from), choir_host(to), 1, CHOIR_I64, 1, NULL, NULL);
}

static choir_status scatter(choir_comm *comm, const int64_t *from, int64_t *to)
{
	return choir_scatter(comm, choir_host(from), choir_host(to), 1, CHOIR_I64, 0, NULL, NULL);
}

static const rooted_call rooted[] = { broadcast, gather, scatter };

static int64_t given[2][2], got[2][2]; /* of each rank; the same in all calls, which so are prepared once */

static void give_or_take(struct world *world, int rank, choir_comm *comm, rooted_call call, int64_t value)
{
	given[rank][0] = given[rank][1] = rank == 0 ? value : -2;
	got[rank][0] = -1;
	OK(call(comm, given[rank], got[rank]));
	if (rank == 1)
		CHECK(got[1][0] == value);
}

/* Until the call that rank 0 makes beyond the lanes is an ordinary run of its engine, and its own run is taken. */
static void await_detached(const struct world *world)
{
	while (atomic_load(&world->comms[0]->submission.unfinished) == 0)
		sched_yield();
}

static void reduce_two(struct world *world, int rank, choir_comm *comm)
{
	int64_t from[2] = { rank, 2 * rank }, to[2] = { -1, -1 };
	choir_event *events[2] = { NULL, NULL };

	for (int i = 0; i < 2; i++)
		OK(choir_allreduce(comm, choir_host(&from[i]), choir_host(&to[i]), 1, CHOIR_I64, CHOIR_OP_SUM, NULL,
		                   &events[i]));
	for (int i = 0; i < 2; i++) {
		OK(choir_event_wait(events[i], -1));
		choir_event_release(events[i]);
		CHECK(to[i] == i + 1);
	}
}

static void other_run(struct world *world, int rank, choir_comm *comm, void *arg)
{
	rooted_call call = *(const rooted_call *)arg;

	if (rank == 1)
		await_detached(world);
	for (int i = 0; i < AHEAD; i++)
		give_or_take(world, rank, comm, call, 100 + i);
	reduce_two(world, rank, comm);
	for (int i = 0; i < AHEAD; i++)
		give_or_take(world, rank, comm, call, 200 + i);
}

static void test_other_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rooted / sizeof *rooted; i++)
		world_run_at(2, 0, 60000, other_run, (void *)&rooted[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_other_run) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
