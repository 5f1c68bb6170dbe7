/* SPDX-License-Identifier: MIT */
/* Thousands of calls in flight: a driver looks at those that can move, not at the others, and calls that overtake
 * others still end. */
#include "exec/engine.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CALLS = 4096, MOST_LOOKS = 2 * 16 + COMM_LANES, OVERTAKEN = 40 };

/* Looks at runs in one drive of an engine: here, and the most of any thread. */
static _Thread_local int looks;
static _Atomic int most_looks;

bool __real_run_advance(struct run *run);
bool __wrap_run_advance(struct run *run);
bool __real_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p);
bool __wrap_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p);

bool __wrap_run_advance(struct run *run)
{
	looks++;
	return __real_run_advance(run);
}

bool __wrap_engine_drive(struct choir_comm *comm, bool messages, struct due_job *due_p)
{
	int most = atomic_load(&most_looks);
	bool moved;

	looks = 0;
	moved = __real_engine_drive(comm, messages, due_p);
	while (looks > most && !atomic_compare_exchange_weak(&most_looks, &most, looks))
		;
	return moved;
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
	for (int k = 0; k < CALLS; k++) {
		send[k] = k + rank;
		OK(choir_allreduce(comm, choir_host(&send[k]), choir_host(&recv[k]), 1, CHOIR_I32, CHOIR_OP_SUM, NULL,
		                   &events[k]));
	}
	land(world, rank, events);
	for (int k = 0; k < CALLS; k++)
		CHECK(recv[k] == 2 * k + 1);
	free(events);
	free(send);
	free(recv);
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

static void run_counted(world_fn fn)
{
	for (int per_node = 1; per_node <= 2; per_node++) {
		atomic_store(&most_looks, 0);
		line_up_run(2, per_node, 30000, fn, NULL);
		assert_in_range(atomic_load(&most_looks), 1, MOST_LOOKS);
	}
}

static void test_sums(void **state) { (void)state; run_counted(many_sums); }
static void test_messages(void **state) { (void)state; run_counted(many_messages); }

/* The last of many sends waits for nothing, those before it for a gate that opens when the last one has come. */
static void overtake(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_event *events[OVERTAKEN + 1];
	int numbers[OVERTAKEN + 1] = { 0 };
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_call call = CHOIR_CALL_INIT;

	(void)arg;
	call.cl_deps = &gate;
	for (int k = 0; k <= OVERTAKEN; k++) {
		call.n_cl_deps = k < OVERTAKEN;
		if (rank == 0) {
			numbers[k] = k + 1;
			OK(choir_send(comm, choir_host(&numbers[k]), 1, CHOIR_I32, 1, &call, &events[k]));
		} else {
			OK(choir_recv(comm, choir_host(&numbers[k]), 1, CHOIR_I32, 0, NULL, &events[k]));
		}
	}
	OK(choir_event_wait(events[OVERTAKEN], 10000));
	line_up();
	gate_open(gate, CL_COMPLETE);
	for (int k = 0; k <= OVERTAKEN; k++) {
		OK(choir_event_wait(events[k], -1));
		CHECK(numbers[k] == k + 1);
		choir_event_release(events[k]);
	}
	clReleaseEvent(gate);
}

static void test_overtake(void **state)
{
	(void)state;
	line_up_layouts(2, overtake);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums), cmocka_unit_test(test_messages),
		                            cmocka_unit_test(test_overtake) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
