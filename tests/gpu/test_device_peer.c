/* SPDX-License-Identifier: MIT */
/* The bytes that the plans on the device copy over the link between the devices, of ranks with a device each, are those
 * that the algorithms promise: of allreduce 2(n-1)/n of a rank's bytes for each rank. */
#include "exec/comm.h"
#include "gpu/crossings.h"
#include "world/devices.h"
#include "world/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 3, BLOCK = 4096 }; /* elements, in each of n blocks */

/* Blocks that each rank gives each other one, and the root besides. */
static const struct row {
	int what;
	bool counts_all; /* the call's count is that of all blocks */
	int blocks, to_root;
} rows[] = { { ALLREDUCE, true, 2, 0 }, { REDUCE_SCATTER, false, 1, 0 }, { ALLGATHER, false, 1, 0 },
	     { ALLTOALL, false, 1, 0 }, { BROADCAST, true, 1, 0 }, /* all by the root: n blocks to each other rank */
	     { REDUCE, true, 1, 1 } };

static uint64_t crossed(const struct world *world)
{
	struct crossings c = { .peer = 0 };

	assert_true(crossings_get(choir_device_id(world->device), &c));
	return c.peer;
}

static void fly(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct dense_flight *flight = (struct dense_flight *)arg + rank;

	flight_start(flight, world, comm, NULL);
	OK(choir_event_wait(flight->event, -1));
	if (strcmp(choir_event_algorithm(flight->event), "device") != 0)
		world_fail(world, rank, "by %s", choir_event_algorithm(flight->event));
}

static void land(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct dense_flight *flight = (struct dense_flight *)arg + rank;

	(void)comm;
	flight_land(flight, world);
	flight_free(flight);
}

/* Each rank's memory is at home on its own device. */
static void make(struct world *world, struct dense_flight *flights, const struct dense_call *call)
{
	choir_device *device = world->device;

	for (int r = 0; r < world->n; r++) {
		world->device = world->comms[r]->device;
		flight_make(&flights[r], world, r, call);
	}
	world->device = device;
}

static void compare(struct world *world, const struct row *row)
{
	struct dense_flight flights[MOST_RANKS];
	int n = world->n, blocks = n * (n - 1) * row->blocks + (n - 1) * row->to_root;
	uint64_t before, bytes;
	struct dense_call call = { .what = &collectives[row->what],
		                   .dtype = CHOIR_F32,
		                   .op = CHOIR_OP_SUM,
		                   .n = world->n,
		                   .count = row->counts_all ? (size_t)world->n * BLOCK : BLOCK,
		                   .device = true,
		                   .options = "algorithm=device" };

	make(world, flights, &call);
	before = crossed(world);
	world_threads(world, fly, flights);
	bytes = crossed(world) - before;
	world_threads(world, land, flights);
	if (bytes != (uint64_t)blocks * BLOCK * sizeof(float))
		fail_msg("%s of %d ranks: %llu bytes between the devices, not %d blocks", call.what->name, n,
		         (unsigned long long)bytes, blocks);
}

static void bytes_are_those_promised(void **state)
{
	(void)state;
	for (int n = 2; n <= MOST_RANKS; n++) {
		struct world world;

		devices_begin(&world, n, 0);
		for (int r = 1; r < n; r++)
			assert_ptr_not_equal(world.comms[r]->device, world.comms[r - 1]->device);
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			compare(&world, &rows[i]);
		world_end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bytes_are_those_promised) };

	return cmocka_run_group_tests_name("device_peer", tests, devices_open, devices_close);
}
