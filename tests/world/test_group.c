/* SPDX-License-Identifier: MIT */
/* One group that holds every kind of call at once: the collectives in one order on all ranks, sends and receives
 * between them in another order on each.  With events, and with the group's end waiting; a thread a rank, and one
 * thread for all ranks. */
#include "world/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST_RANKS = 8 };

/* What one rank has in the group. */
struct kit {
	struct dense_flight flights[N_MOVING_COLLECTIVES];
	float out[MOST_RANKS], in[MOST_RANKS], in_too[MOST_RANKS];
	bool waits; /* calls without events */
};

static float value_of(int from, int to)
{
	return (float)(100 * from + to + 1);
}

/* Whatever order the two sends of a pair meet their receives in, they bring the same. */
static void pair_with(struct kit *kit, struct world *world, int rank, choir_comm *comm, int peer)
{
	kit->out[peer] = value_of(rank, peer);
	kit->in[peer] = kit->in_too[peer] = 0;
	if ((rank + peer) % 2) {
		OK(choir_sendrecv(comm, choir_host(&kit->out[peer]), 1, peer, choir_host(&kit->in[peer]), 1, peer,
		                  CHOIR_F32, NULL, NULL));
		OK(choir_recv(comm, choir_host(&kit->in_too[peer]), 1, CHOIR_F32, peer, NULL, NULL));
		OK(choir_send(comm, choir_host(&kit->out[peer]), 1, CHOIR_F32, peer, NULL, NULL));
	} else {
		OK(choir_send(comm, choir_host(&kit->out[peer]), 1, CHOIR_F32, peer, NULL, NULL));
		OK(choir_recv(comm, choir_host(&kit->in_too[peer]), 1, CHOIR_F32, peer, NULL, NULL));
		OK(choir_sendrecv(comm, choir_host(&kit->out[peer]), 1, peer, choir_host(&kit->in[peer]), 1, peer,
		                  CHOIR_F32, NULL, NULL));
	}
}

/* Peers in an order of this rank's, spread over the collectives. */
static void pairs_at(struct kit *kit, struct world *world, int rank, choir_comm *comm, int at)
{
	int n = world->n;

	for (int i = 0; i < n; i++) {
		int peer = rank % 2 ? (rank + i) % n : (rank + n - i) % n;

		if ((i * 5 + rank * 3) % N_MOVING_COLLECTIVES == at)
			pair_with(kit, world, rank, comm, peer);
	}
}

static void submit(struct kit *kit, struct world *world, int rank, choir_comm *comm)
{
	for (int i = 0; i < N_MOVING_COLLECTIVES; i++) {
		struct dense_flight *flight = &kit->flights[i];
		struct dense_call c = { .what = &collectives[i],
			                .dtype = CHOIR_F32,
			                .op = CHOIR_OP_SUM,
			                .n = world->n,
			                .count = 300 + 7 * (size_t)i,
			                .root = i % world->n,
			                .device = i % 2 };

		pairs_at(kit, world, rank, comm, i);
		if (c.what->waits)
			continue;
		flight_make(flight, world, rank, &c);
		if (kit->waits)
			OK(flight_call(flight, comm, NULL, NULL));
		else
			flight_start(flight, world, comm, NULL);
	}
	OK(choir_barrier(comm, NULL, NULL));
}

static void check(struct kit *kit, struct world *world, int rank)
{
	for (int i = 0; i < N_MOVING_COLLECTIVES; i++) {
		if (collectives[i].waits)
			continue;
		if (kit->waits)
			flight_compare(&kit->flights[i], world);
		else
			flight_land(&kit->flights[i], world);
		flight_free(&kit->flights[i]);
	}
	for (int peer = 0; peer < world->n; peer++)
		CHECK(kit->in[peer] == value_of(peer, rank) && kit->in_too[peer] == value_of(peer, rank));
}

static void thread_a_rank(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct kit *kit = calloc(1, sizeof *kit);

	(void)unused;
	for (int round = 0; round < 4; round++) {
		kit->waits = round % 2;
		OK(choir_group_begin());
		submit(kit, world, rank, comm);
		OK(choir_group_end());
		check(kit, world, rank);
	}
	free(kit);
}

static void one_thread(struct world *world)
{
	struct kit *kits = calloc((size_t)world->n, sizeof *kits);
	int rank = 0;

	for (int round = 0; round < 2; round++) {
		OK(choir_group_begin());
		for (int i = 0; i < world->n; i++) {
			rank = (i + round) % world->n;
			kits[rank].waits = round % 2;
			submit(&kits[rank], world, rank, world->comms[rank]);
		}
		OK(choir_group_end());
		for (rank = 0; rank < world->n; rank++)
			check(&kits[rank], world, rank);
	}
	free(kits);
}

static void test_all_kinds(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
			struct world world;

			config.ranks_per_node = per_node;
			config.deadline_ms = 30000;
			world_begin(&world, sizes[i], &config);
			world_threads(&world, thread_a_rank, NULL);
			one_thread(&world);
			world_end(&world);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_kinds) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
