/* SPDX-License-Identifier: MIT */
/* choir_sparse_allreduce through the public face, on worlds of 1, 2, 3, 5 and 8 ranks: random cases against the plain
 * reference, several in flight among dense calls, capacities too small, callbacks that fail. */
#include "world/gate.h"
#include "world/sparse_flight.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { FLIGHT = 6, MOST_PAIRS = 3000 };

/* Several in flight, a dense sum between any two. */
static void flight(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct sparse_call *calls = arg;
	struct sparse_flight flights[FLIGHT];
	struct sum sums[FLIGHT];

	for (int i = 0; i < FLIGHT; i++) {
		OK(sparse_flight_start(&flights[i], world, rank, comm, &calls[i],
		                       (enum way)((calls[i].seed + (uint64_t)rank * (i % 2)) % N_WAYS), CHOIR_SUCCESS));
		OK(sum_start(&sums[i], comm, 1000, (float)i, NULL, true));
	}
	for (int i = FLIGHT - 1; i >= 0; i--) {
		OK(choir_event_wait(sums[i].event, -1));
		CHECK(sum_is(&sums[i], world->n));
		sum_free(&sums[i]);
	}
	for (int i = 0; i < FLIGHT; i++)
		sparse_flight_land(&flights[i]);
}

static void test_flight(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 5; round++)
		for (int per_node = 0; per_node <= 2; per_node++)
			for (size_t i = 0; i < 5; i++) {
				choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
				struct sparse_call calls[FLIGHT];

				config.ranks_per_node = per_node;
				config.deadline_ms = 30000;
				for (int k = 0; k < FLIGHT; k++)
					sparse_call_draw(&calls[k], seed++, sizes[i], MOST_PAIRS);
				world_run(sizes[i], &config, flight, calls);
				for (int k = 0; k < FLIGHT; k++)
					sparse_call_free(&calls[k]);
			}
}

/* A callback that fails, or aborts the comm while it runs: its own event fails, the comm goes on; or all fail, and
 * nothing hangs. */
static void failing(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct sparse_call *t = arg;
	struct sparse_flight s;

	OK(sparse_flight_start(&s, world, rank, comm, t, COMPLETES, rank == 0 ? CHOIR_ARGUMENT : CHOIR_SUCCESS));
	IS(choir_event_wait(s.event, -1), rank == 0 ? CHOIR_ARGUMENT : CHOIR_SUCCESS);
	CHECK(rank != 0 || says(choir_event_error(s.event), "choir_event_wait"));
	CHECK(s.calls == 1);
	OK(choir_comm_status(comm));
	CHECK(sum_works(comm, 100));
	sparse_flight_free(&s);
}

static choir_status abort_inside(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                                 size_t val_count, choir_dtype val_dtype)
{
	(void)ind, (void)ind_count, (void)ind_dtype, (void)val, (void)val_count, (void)val_dtype;
	return choir_comm_abort(ctx);
}

static void aborting(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static int32_t indices[2] = { 4, 2 };
	static float rows[2] = { 1, 2 };
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_event *event;

	(void)arg;
	attr.completion_fn = abort_inside;
	attr.fn_ctx = comm;
	OK(choir_sparse_allreduce(comm, choir_host(indices), 2, choir_host(rows), 2, choir_none(), NULL, choir_none(),
	                          NULL, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, &event));
	IS(choir_event_wait(event, -1), CHOIR_ABORTED);
	IS(choir_barrier(comm, NULL, NULL), CHOIR_ABORTED);
	choir_event_release(event);
}

static void test_callbacks(void **state)
{
	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		for (int n = 1; n <= 3; n++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
			struct sparse_call t;

			config.ranks_per_node = per_node;
			config.deadline_ms = 20000;
			sparse_call_draw(&t, 1000, n, MOST_PAIRS);
			world_run(n, &config, failing, &t);
			world_run(n, &config, aborting, NULL);
			sparse_call_free(&t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_flight), cmocka_unit_test(test_callbacks) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
