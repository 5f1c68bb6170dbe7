/* SPDX-License-Identifier: MIT */
/* The rank that is named is the one that stopped, and not one that itself waits for it (Note [liveness] in
 * src/exec/liveness.c). */
#include "exec/event.h"
#include "exec/liveness.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS = 4, SHORT_MS = 1500, LONG_MS = 20000, MS = 1000000 };

static const int64_t now_ns = 1000000 * INT64_C(1000000);

static void tells(choir_comm *comm, int rank, int waits_for, int64_t silent_ms)
{
	struct arena_control *control = comm_control(comm, comm->layout.local_rank_of[rank]);

	atomic_store(&control->waits_for, (uint32_t)(waits_for + 1));
	atomic_store(&control->sign_ns, silent_ms < 0 ? 0 : now_ns - silent_ms * MS);
}

static void test_chains(void **state)
{
	struct world world;
	choir_comm *comm;

	(void)state;
	world_begin(&world, RANKS, NULL);
	comm = world.comms[0];
	/* 1 waits for 2, 2 for 3, 3 for nobody */
	tells(comm, 1, 2, 5);
	tells(comm, 2, 3, 20);
	tells(comm, 3, -1, 10);
	assert_int_equal(liveness_culprit(comm, 1, now_ns, 100 * MS), 3);
	/* 2 stopped while it waited for 3, which has come since */
	tells(comm, 2, 3, 700);
	assert_int_equal(liveness_culprit(comm, 1, now_ns, 100 * MS), 2);
	/* and while it waited for me, or for 1 */
	tells(comm, 2, 0, 700);
	assert_int_equal(liveness_culprit(comm, 1, now_ns, 100 * MS), 2);
	tells(comm, 2, 1, 700);
	assert_int_equal(liveness_culprit(comm, 1, now_ns, 100 * MS), 2);
	/* 3 has never been in a call */
	tells(comm, 2, 3, 20);
	tells(comm, 3, -1, -1);
	assert_int_equal(liveness_culprit(comm, 1, now_ns, 100 * MS), 3);
	/* all wait in a circle: the first is as good as another, but it is one of them */
	tells(comm, 2, 1, 5);
	assert_in_range(liveness_culprit(comm, 1, now_ns, 100 * MS), 1, 2);
	assert_int_equal(liveness_culprit(comm, -1, now_ns, 100 * MS), -1);
	world_end(&world);
}

/* Rank 1 makes no call; 2 waits for it, and 0 for 2.  Rank 0's deadline is the first. */
static void chain_of_receives(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	int32_t value = 0;

	(void)arg;
	if (rank == 2)
		OK(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 1, NULL, &event));
	line_up(); /* rank 2 has called before rank 0 does */
	if (rank == 1)
		return;
	call.deadline_ms = SHORT_MS;
	if (rank == 0)
		OK(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 2, &call, &event));
	IS(choir_event_wait(event, -1), CHOIR_TIMEOUT);
	if (!says(choir_event_error(event), "rank 0: send/recv|waits for rank 1"))
		world_fail(world, rank, "a chain: \"%s\"", choir_event_error(event));
	choir_event_release(event);
}

static void test_receives(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		line_up_run(3, per_node, LONG_MS, chain_of_receives, NULL);
}

/* Rank 0's first call waits for its deps, and holds the lane that its ninth wants: the others are in the first call,
 * and none of them is late. */
enum { LANES_BETWEEN = COMM_LANES - 1, COUNT = 10 };

/* Rank 0 says so each time that it gives a sign; one that it is giving may be older. */
static void waits_for_nobody(struct world *world, int rank, choir_comm *comm, choir_event *event)
{
	const struct arena_control *control = comm_control(comm, 0);

	for (int signs = 0; signs < 4 && !event_is_complete(event); signs++) {
		int64_t last = atomic_load(&control->sign_ns);

		while (atomic_load(&control->sign_ns) == last && !event_is_complete(event))
			choir_event_wait(event, 1);
		CHECK(signs < 2 || atomic_load(&control->waits_for) == 0);
	}
}

static void own_call_in_the_way(struct world *world, int rank, choir_comm *comm, void *gate)
{
	choir_call held = CHOIR_CALL_INIT, last = CHOIR_CALL_INIT;
	struct sum first, ninth;
	cl_event deps[] = { gate };

	held.cl_deps = deps;
	held.n_cl_deps = 1;
	held.deadline_ms = rank == 2 ? SHORT_MS : LONG_MS;
	if (rank != 0)
		held.n_cl_deps = 0;
	OK(sum_start(&first, comm, COUNT, 1, &held, true));
	for (int i = 0; i < LANES_BETWEEN; i++)
		CHECK(sum_works(comm, COUNT));
	last.deadline_ms = LONG_MS;
	if (rank == 0)
		OK(sum_start(&ninth, comm, COUNT, 1, &last, true));
	line_up();
	if (rank == 1)
		waits_for_nobody(world, rank, comm, first.event);
	IS(choir_event_wait(first.event, -1), CHOIR_TIMEOUT);
	if (!says(choir_event_error(first.event), "rank 2: allreduce #0|waits for rank 0"))
		world_fail(world, rank, "behind its own call: \"%s\"", choir_event_error(first.event));
	if (rank == 0) {
		IS(choir_event_wait(ninth.event, -1), CHOIR_TIMEOUT);
		sum_free(&ninth);
	}
	sum_free(&first);
}

static void test_own_call(void **state)
{
	cl_event gate = gate_make(choir_device_context(world_device()));

	(void)state;
	line_up_run(3, 0, LONG_MS, own_call_in_the_way, gate);
	gate_open(gate, CL_COMPLETE);
	clReleaseEvent(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_chains), cmocka_unit_test(test_receives),
		                            cmocka_unit_test(test_own_call) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
