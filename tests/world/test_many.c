/* SPDX-License-Identifier: MIT */
/* Thousands of calls in flight: a driver looks at those that can move, not at the others, and a call allocates no more
 * than it needs to wait. */
#include "base/wait.h"
#include "exec/check.h"
#include "exec/engine.h"
#include "exec/liveness.h"
#include "world/gate.h"

#include <choir/pairs.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
	CALLS = 4096,
	MOST_LOOKS = 2 * 16 + COMM_LANES,
	MOST_CHECKED = 1024 + MOST_LOOKS, /* of the slow check */
	CALL_ALLOCATIONS = 3,             /* event and run; what was prepared, where another thread drives */
	OTHER_ALLOCATIONS = 512           /* of a comm that begins */
};

#define STARTED_NS INT64_C(20000000000)

static _Atomic unsigned allocated;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_realloc(void *ptr, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	atomic_fetch_add(&allocated, 1);
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	atomic_fetch_add(&allocated, 1);
	return __real_calloc(n, bytes);
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
	atomic_fetch_add(&allocated, 1);
	return __real_realloc(ptr, bytes);
}

/* Looks at runs in one drive of an engine: here, and the most of any thread. */
static _Thread_local int looks;
static _Atomic int most_looks;

bool __real_run_advance(struct run *run);
bool __wrap_run_advance(struct run *run);
enum drive __real_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p);
enum drive __wrap_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p);

bool __wrap_run_advance(struct run *run)
{
	looks++;
	return __real_run_advance(run);
}

enum drive __wrap_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p)
{
	int most = atomic_load(&most_looks);
	enum drive found;

	looks = 0;
	found = __real_engine_drive(comm, messages, due_p);
	while (looks > most && !atomic_compare_exchange_weak(&most_looks, &most, looks))
		;
	return found;
}

static void land(struct world *world, int rank, choir_event **events)
{
	for (int k = 0; k < CALLS; k++) {
		OK(choir_event_wait(events[k], -1));
		choir_event_release(events[k]);
	}
}

static void many_sums(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_event **events = calloc(CALLS, sizeof(choir_event *));
	int *send = calloc(CALLS, sizeof *send), *recv = calloc(CALLS, sizeof *recv);

	(void)arg;
	line_up();
	if (rank == 0)
		atomic_store(&allocated, 0);
	line_up();
	for (int k = 0; k < CALLS; k++) {
		send[k] = k + rank;
		OK(choir_allreduce(comm, choir_host(&send[k]), choir_host(&recv[k]), 1, CHOIR_I32, CHOIR_OP_SUM, NULL,
		                   &events[k]));
	}
	land(world, rank, events);
	line_up();
	CHECK(rank == 1 || comm->node_size == 1 ||
	      atomic_load(&allocated) <= 2 * CALLS * CALL_ALLOCATIONS + OTHER_ALLOCATIONS);
	for (int k = 0; k < CALLS; k++)
		CHECK(recv[k] == 2 * k + 1);
	free(events);
	free(send);
	free(recv);
}

/* All wait for rank 1 but the first few, which alone can move. */
static void check_many(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_event **events = calloc(CALLS, sizeof(choir_event *));
	int one = 1, *sums = calloc(CALLS, sizeof *sums);

	(void)arg;
	for (int k = 0; k < CALLS && rank == 0; k++)
		OK(choir_allreduce(comm, choir_host(&one), choir_host(&sums[k]), 1, CHOIR_I32, CHOIR_OP_SUM, NULL,
		                   &events[k]));
	for (int i = 0; i < 8 && rank == 0; i++) {
		looks = 0;
		check_in_flight(comm); /* another driver may be at it: then this one looks at none */
		CHECK(looks <= MOST_CHECKED);
	}
	line_up();
	for (int k = 0; k < CALLS && rank == 1; k++)
		OK(choir_allreduce(comm, choir_host(&one), choir_host(&sums[k]), 1, CHOIR_I32, CHOIR_OP_SUM, NULL,
		                   &events[k]));
	land(world, rank, events);
	for (int k = 0; k < CALLS; k++)
		CHECK(sums[k] == 2);
	free(events);
	free(sums);
}

/* Rank 1 receives, long before anything is sent. */
static void many_messages(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_event **events = calloc(CALLS, sizeof(choir_event *));
	int *numbers = calloc(CALLS, sizeof *numbers);

	(void)arg;
	for (int k = 0; k < CALLS && rank == 1; k++)
		OK(choir_recv(comm, choir_host(&numbers[k]), 1, CHOIR_I32, 0, NULL, &events[k]));
	line_up();
	for (int k = 0; k < CALLS && rank == 0; k++) {
		numbers[k] = k;
		OK(choir_send(comm, choir_host(&numbers[k]), 1, CHOIR_I32, 1, NULL, &events[k]));
	}
	land(world, rank, events);
	for (int k = 0; k < CALLS; k++)
		CHECK(numbers[k] == k);
	free(events);
	free(numbers);
}

/* --- what a wait and a sign look at --- */

choir_status __real_comm_send(choir_comm *comm, int rank, struct wire_header *header, const void *payload,
                              size_t bytes);
choir_status __wrap_comm_send(choir_comm *comm, int rank, struct wire_header *header, const void *payload,
                              size_t bytes);
static _Atomic uint64_t last_here; /* how many calls the last answer said to have started */

choir_status __wrap_comm_send(choir_comm *comm, int rank, struct wire_header *header, const void *payload, size_t bytes)
{
	if (header->kind == WIRE_HERE)
		atomic_store(&last_here, header->key);
	return __real_comm_send(comm, rank, header, payload, bytes);
}

static void take_engine(choir_comm *comm)
{
	while (!engine_enter(&comm->engine))
		sched_yield();
}

/* The calls in flight behind the first one are out of reach for a walk from there on. */
static struct run *cut(choir_comm *comm)
{
	struct run *rest;

	take_engine(comm);
	rest = comm->engine.flight.all->next;
	comm->engine.flight.all->next = NULL;
	engine_leave(&comm->engine);
	return rest;
}

static void join(choir_comm *comm, struct run *rest)
{
	take_engine(comm);
	comm->engine.flight.all->next = rest;
	engine_leave(&comm->engine);
}

static uint64_t told_as_started(choir_comm *comm)
{
	take_engine(comm);
	atomic_store(&comm->liveness.ranks[1].asked, true);
	atomic_store(&comm->liveness.any_asked, true);
	liveness_answer(comm);
	engine_leave(&comm->engine);
	return atomic_load(&last_here);
}

/* The wait takes all calls that were made, and the check looks at some of them; both leave at once where another
 * thread drives. */
static bool all_but_the_last_have_started(choir_comm *comm, choir_event *last)
{
	int64_t until = wait_now_ns() + STARTED_NS;

	while (told_as_started(comm) != CALLS - 1 && wait_now_ns() < until) {
		(void)choir_event_wait(last, 0);
		check_in_flight(comm);
	}
	return told_as_started(comm) == CALLS - 1;
}

/* Rank 1 makes its calls last.  The last call of rank 0 waits for its deps, and all before it for rank 1. */
static void idle_calls(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_event **events = calloc(CALLS, sizeof(choir_event *));
	int one = 1, *sums = calloc(CALLS, sizeof *sums);
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_call call = CHOIR_CALL_INIT;
	struct run *rest;

	(void)arg;
	call.cl_deps = &gate;
	for (int turn = 0; turn < 2; turn++) {
		for (int k = 0; k < CALLS && rank == turn; k++) {
			call.n_cl_deps = rank == 0 && k == CALLS - 1;
			OK(choir_allreduce(comm, choir_host(&one), choir_host(&sums[k]), 1, CHOIR_I32, CHOIR_OP_SUM,
			                   &call, &events[k]));
		}
		if (rank == 0 && turn == 0) {
			CHECK(all_but_the_last_have_started(comm, events[CALLS - 1]));
			rest = cut(comm);
			SAYS(choir_event_wait(events[CALLS - 1], 0), CHOIR_TIMEOUT, "allreduce #4095 (");
			CHECK(told_as_started(comm) == CALLS - 1);
			join(comm, rest);
			gate_open(gate, CL_COMPLETE);
		}
		line_up();
	}
	land(world, rank, events);
	for (int k = 0; k < CALLS; k++)
		CHECK(sums[k] == 2);
	clReleaseEvent(gate);
	free(events);
	free(sums);
}

static void test_idle(void **state)
{
	(void)state;
	line_up_run(2, 1, 60000, idle_calls, NULL);
}

/* Calls on one device that wait for a gate, and one behind them that does not. */
static void test_alone(void **state)
{
	enum { ALONE = 1500, MOST_ALONE = 256 + 1 };
	choir_event **events = calloc(ALONE + 1, sizeof(choir_event *));
	cl_event gate = gate_make(choir_device_context(world_device()));
	choir_call call = CHOIR_CALL_INIT;
	int32_t row = 1, from[2] = { 5, 6 }, *to = calloc(ALONE + 1, sizeof *to);

	(void)state;
	call.cl_deps = &gate;
	atomic_store(&most_looks, 0);
	for (int k = 0; k <= ALONE; k++) {
		call.n_cl_deps = k < ALONE;
		assert_int_equal(choir_gather_rows(world_device(), choir_host(&row), 1, CHOIR_I32, choir_host(from), 2,
		                                   1, CHOIR_I32, choir_host(&to[k]), &call, &events[k]),
		                 CHOIR_SUCCESS);
	}
	assert_int_equal(choir_event_wait(events[ALONE], 20000), CHOIR_SUCCESS);
	assert_in_range(atomic_load(&most_looks), 1, MOST_ALONE);
	gate_open(gate, CL_COMPLETE);
	for (int k = 0; k <= ALONE; k++) {
		assert_int_equal(choir_event_wait(events[k], 20000), CHOIR_SUCCESS);
		assert_int_equal(to[k], 6);
		choir_event_release(events[k]);
	}
	clReleaseEvent(gate);
	free(events);
	free(to);
}

static void run_counted(world_fn fn)
{
	for (int per_node = 1; per_node <= 2; per_node++) {
		atomic_store(&most_looks, 0);
		line_up_run(2, per_node, 30000, fn, NULL);
		assert_in_range(atomic_load(&most_looks), 1, MOST_LOOKS);
	}
}

static void test_sums(void **state)
{
	(void)state;
	run_counted(many_sums);
}

static void test_messages(void **state)
{
	(void)state;
	run_counted(many_messages);
}

static void test_check(void **state)
{
	(void)state;
	line_up_layouts(2, check_many);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums), cmocka_unit_test(test_messages),
		                            cmocka_unit_test(test_check), cmocka_unit_test(test_idle),
		                            cmocka_unit_test(test_alone) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
