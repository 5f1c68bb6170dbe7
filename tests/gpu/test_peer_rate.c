/* SPDX-License-Identifier: MIT */
/* Two devices of a context: their ranks copy from one to the other if that is no slower than by way of the host, as was
 * measured when their comm was made.  The argument: "near" or "far", which the model's options make them. */
#include "dev/device_impl.h"
#include "exec/comm.h"
#include "world/devices.h"
#include "world/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool copies;

static void sum(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct dense_call c = { .what = &collectives[ALLREDUCE],
		                .dtype = CHOIR_F32,
		                .op = CHOIR_OP_SUM,
		                .count = 1 << 20,
		                .n = world->n,
		                .device = true };
	struct dense_flight flight;
	const char *algorithm;

	(void)unused;
	flight_make(&flight, world, rank, &c);
	flight_start(&flight, world, comm, NULL);
	flight_land(&flight, world);
	algorithm = choir_event_algorithm(flight.event);
	if ((strcmp(algorithm, "device") == 0) != copies)
		world_fail(world, rank, "it was done by %s, at %u %% of the bus's time", algorithm, comm->peer_percent);
	flight_free(&flight);
}

/* Those of the model: on a busy machine the probe has not the time for all. */
static void set_bus_rates(void)
{
	struct world world;

	devices_begin(&world, 2, 0);
	for (int r = 0; r < world.n; r++)
		world.comms[r]->device->rates = (struct device_rates){
			.measured = true, .read_us = 300, .write_us = 300, .read_GBps = 1, .write_GBps = 1
		};
	world_end(&world);
}

static void test_choice(void **state)
{
	struct world world;

	(void)state;
	set_bus_rates();
	devices_begin_measured(&world, 2);
	assert_true(world.comms[0]->peer_percent > 0);
	assert_true(world.comms[0]->peer_percent == world.comms[1]->peer_percent);
	world_threads(&world, sum, NULL);
	world_end(&world);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_choice) };

	if (argc != 2)
		return 2;
	copies = strcmp(argv[1], "near") == 0;
	return cmocka_run_group_tests_name(argv[1], tests, devices_open, devices_close);
}
