/* SPDX-License-Identifier: MIT */
/* No call has a priority: a short call ends before a long one that was made before it, since calls in flight move in
 * turns of STEP_PIECE_BYTES. */
#include "exec/run.h"
#include "exec/steps.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	LONG_TURNS = 64,
	MOST_TURNS = 2,
	LONG_COUNT = LONG_TURNS * STEP_PIECE_BYTES / (int)sizeof(float),
	SHORT_COUNT = 100
};

/* Of the long call: its turns, whether it has ended, and its turns when the short one ended first. */
static _Atomic int long_turns, turns_before;
static _Atomic bool long_ended;

bool __real_run_advance(struct run *run);
bool __wrap_run_advance(struct run *run);

bool __wrap_run_advance(struct run *run)
{
	bool is_long = strcmp(run_name(run), "long") == 0, is_short = strcmp(run_name(run), "short") == 0;
	bool moved = __real_run_advance(run);

	if (is_long)
		atomic_fetch_add(&long_turns, moved);
	if (is_long && run->state == RUN_ENDED)
		atomic_store(&long_ended, true);
	if (is_short && run->state == RUN_ENDED && !atomic_load(&long_ended))
		atomic_store(&turns_before, atomic_load(&long_turns));
	return moved;
}

/* Both are in flight when the barrier that they wait for ends.  The rank is alone, so no peer is late. */
static void long_then_short(struct world *world, int rank, choir_comm *comm, void *arg)
{
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_call held = CHOIR_CALL_INIT, then = CHOIR_CALL_INIT;
	choir_event *barrier = NULL;
	struct sum first, second;

	(void)arg;
	held.cl_deps = &gate;
	held.n_cl_deps = 1;
	OK(choir_barrier(comm, &held, &barrier));
	then.deps = &barrier;
	then.n_deps = 1;
	then.name = "long";
	OK(sum_start(&first, comm, LONG_COUNT, 1, &then, true));
	then.name = "short";
	OK(sum_start(&second, comm, SHORT_COUNT, 2, &then, true));
	gate_open(gate, CL_COMPLETE);
	OK(choir_event_wait(first.event, -1));
	OK(choir_event_wait(second.event, -1));
	CHECK(sum_is(&first, 1) && sum_is(&second, 1));
	sum_free(&first);
	sum_free(&second);
	choir_event_release(barrier);
	clReleaseEvent(gate);
}

static void test_order(void **state)
{
	(void)state;
	atomic_store(&turns_before, LONG_TURNS);
	world_run_at(1, 0, 30000, long_then_short, NULL);
	assert_in_range(atomic_load(&turns_before), 0, MOST_TURNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
