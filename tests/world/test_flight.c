/* SPDX-License-Identifier: MIT */
/* Many collectives in flight: more than there are lanes, on several comms, whose dependencies finish in another order
 * on each rank; and by one thread for all ranks. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COMMS = 3, CALLS = 40, LANES = 8 };

static void on_all_worlds(world_fn fn)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	for (int per_node = 0; per_node <= 2; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			world_run_at(sizes[i], per_node, 30000, fn, NULL);
}

static void shuffle(int *order, int n, unsigned seed)
{
	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int j, kept = order[i];

		seed = seed * 1664525u + 1013904223u;
		j = (int)((seed >> 8) % (unsigned)(i + 1));
		order[i] = order[j];
		order[j] = kept;
	}
}

/* Call k of comm c: sums of lengths from 1 to many; every fifth is a barrier, every seventh waits for nothing. */
static choir_status start(struct sum *sum, choir_comm *comm, int c, int k, cl_event *gate)
{
	static const size_t counts[] = { 1, 7, 1000, 70000 };
	choir_call call = CHOIR_CALL_INIT;

	call.cl_deps = gate;
	call.n_cl_deps = k % 7 != 0;
	if (k % 5 != 4)
		return sum_start(sum, comm, counts[k % 4], (float)(10 * c + k), &call, true);
	*sum = (struct sum){ 0 };
	return choir_barrier(comm, &call, &sum->event);
}

static void orders(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm *comms[COMMS] = { comm };
	static __thread struct sum sums[COMMS * CALLS];
	static __thread cl_event gates[COMMS * CALLS];
	static __thread int order[COMMS * CALLS];

	(void)arg;
	for (int c = 1; c < COMMS; c++)
		OK(choir_comm_split(comm, 0, c == 1 ? -rank : rank, &comms[c]));
	for (int k = 0; k < CALLS; k++)
		for (int c = 0; c < COMMS; c++) {
			gates[c * CALLS + k] = gate_make(choir_device_context(world->device));
			OK(start(&sums[c * CALLS + k], comms[c], c, k, &gates[c * CALLS + k]));
		}
	shuffle(order, COMMS * CALLS, (unsigned)rank + 1);
	for (int i = 0; i < COMMS * CALLS; i++) {
		gate_open(gates[order[i]], CL_COMPLETE);
		if (i % 16 == 3)
			(void)choir_event_wait(sums[order[i]].event, 0);
	}
	shuffle(order, COMMS * CALLS, (unsigned)rank + 99);
	for (int i = 0; i < COMMS * CALLS; i++) {
		OK(choir_event_wait(sums[order[i]].event, -1));
		if (sums[order[i]].send != NULL && !sum_is(&sums[order[i]], world->n))
			world_fail(world, rank, "orders: call %d has a wrong sum", order[i]);
		sum_free(&sums[order[i]]);
		clReleaseEvent(gates[order[i]]);
	}
	for (int c = 1; c < COMMS; c++)
		OK(choir_comm_destroy(comms[c]));
}

static void test_orders(void **state)
{
	(void)state;
	on_all_worlds(orders);
}

/* One thread, all ranks, calls of all in flight, ranks served in reverse. */
static void test_one_thread(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		struct sum sums[5][20];
		struct world world;

		config.ranks_per_node = per_node;
		world_begin(&world, 5, &config);
		for (int r = 4; r >= 0; r--)
			for (int k = 0; k < 20; k++)
				if (sum_start(&sums[r][k], world.comms[r], (size_t)(k * 1000 + 1), (float)k, NULL,
				              true) != CHOIR_SUCCESS)
					world_fail(&world, r, "start: %s", choir_last_error());
		for (int r = 0; r < 5; r++)
			for (int k = 19; k >= 0; k--) {
				if (choir_event_wait(sums[r][k].event, -1) != CHOIR_SUCCESS || !sum_is(&sums[r][k], 5))
					world_fail(&world, r, "call %d: %s", k, choir_last_error());
				sum_free(&sums[r][k]);
			}
		world_end(&world);
	}
}

/* Through slots, of all sizes: calls whose places in the ring overlap, started in another order on each rank.  Each
 * waits for a gate, so that one that was let in too early would overwrite what another has put and its peers have not
 * read. */
static void places(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { N = 24 };
	static const size_t counts[] = { 300000, 2000, 40000, 3, 300001, 100000 };
	static const char *const options[] = { "algorithm=twoshot", "algorithm=oneshot" };
	struct sum sums[N];
	cl_event gates[N];
	int order[N];

	(void)arg;
	for (int k = 0; k < N; k++) {
		choir_call call = CHOIR_CALL_INIT;

		gates[k] = gate_make(choir_device_context(world->device));
		call.cl_deps = &gates[k];
		call.n_cl_deps = 1;
		call.options = options[k % 6 == 1];
		OK(sum_start(&sums[k], comm, counts[k % 6], (float)k, &call, true));
	}
	shuffle(order, N, (unsigned)rank + 7);
	for (int i = 0; i < N; i++)
		if (order[i] != 0) {
			gate_open(gates[order[i]], CL_COMPLETE);
			(void)choir_event_wait(sums[order[i]].event, 1); /* as far as it gets now */
		}
	if (rank == 0) /* the others have put what they give to call 0: nobody may write there before it is over */
		IS(choir_event_wait(sums[9].event, 50), CHOIR_TIMEOUT);
	gate_open(gates[0], CL_COMPLETE);
	for (int k = 0; k < N; k++) {
		OK(choir_event_wait(sums[k].event, -1));
		CHECK(sum_is(&sums[k], world->n));
		sum_free(&sums[k]);
		clReleaseEvent(gates[k]);
	}
}

static void test_places(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 30000;
	for (int n = 2; n <= 5; n += 3)
		world_run(n, &config, places, NULL);
}

/* Collectives between nodes, and barriers, use no slots: those behind one that waits for a late rank take none from
 * it, and end before it. */
static void slotless(struct world *world, int rank, choir_comm *comm, void *arg)
{
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_call call = CHOIR_CALL_INIT;
	struct sum sums[LANES - 1] = { 0 };

	call.cl_deps = &gate;
	call.n_cl_deps = rank == world->n - 1;
	for (int k = 0; k < LANES - 1; k++) {
		if (arg == NULL)
			OK(sum_start(&sums[k], comm, 70000, (float)k, k == 0 ? &call : NULL, true));
		else
			OK(choir_barrier(comm, k == 0 ? &call : NULL, &sums[k].event));
	}
	for (int k = LANES - 2; k > 0; k--)
		OK(choir_event_wait(sums[k].event, 20000));
	IS(choir_event_wait(sums[0].event, 0), CHOIR_TIMEOUT);
	OK(choir_barrier(comm, NULL, NULL)); /* nobody's gate opens before all have looked */
	gate_open(gate, CL_COMPLETE);
	for (int k = 0; k < LANES - 1; k++) {
		OK(choir_event_wait(sums[k].event, -1));
		CHECK(arg != NULL || sum_is(&sums[k], world->n));
		sum_free(&sums[k]);
	}
	clReleaseEvent(gate);
}

static void test_slotless(void **state)
{
	static int barriers;

	(void)state;
	world_run_at(2, 1, 30000, slotless, NULL);
	world_run_at(3, 1, 30000, slotless, NULL);
	world_run_at(3, 0, 30000, slotless, &barriers);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_orders), cmocka_unit_test(test_one_thread),
		                            cmocka_unit_test(test_places), cmocka_unit_test(test_slotless) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
