/* SPDX-License-Identifier: MIT */
/* A rank alone has nobody to exchange with: every option of dense calls is read, and every algorithm works. */
#include "algo/algo.h"
#include "world/flight.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SHORT = 300, LONG = 70001 };

static const char *const options[] = {
	"algorithm=auto",
	"method=auto",
	"order=ranks",
	"order=any",
	"collectiveImplementation=Auto",
	"collectiveImplementation=Syncful",
	"collectiveImplementation=Syncless",
	"collectiveImplementation=Hybrid",
	"useSynclessCollectives=true",
	"useSynclessCollectives=false",
	"useSynclessCollectives=hybrid",
	"useSynclessCollectives=auto",
	"link=auto-link",
	"link=ipu-link",
	"link=gw-link",
	"link=node",
	"link=network",
	"topology=ring-on-line",
	"topology=peripheral-ring",
	"topology=rung-ring-2",
	"topology=rung-ring-8",
	"maxBytesPerTile=4096",
	"chunk_bytes=4096",
	"bucket_bytes=1",
	"result=auto",
	"result=atomic",
	"syncful.maxBroadcastSize=0",
	"syncful.maxBroadcastSize=100000",
	"syncful.useOptimisedLayout=false",
	"syncful.useOptimisedLayout=true",
	"method=ring, topology=rung-ring-8, link=network, syncful.useOptimisedLayout=false, chunk_bytes=4096",
};
enum { N_OPTIONS = sizeof options / sizeof *options };

/* As a call's option each is for some collectives only, on any number of ranks. */
static bool takes(const struct collective_row *what, const char *text)
{
	enum collective collective = 0;

	while (collective < N_COLLECTIVES && strcmp(collective_name(collective), what->name) != 0)
		collective++;
	if (collective == N_COLLECTIVES) /* sendrecv */
		collective = COLLECTIVE_SEND;
	if (strstr(text, "atomic") != NULL)
		return !collective_has(collective, TRAIT_NEVER_IN_PLACE);
	return strstr(text, "method=ring") == NULL || algo_find(collective, "ring") != NULL;
}

/* On the host and on the device, apart and in place. */
static void run(struct world *world, choir_comm *comm, const struct collective_row *what, const char *text)
{
	static const size_t counts[] = { 0, 1, SHORT, LONG };

	for (int k = 0; k < 16; k++) {
		struct dense_call call = { .what = what,
			                   .dtype = k % 2 ? CHOIR_F32 : CHOIR_BF16,
			                   .op = CHOIR_OP_SUM,
			                   .n = 1,
			                   .count = counts[k / 4],
			                   .in_place = k & 1,
			                   .device = k & 2,
			                   .options = text };
		struct dense_flight flight;

		flight_make(&flight, world, 0, &call);
		if (world_is(world, 0, flight_call(&flight, comm, NULL, NULL), CHOIR_SUCCESS,
		             text != NULL ? text : "none"))
			flight_compare(&flight, world);
		flight_free(&flight);
	}
}

static void of_calls(struct world *world, int rank, choir_comm *comm, void *arg)
{
	char text[80];

	(void)rank;
	(void)arg;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		const struct collective_row *row = &collectives[what];

		for (size_t i = 0; i < N_OPTIONS; i++)
			if (takes(row, options[i]))
				run(world, comm, row, options[i]);
		for (size_t i = 0; i < n_algorithms; i++)
			if (strcmp(collective_name(algorithms[i].collective), row->name) == 0) {
				snprintf(text, sizeof text, "algorithm=%s", algorithms[i].name);
				run(world, comm, row, text);
			}
	}
}

static void test_of_calls(void **state)
{
	(void)state;
	world_run_at(1, 0, 60000, of_calls, NULL);
}

static void by_comm(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int32_t x[2] = { 3, 4 };
	choir_tensor tensors[2] = { { choir_host(&x[0]), choir_host(&x[0]), 1, CHOIR_I32 },
		                    { choir_host(&x[1]), choir_host(&x[1]), 1, CHOIR_I32 } };

	(void)arg;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
		run(world, comm, &collectives[what], NULL);
	OK(choir_barrier(comm, NULL, NULL));
	OK(choir_allreduce_multi(comm, tensors, 2, CHOIR_OP_SUM, NULL, NULL));
	CHECK(x[0] == 3 && x[1] == 4);
}

static void test_of_comms(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	char text[80];

	(void)state;
	config.deadline_ms = 60000;
	for (size_t i = 0; i < N_OPTIONS; i++) {
		config.options = options[i];
		world_run(1, &config, by_comm, NULL);
	}
	for (size_t i = 0; i < n_algorithms; i++) {
		snprintf(text, sizeof text, "method=%s", algorithms[i].name);
		config.options = text;
		world_run(1, &config, by_comm, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_of_calls), cmocka_unit_test(test_of_comms) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
