/* SPDX-License-Identifier: MIT */
/* soak [-n ROUNDS] [-s SEED]: worlds of threads make random calls, several in flight, and compare what comes out with a
 * plain reference (lib/collective_data.h, tests/sparse/reference.h).  A round follows from its seed alone. */
#include "base/dtype.h"
#include "seeded.h"
#include "trials/soak_requests.h"
#include "world/flight.h"
#include "world/sparse_flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_RANKS = 5, BATCHES = 10, MOST_FLIGHTS = 12, MOST_STARTS = 5, SHARE = 16 << 20, SPARSE_PAIRS = 300 };

static uint64_t first_seed = 1;
static int n_rounds = 8;

enum { ON_HOST, ON_DEVICE, IN_SHARE, N_MEMORIES };

/* The next call, the same on all ranks. */
static void draw(uint64_t *r, choir_comm *comm, int memory, struct dense_call *c)
{
	static const size_t counts[] = { 0, 1, 2, 17, 500, 4000, 30000, 120000 };

	do {
		*c = (struct dense_call){ .what = &collectives[random_below(r, N_MOVING_COLLECTIVES)],
			                  .n = choir_comm_size(comm),
			                  .device = memory == ON_DEVICE,
			                  .in_place = random_below(r, 3) == 0 };
		c->dtype = (choir_dtype)random_below(r, 32);
		c->op = c->what->reduces ? (choir_op)random_below(r, N_OPS) : 0;
		c->root = random_below(r, c->n);
		c->count = counts[random_below(r, memory == IN_SHARE ? 6 : 8)] + (size_t)random_below(r, 5);
	} while (choir_dtype_bytes(c->dtype) == 0 ||
	         choir_supports(comm, c->what->name, c->dtype, c->op, choir_none()) != CHOIR_SUCCESS);
}

static void fly(struct world *world, int rank, choir_comm *comm, uint64_t *r, int memory)
{
	struct dense_flight *flights = calloc(MOST_FLIGHTS, sizeof *flights);
	int n = 1 + random_below(r, memory == IN_SHARE ? 3 : MOST_FLIGHTS), at = random_below(r, n);

	for (int i = 0; i < n; i++) {
		struct dense_call c;

		draw(r, comm, memory, &c);
		flight_make(&flights[i], world, rank, &c);
		flight_start(&flights[i], world, comm, NULL);
	}
	for (int i = 0; i < n; i++)
		flight_land(&flights[(at + i) % n], world);
	for (int i = n - 1; i >= 0; i--)
		flight_free(&flights[i]);
	free(flights);
}

/* Every rank makes all ranks' inputs. */
static void go_sparse(struct world *world, int rank, choir_comm *comm, uint64_t *r)
{
	struct sparse_call call;

	sparse_call_draw(&call, random_next(r), world->n, SPARSE_PAIRS);
	sparse_flight_run(world, rank, comm, &call, (enum way)random_below(r, N_WAYS));
	sparse_call_free(&call);
}

static void one_batch(struct world *world, int rank, choir_comm *comm, uint64_t *r)
{
	int what = random_below(r, 5), memory = random_below(r, N_MEMORIES);
	unsigned char *share = NULL;
	cl_mem mem = NULL;

	if (what == 0) {
		go_sparse(world, rank, comm, r);
		return;
	}
	if (memory == IN_SHARE) {
		if (!OK(choir_mem_alloc(comm, SHARE, (void **)&share, &mem)))
			return;
		memory_use(share, mem, SHARE, 16 * (2 * (size_t)rank + 1));
	}
	for (int i = 0; i < 6 && what < 3; i++) {
		struct dense_call c;

		draw(r, comm, memory, &c);
		if (soak_can_keep(c.what) && !c.in_place && random_below(r, 2))
			soak_run_kept(world, rank, comm, &c, 1 + random_below(r, MOST_STARTS));
		else
			flight_run(world, rank, comm, &c);
	}
	if (what >= 3)
		fly(world, rank, comm, r, memory);
	if (memory == IN_SHARE) {
		memory_use(NULL, NULL, 0, 0);
		OK(choir_mem_free(comm, share));
	}
}

static void round_of(struct world *world, int rank, choir_comm *comm, void *arg)
{
	uint64_t r = *(const uint64_t *)arg;

	for (int i = 0; i < BATCHES && world->failure[0] == '\0'; i++)
		one_batch(world, rank, comm, &r);
}

static void test_soak(void **state)
{
	(void)state;
	for (int i = 0; i < n_rounds; i++) {
		uint64_t seed = first_seed + (uint64_t)i, r = seed * 31 + 7;
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		int n = 1 + random_below(&r, MOST_RANKS);
		struct world world;

		config.ranks_per_node = random_below(&r, 3);
		config.deadline_ms = 60000;
		printf("soak: seed %llu: %d ranks, %d a node\n", (unsigned long long)seed, n, config.ranks_per_node);
		fflush(stdout);
		world_begin(&world, n, &config);
		world_threads(&world, round_of, &r);
		world_end(&world);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_soak) };
	int c, failed;

	while ((c = getopt(argc, argv, "n:s:")) != -1) {
		if (c == 'n')
			n_rounds = atoi(optarg);
		else if (c == 's')
			first_seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	world_device_drop();
	return failed;
}
