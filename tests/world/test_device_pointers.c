/* SPDX-License-Identifier: MIT */
/* SVM and USM by plans on the device, on devices of one context: every collective that has such a plan, with memory of
 * one kind on all ranks and of another kind on each.  What is memory of the host goes by way of the host: its USM, and
 * SVM of a device that reaches all of the host's memory. */
#include "world/devices.h"
#include "world/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3 };

static const int moving[] = { ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, BROADCAST,
	                      REDUCE,    GATHER,         GATHERV,         SCATTER,   SCAN,       EXSCAN };
enum { N_MOVING = sizeof moving / sizeof *moving };

struct crowd {
	struct dense_call call;
	const char *by; /* the algorithm that the event must name; NULL = any but `device` */
	struct dense_flight flights[RANKS];
};

static void fly(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct crowd *crowd = arg;
	struct dense_flight *flight = &crowd->flights[rank];
	char text[FLIGHT_TEXT_BYTES];
	const char *algorithm;

	flight_start(flight, world, comm, NULL);
	flight_land(flight, world);
	algorithm = choir_event_algorithm(flight->event);
	if ((strcmp(algorithm, "device") == 0) != (crowd->by != NULL))
		world_fail(world, rank, "%s: by %s", flight_text(flight, text), algorithm);
}

/* kinds: of rank 0's memory, of rank 1's and so on. */
static void run(struct world *world, const enum memory_kind kinds[RANKS], const struct dense_call *call, const char *by)
{
	struct crowd crowd = { .call = *call, .by = by };

	for (int rank = 0; rank < RANKS; rank++) {
		memory_choose(kinds[rank]);
		flight_make(&crowd.flights[rank], world, rank, call);
	}
	memory_choose(MEMORY_MEM);
	world_threads(world, fly, &crowd);
	for (int rank = 0; rank < RANKS; rank++)
		flight_free(&crowd.flights[rank]);
}

static struct dense_call call_of(int what, size_t count, bool in_place)
{
	return (struct dense_call){ .what = &collectives[what],
		                    .dtype = CHOIR_F32,
		                    .op = count % 2 || collectives[what].prefix ? CHOIR_OP_SUM : CHOIR_OP_MEAN,
		                    .n = RANKS,
		                    .root = (int)(count % RANKS),
		                    .count = count,
		                    .in_place = in_place && what != ALLTOALL,
		                    .device = true,
		                    .options = "algorithm=device" };
}

static void all_collectives(struct world *world, const enum memory_kind kinds[RANKS], const char *by)
{
	static const size_t counts[] = { 1, 1000, 20003 };

	for (int m = 0; m < N_MOVING; m++)
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
			struct dense_call call = call_of(moving[m], counts[c], ((size_t)m + c) % 2);

			run(world, kinds, &call, by);
		}
}

static bool reaches_the_host(const struct world *world)
{
	cl_device_svm_capabilities svm = 0;

	clGetDeviceInfo(choir_device_id(world->device), CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL);
	return (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0;
}

static bool are_there(const struct world *world, const enum memory_kind kinds[RANKS])
{
	for (int rank = 0; rank < RANKS; rank++) {
		const char *why = memory_lacks(world->device, kinds[rank]);
		bool svm = kinds[rank] == MEMORY_SVM_COARSE || kinds[rank] == MEMORY_SVM_FINE;

		if (why == NULL && svm && reaches_the_host(world))
			why = "memory of the host";
		if (why != NULL) {
			print_message("%s: %s\n", memory_kind_names[kinds[rank]], why);
			return false;
		}
	}
	return true;
}

static void on_device(const enum memory_kind kinds[RANKS])
{
	struct world world;

	devices_begin(&world, RANKS, 0);
	if (are_there(&world, kinds))
		all_collectives(&world, kinds, "device");
	world_end(&world);
}

static void test_one_kind(void **state)
{
	(void)state;
	for (enum memory_kind kind = MEMORY_SVM_COARSE; kind < MEMORY_MIXED; kind++)
		if (kind != MEMORY_USM_HOST)
			on_device((enum memory_kind[]){ kind, kind, kind });
}

static void test_other_kinds(void **state)
{
	(void)state;
	on_device((enum memory_kind[]){ MEMORY_MEM, MEMORY_SVM_COARSE, MEMORY_MEM });
	on_device((enum memory_kind[]){ MEMORY_USM_DEVICE, MEMORY_SVM_COARSE, MEMORY_MEM });
	on_device((enum memory_kind[]){ MEMORY_USM_DEVICE, MEMORY_MEM, MEMORY_USM_SHARED });
	on_device((enum memory_kind[]){ MEMORY_MEM, MEMORY_USM_SHARED, MEMORY_SVM_FINE });
}

/* Copies in several pieces, and reductions in chunks. */
static void test_long(void **state)
{
	static const enum memory_kind all_kinds[][RANKS] = { { MEMORY_SVM_COARSE, MEMORY_MEM, MEMORY_SVM_COARSE },
		                                             { MEMORY_USM_DEVICE, MEMORY_MEM, MEMORY_MEM } };
	struct dense_call gather = call_of(ALLGATHER, 700001, false), reduce = call_of(ALLREDUCE, 3000, true);
	struct world world;

	(void)state;
	devices_begin(&world, RANKS, 640);
	for (int i = 0; i < 2; i++)
		if (are_there(&world, all_kinds[i])) {
			run(&world, all_kinds[i], &gather, "device");
			run(&world, all_kinds[i], &reduce, "device");
		}
	world_end(&world);
}

static void test_of_the_host(void **state)
{
	static const enum memory_kind kinds[RANKS] = { MEMORY_MEM, MEMORY_USM_HOST, MEMORY_MEM };
	struct dense_call call = call_of(ALLREDUCE, 20003, true);
	struct world world;

	(void)state;
	devices_begin(&world, RANKS, 0);
	if (are_there(&world, kinds))
		run(&world, kinds, &call, NULL);
	world_end(&world);
}

/* An argument: the name of one test. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_kind), cmocka_unit_test(test_other_kinds),
		                            cmocka_unit_test(test_long), cmocka_unit_test(test_of_the_host) };

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("device_pointers", tests, devices_open, devices_close);
}
