/* SPDX-License-Identifier: MIT */
/* Lists of tensors on devices of one context, by plans on the device: to the bit, with no byte between host and device,
 * and by way of the host where one tensor of one rank is there. */
#include "quick.h"
#include "world/bus.h"
#include "world/devices.h"
#include "world/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 5 };

static void on_worlds(uint64_t device_bytes, world_fn fn)
{
	static const int sizes[] = { 2, 3, MOST_RANKS };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct world world;

		devices_begin(&world, sizes[i], device_bytes);
		world_threads(&world, fn, NULL);
		world_end(&world);
	}
}

/* --- allreduce: all types, in place and apart, empty tensors --- */

static void lists(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_PREMUL_SUM, CHOIR_OP_MEAN };

	(void)unused;
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		struct tensors_shape s = { .n = 23,
			                   .low = 1,
			                   .high = 700,
			                   .where = TENSORS_DEVICE,
			                   .op = ops[i],
			                   .one_type = quick_wanted() || i > 0 ? CHOIR_F32 : -1,
			                   .options = "algorithm=device",
			                   .with_event = i % 2 == 0,
			                   .kept = i % 2 == 1 };

		tensors_run(world, rank, comm, &s);
	}
}

static void test_lists(void **state)
{
	(void)state;
	on_worlds(0, lists);
}

/* Device memory of a few cache lines: pieces of a tensor in many chunks. */
static void test_chunks(void **state)
{
	(void)state;
	on_worlds(1280, lists);
}

/* --- what moves between host and device --- */

struct crowd {
	struct tensors_shape shape;
	struct tensors sets[MOST_RANKS];
};

static void make(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct crowd *crowd = arg;

	tensors_make(&crowd->sets[rank], comm, world->device, &crowd->shape, (struct tensors_share){ NULL, 0 });
	tensors_fill(&crowd->sets[rank], crowd->shape.op, 0);
}

static void fly(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct crowd *crowd = arg;

	OK(tensors_call(&crowd->sets[rank], comm, &crowd->shape));
}

static void land(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct crowd *crowd = arg;

	(void)comm;
	if (!tensors_are_right(&crowd->sets[rank]))
		world_fail(world, rank, "wrong");
	tensors_free(&crowd->sets[rank]);
}

/* Whether a call on that list moves bytes between host and device.  one_near: the second tensor of the last rank is
 * host memory. */
static bool crosses_bus(struct tensors_shape shape, bool one_near)
{
	static struct crowd crowd;
	struct world world;
	uint64_t moved;

	crowd.shape = shape;
	devices_begin(&world, 3, 0);
	world_threads(&world, make, &crowd);
	if (one_near) {
		struct tensors *set = &crowd.sets[2];

		set->list[1].send = choir_host(set->send_at[1]);
	}
	bus_reset();
	world_threads(&world, fly, &crowd);
	moved = bus_down() + bus_up();
	world_threads(&world, land, &crowd);
	world_end(&world);
	return moved > 0;
}

/* The library's own choice for a list that is long enough, of several buckets. */
static void test_bytes(void **state)
{
	struct tensors_shape s = { .n = 40,
		                   .low = 20000,
		                   .high = 30000,
		                   .where = TENSORS_DEVICE,
		                   .op = CHOIR_OP_SUM,
		                   .one_type = CHOIR_F32,
		                   .with_event = true };

	(void)state;
	assert_false(crosses_bus(s, false));
	s.options = "bucket_bytes=1000000";
	assert_false(crosses_bus(s, false));
	s.options = "algorithm=device";
	s.low = 1;
	s.high = 300;
	assert_false(crosses_bus(s, false));
	assert_true(crosses_bus(s, true));
}

/* An argument: the name of one test. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lists), cmocka_unit_test(test_chunks),
		                            cmocka_unit_test(test_bytes) };

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("device_lists", tests, devices_open, devices_close);
}
