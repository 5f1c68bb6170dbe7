/* SPDX-License-Identifier: MIT */
/* Ranks of one process whose devices share a context: the plans on the device (Note [device plans]), on all devices of
 * the platform or on sub-devices of its only one, of class stage. */
#include "base/dtype.h"
#include "dev/device_impl.h"
#include "quick.h"
#include "world/devices.h"
#include "world/flight.h"
#include "world/transfers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- the calls --- */

enum { MOST_RANKS = 5 };

static void on_worlds(uint64_t device_bytes, world_fn fn, void *arg)
{
	static const int sizes[] = { 1, 2, 3, 5 };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct world world;

		devices_begin(&world, sizes[i], device_bytes);
		world_threads(&world, fn, arg);
		world_end(&world);
	}
}

static const int moving[] = { ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, BROADCAST,
	                      REDUCE,    GATHER,         GATHERV,         SCATTER,   SCAN,       EXSCAN };
enum { N_MOVING = sizeof moving / sizeof *moving };

/* The call, by that algorithm, gives the right bytes; by: the algorithm that the event must name, NULL = any. */
static void run_by(struct world *world, int rank, choir_comm *comm, const struct dense_call *call, const char *by)
{
	struct dense_flight flight;
	char text[FLIGHT_TEXT_BYTES];

	flight_make(&flight, world, rank, call);
	flight_start(&flight, world, comm, NULL);
	flight_land(&flight, world);
	if (flight.event != NULL && by != NULL && strcmp(choir_event_algorithm(flight.event), by) != 0)
		world_fail(world, rank, "%s: by %s, not %s", flight_text(&flight, text),
		           choir_event_algorithm(flight.event), by);
	flight_free(&flight);
}

/* In place each rank of an alltoall writes over what its peers would read. */
static const char *device_or_slots(const struct dense_call *c)
{
	return c->what == &collectives[ALLTOALL] && c->in_place && c->count > 0 ? NULL : "device";
}

static void all_sizes(struct world *world, int rank, choir_comm *comm, void *most)
{
	const size_t n = (size_t)world->n, sizes[] = { 0, 1, n - 1, 3 * n + 1, 1000, 70001 };

	for (int m = 0; m < N_MOVING && world->n > 1; m++)
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
			if (sizes[s] <= *(size_t *)most) {
				struct dense_call c = { .what = &collectives[moving[m]],
					                .dtype = CHOIR_F32,
					                .op = s % 2 || collectives[moving[m]].prefix ? CHOIR_OP_SUM
					                                                             : CHOIR_OP_MEAN,
					                .n = world->n,
					                .root = (int)(s % n),
					                .count = sizes[s],
					                .in_place = (s + (size_t)m + n / 2) % 2,
					                .device = true,
					                .options = "algorithm=device" };

				run_by(world, rank, comm, &c, device_or_slots(&c));
			}
}

static void test_sizes(void **state)
{
	size_t most = SIZE_MAX;

	(void)state;
	on_worlds(0, all_sizes, &most);
}

/* Device memory of a few cache lines: many chunks, the last one short. */
static void test_chunks(void **state)
{
	size_t most = 1000;

	(void)state;
	on_worlds(640, all_sizes, &most);
}

/* Half of them on 2 and 3 ranks, half on 5: each is a program to build on each device.  Quick: a quarter, since ring 2
 * tries the kernels of all. */
static void all_types(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (choir_dtype dtype = 0; choir_dtype_bytes(dtype) > 0 && world->n > 1; dtype++)
		for (choir_op op = 0; op < N_OPS; op++) {
			struct dense_call c = { .what = &collectives[op % 2 ? ALLREDUCE : REDUCE_SCATTER],
				                .dtype = dtype,
				                .op = op,
				                .n = world->n,
				                .count = 1027,
				                .in_place = dtype % 2,
				                .device = true,
				                .options = "algorithm=device" };

			if (quick_wanted() && (dtype + op) / 2 % 4 != 0)
				continue;
			if (op == CHOIR_OP_LOCAL || op == CHOIR_OP_PREMUL_SUM) /* test_factors */
				continue;
			if (((int)(dtype + op) + world->n / 2) % 2 == 0 &&
			    choir_supports(comm, c.what->name, dtype, op, choir_none()) == CHOIR_SUCCESS) {
				run_by(world, rank, comm, &c, "device");
				c.what = &collectives[op % 2 ? SCAN : EXSCAN];
				if (choir_supports(comm, c.what->name, dtype, op, choir_none()) == CHOIR_SUCCESS)
					run_by(world, rank, comm, &c, "device");
			}
		}
}

static void test_types(void **state)
{
	(void)state;
	on_worlds(0, all_types, NULL);
}

/* --- premul_sum: each rank's own factor --- */

static double factor_of(int rank)
{
	static const double factors[MOST_RANKS] = { 0.5, -2, 1, 0.25, 4 };

	return factors[rank];
}

/* All values are whole numbers over 4, so every order and rounding is exact. */
static float product_of(int rank, size_t i)
{
	return (float)factor_of(rank) * (float)((size_t)rank + i % 16);
}

/* Of the ranks below end. */
static void check_products(struct world *world, int rank, int end, const float *got, size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		float want = 0;

		for (int r = 0; r < end; r++)
			want += product_of(r, first + i);
		if (got[i] != want) {
			world_fail(world, rank, "element %zu of %zu: %g, not %g", i, count, (double)got[i],
			           (double)want);
			return;
		}
	}
}

static choir_status start_products(choir_comm *comm, int what, choir_buffer send, choir_buffer recv, size_t count,
                                   const choir_call *call, choir_event **event_p)
{
	switch (what) {
	case REDUCE_SCATTER:
		return choir_reduce_scatter(comm, send, recv, count, CHOIR_F32, CHOIR_OP_PREMUL_SUM, call, event_p);
	case SCAN:
		return choir_scan(comm, send, recv, count, CHOIR_F32, CHOIR_OP_PREMUL_SUM, call, event_p);
	case EXSCAN:
		return choir_exscan(comm, send, recv, count, CHOIR_F32, CHOIR_OP_PREMUL_SUM, call, event_p);
	default:
		return choir_allreduce(comm, send, recv, count, CHOIR_F32, CHOIR_OP_PREMUL_SUM, call, event_p);
	}
}

static void multiply(struct world *world, int rank, choir_comm *comm, size_t count, int what)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	struct memory in, out;
	size_t n = (size_t)world->n, received = what == REDUCE_SCATTER ? count / n : count;
	int end = what == SCAN ? rank + 1 : what == EXSCAN ? rank : world->n;

	CHECK(memory_make(&in, world->device, true, count * sizeof(float), 4));
	CHECK(memory_make(&out, world->device, true, received * sizeof(float), 8));
	for (size_t i = 0; i < count; i++)
		((float *)(void *)memory_payload(&in))[i] = (float)((size_t)rank + i % 16);
	memory_push(&in);
	call.factor = factor_of(rank);
	OK(start_products(comm, what, in.buffer, out.buffer, received, &call, &event));
	OK(choir_event_wait(event, -1));
	if (strcmp(choir_event_algorithm(event), "device") != 0)
		world_fail(world, rank, "%zu elements by %s", count, choir_event_algorithm(event));
	choir_event_release(event);
	memory_pull(&out);
	if (end > 0)
		check_products(world, rank, end, (float *)(void *)memory_payload(&out),
		               what == REDUCE_SCATTER ? received * (size_t)rank : 0, received);
	memory_free(&in);
	memory_free(&out);
}

static void own_factors(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const int whats[] = { ALLREDUCE, REDUCE_SCATTER, SCAN, EXSCAN };
	size_t count = 40000 * (size_t)world->n;

	(void)unused;
	for (int i = 0; i < 4 && world->n > 1; i++)
		multiply(world, rank, comm, count, whats[i]);
}

static void test_factors(void **state)
{
	(void)state;
	on_worlds(0, own_factors, NULL);
	on_worlds(100000, own_factors, NULL); /* chunks */
}

/* The library's own choice; a buffer of the host on one rank sends all of them through slots. */
static void choices(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int m = 0; m < N_MOVING && world->n > 1; m++) {
		struct dense_call c = { .what = &collectives[moving[m]],
			                .dtype = CHOIR_I32,
			                .op = CHOIR_OP_MAX,
			                .n = world->n,
			                .count = 70001,
			                .device = true };

		run_by(world, rank, comm, &c, "device");
		c.device = rank != 1;
		c.root = 1;
		c.options = "algorithm=device";
		run_by(world, rank, comm, &c, NULL);
	}
}

static void test_choices(void **state)
{
	(void)state;
	on_worlds(0, choices, NULL);
}

/* --- what moves between host and device --- */

enum { CALLS = N_MOVING }; /* in flight at once, of three sizes */

struct crowd {
	struct dense_flight flights[MOST_RANKS][CALLS];
};

static void make(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct crowd *crowd = arg;

	(void)comm;
	for (int i = 0; i < CALLS; i++) {
		struct dense_call c = { .what = &collectives[moving[i]],
			                .dtype = CHOIR_F32,
			                .op = CHOIR_OP_SUM,
			                .n = world->n,
			                .count = i % 3 == 0   ? 1000003
			                         : i % 3 == 1 ? 40001
			                                      : 33,
			                .in_place = i % 2 && moving[i] != ALLTOALL,
			                .device = true,
			                .options = i % 2 ? "algorithm=device" : NULL };

		if (c.count < 100)
			c.options = "algorithm=device";
		flight_make(&crowd->flights[rank][i], world, rank, &c);
	}
}

static void fly(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct crowd *crowd = arg;

	for (int i = 0; i < CALLS; i++)
		flight_start(&crowd->flights[rank][i], world, comm, NULL);
	for (int i = 0; i < CALLS; i++)
		OK(choir_event_wait(crowd->flights[rank][i].event, -1));
}

static void land(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct crowd *crowd = arg;

	(void)comm;
	for (int i = 0; i < CALLS; i++) {
		flight_land(&crowd->flights[rank][i], world);
		flight_free(&crowd->flights[rank][i]);
	}
}

static void test_no_transfers(void **state)
{
	static struct crowd crowd;
	struct world world;
	long counted;

	(void)state;
	devices_begin(&world, 3, 0);
	for (int round = 0; round < 2; round++) { /* the second one finds the memory of the first */
		world_threads(&world, make, &crowd);
		atomic_store(&transfers, 0);
		world_threads(&world, fly, &crowd);
		counted = atomic_load(&transfers);
		world_threads(&world, land, &crowd);
		assert_int_equal(counted, 0);
		assert_true(atomic_load(&transfers) > 0);
	}
	world_end(&world);
}

/* --- where the library's memory is --- */

static _Atomic int placed, moved; /* migrations of what is new, of what has content */

cl_int __real_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n, const cl_mem *mems,
                                         cl_mem_migration_flags how, cl_uint n_deps, const cl_event *deps,
                                         cl_event *event_p);
cl_int __wrap_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n, const cl_mem *mems,
                                         cl_mem_migration_flags how, cl_uint n_deps, const cl_event *deps,
                                         cl_event *event_p);
cl_int __wrap_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n, const cl_mem *mems,
                                         cl_mem_migration_flags how, cl_uint n_deps, const cl_event *deps,
                                         cl_event *event_p)
{
	atomic_fetch_add((how & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) != 0 ? &placed : &moved, 1);
	return __real_clEnqueueMigrateMemObjects(queue, n, mems, how, n_deps, deps, event_p);
}

static void sums(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct dense_call c = { .what = &collectives[ALLREDUCE],
		                .dtype = CHOIR_F32,
		                .op = CHOIR_OP_SUM,
		                .n = world->n,
		                .count = 50001,
		                .device = true,
		                .options = "algorithm=device" };

	(void)unused;
	run_by(world, rank, comm, &c, "device");
}

/* When it is made, on each rank's device, and not again; nowhere if the context has one device. */
static void test_memory_is_placed(void **state)
{
	struct world world;
	int expected;

	(void)state;
	devices_begin(&world, 3, 0); /* which places memory to time copies */
	atomic_store(&placed, 0);
	expected = world.device->facts.alone ? 0 : 3 * 2; /* scratch and a slot */
	world_threads(&world, sums, NULL);
	assert_int_equal(atomic_load(&placed), expected);
	for (int i = 0; i < 3; i++)
		world_threads(&world, sums, NULL);
	assert_int_equal(atomic_load(&placed), expected);
	assert_int_equal(atomic_load(&moved), 0);
	world_end(&world);
}

/* An argument: the name of one test. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes),           cmocka_unit_test(test_chunks),
		                            cmocka_unit_test(test_types),           cmocka_unit_test(test_factors),
		                            cmocka_unit_test(test_choices),         cmocka_unit_test(test_no_transfers),
		                            cmocka_unit_test(test_memory_is_placed) };

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("device", tests, devices_open, devices_close);
}
