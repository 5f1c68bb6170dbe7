/* SPDX-License-Identifier: MIT */
/* Comms that have nothing to do cost nothing: drivers do not look at them, but for the slow check, and they have their
 * turn again as soon as they are called. */
#include "base/wait.h"
#include "exec/comm_list.h"
#include "exec/engine.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
	IDLE = 100,
	CALLS = 400,
	LOOKS = 40,    /* until a comm counts as idle, and then some */
	CHECK_MS = 20, /* the slow check's */
	RANKS = 2
};

static choir_comm *idle[IDLE][RANKS];
static choir_comm *_Atomic busy[RANKS]; /* the background thread looks at them */
static _Atomic long idle_drives;

enum drive __real_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p);
enum drive __wrap_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p);

enum drive __wrap_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p)
{
	atomic_fetch_add(&idle_drives, comm != busy[0] && comm != busy[1]);
	return __real_engine_drive(comm, messages, due_p);
}

static void add(struct world *world, int rank, choir_comm *comm)
{
	int one = 1, sum = 0;
	choir_event *event = NULL;

	OK(choir_allreduce(comm, choir_host(&one), choir_host(&sum), 1, CHOIR_I32, CHOIR_OP_SUM, NULL, &event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	CHECK(sum == RANKS);
}

static bool idle_are_listed(void)
{
	bool any = false;

	comm_list_lock();
	for (struct choir_comm *comm = comm_list_next_busy(NULL); comm != NULL; comm = comm_list_next_busy(comm))
		any |= comm != busy[0] && comm != busy[1];
	comm_list_unlock();
	return any;
}

/* Each comm has one call, then those of one alone go on; then all once more, in the other order. */
static void leave_idle(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int64_t began = 0;

	(void)arg;
	atomic_store(&busy[rank], comm);
	line_up();
	for (int i = 0; i < IDLE; i++)
		add(world, rank, idle[i][rank]);
	for (int i = 0; i < LOOKS; i++)
		add(world, rank, comm);
	line_up();
	if (rank == 0) {
		began = wait_now_ns();
		atomic_store(&idle_drives, 0);
	}
	for (int i = 0; i < CALLS; i++)
		add(world, rank, comm);
	line_up();
	if (rank == 0) {
		long checks = (long)((wait_now_ns() - began) / (CHECK_MS * 1000000)) + 1;

		CHECK(atomic_load(&idle_drives) <= checks * RANKS * IDLE * RANKS);
		for (int i = 0; i < LOOKS; i++) /* waits may have ended together, which is one look */
			(void)idle_are_listed();
		CHECK(!idle_are_listed());
	}
	line_up();
	for (int i = IDLE - 1; i >= 0; i--)
		add(world, rank, idle[i][rank]);
}

static void test_idle(void **state)
{
	choir_device *devices[RANKS];

	(void)state;
	assert_int_equal(choir_device_create_host(&devices[0]), CHOIR_SUCCESS);
	devices[1] = devices[0];
	for (int i = 0; i < IDLE; i++)
		assert_int_equal(choir_comm_create_local(RANKS, devices, NULL, idle[i]), CHOIR_SUCCESS);
	for (int per_node = 0; per_node < 2; per_node++)
		line_up_run(RANKS, per_node, 60000, leave_idle, NULL);
	for (int i = 0; i < IDLE; i++)
		for (int r = 0; r < RANKS; r++)
			assert_int_equal(choir_comm_destroy(idle[i][r]), CHOIR_SUCCESS);
	choir_device_destroy(devices[0]);
}

/* --- questions that come for an idle comm --- */

enum { ASKERS_MS = 2000 };

static _Atomic bool answered;

/* Ranks 0 and 2 have many short calls; rank 1 waits for rank 0 in another comm, and learns that it is alive. */
static void ask_idle(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_comm *other = NULL;
	int some = 1, sum = 0, got = 0;

	(void)arg;
	atomic_store(&answered, false);
	OK(choir_comm_split(comm, rank == 2, 0, &other));
	call.deadline_ms = ASKERS_MS;
	if (rank == 1) {
		SAYS(choir_allreduce(other, choir_host(&some), choir_host(&sum), 1, CHOIR_I32, CHOIR_OP_SUM, &call,
		                     NULL),
		     CHOIR_TIMEOUT, "waits for rank 0 (it has made 0 calls)");
		atomic_store(&answered, true);
	}
	for (int over = 0, all = 0; rank != 1 && !all;) { /* rank 0 ends it, and rank 2 hears of it */
		choir_event *event = NULL;

		over = rank == 0 && atomic_load(&answered);
		OK(choir_sendrecv(comm, choir_host(&over), 1, 2 - rank, choir_host(&got), 1, 2 - rank, CHOIR_I32, NULL,
		                  &event));
		OK(choir_event_wait(event, -1));
		choir_event_release(event);
		all = over | got;
	}
	line_up();
	(void)choir_comm_destroy(other);
}

static void test_asked(void **state)
{
	(void)state;
	line_up_run(3, 1, 60000, ask_idle, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_idle), cmocka_unit_test(test_asked) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
