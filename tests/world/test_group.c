/* SPDX-License-Identifier: MIT */
/* One group that holds every kind of call at once: the collectives in one order on all ranks, sends and receives
 * between them in another order on each.  With events, and with the group's end waiting; a thread a rank, and one
 * thread for all ranks. */
#include "world/flight.h"
#include "world/gate.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 8 };

/* What one rank has in the group. */
struct kit {
	struct dense_flight flights[N_MOVING_COLLECTIVES];
	float out[MOST_RANKS], in[MOST_RANKS], in_too[MOST_RANKS];
	int32_t ind[2], got_ind[MOST_RANKS + 1]; /* of a sparse call */
	float val[2], got_val[MOST_RANKS + 1];
	size_t n_ind, n_val;
	choir_event *sparse;
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

/* A row of each rank's own, and one that all have. */
static void submit_sparse(struct kit *kit, struct world *world, int rank, choir_comm *comm)
{
	kit->ind[0] = MOST_RANKS;
	kit->ind[1] = rank;
	kit->val[0] = kit->val[1] = (float)(rank + 1);
	kit->n_ind = kit->n_val = MOST_RANKS + 1;
	kit->sparse = NULL;
	OK(choir_sparse_allreduce(comm, choir_host(kit->ind), 2, choir_host(kit->val), 2, choir_host(kit->got_ind),
	                          &kit->n_ind, choir_host(kit->got_val), &kit->n_val, CHOIR_I32, CHOIR_F32,
	                          CHOIR_OP_SUM, NULL, NULL, kit->waits ? NULL : &kit->sparse));
}

static void check_sparse(struct kit *kit, struct world *world, int rank)
{
	int n = world->n;

	if (kit->sparse != NULL)
		OK(choir_event_wait(kit->sparse, -1));
	choir_event_release(kit->sparse);
	CHECK(kit->n_ind == (size_t)n + 1 && kit->n_val == (size_t)n + 1);
	for (int i = 0; i < n; i++)
		CHECK(kit->got_ind[i] == i && kit->got_val[i] == (float)(i + 1));
	CHECK(kit->got_ind[n] == MOST_RANKS && kit->got_val[n] == (float)(n * (n + 1) / 2));
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
	submit_sparse(kit, world, rank, comm);
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
	check_sparse(kit, world, rank);
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

/* Calls of some ranks that a group drops have never been made: the next ones have their numbers.  Closes groups within
 * groups; a request that was started in it may be started again. */
static void test_cancel(void **state)
{
	struct world world;
	struct sum sums[2], blocking;
	choir_request *request = NULL;
	float x = 1;

	(void)state;
	world_begin(&world, 2, NULL);
	assert_int_equal(choir_allreduce_init(world.comms[0], choir_host(&x), choir_host(&x), 1, CHOIR_F32,
	                                      CHOIR_OP_SUM, NULL, &request),
	                 CHOIR_SUCCESS);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
		assert_int_equal(sum_start(&sums[0], world.comms[0], 100, 1, NULL, true), CHOIR_SUCCESS);
		assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
		assert_int_equal(sum_start(&blocking, world.comms[0], 100, 1, NULL, false), CHOIR_SUCCESS);
		assert_int_equal(choir_start(request, NULL, NULL), CHOIR_SUCCESS);
		assert_int_equal(sum_start(&sums[1], world.comms[1], 100, 1, NULL, true), CHOIR_SUCCESS);
		assert_int_equal(choir_send(world.comms[1], choir_host(&x), 1, CHOIR_F32, 7, NULL, NULL),
		                 CHOIR_ARGUMENT);
		assert_int_equal(choir_group_cancel(), CHOIR_SUCCESS);
		assert_non_null(strstr(choir_last_error(), "choir_send"));
		for (int rank = 0; rank < 2; rank++) {
			assert_int_equal(choir_event_status(sums[rank].event), CHOIR_ABORTED);
			assert_int_equal(choir_event_wait(sums[rank].event, -1), CHOIR_ABORTED);
			assert_true(says(choir_event_error(sums[rank].event),
			                 rank == 0 ? "rank 0: choir_allreduce: choir_group_cancel dropped"
			                           : "rank 1: choir_allreduce: choir_group_cancel dropped"));
			for (size_t i = 0; i < 100; i++)
				assert_true(sums[rank].recv[i] == -1);
			sum_free(&sums[rank]);
		}
		assert_true(blocking.recv[0] == -1);
		sum_free(&blocking);
		assert_int_equal(choir_group_end(), CHOIR_ARGUMENT);
		assert_int_equal(choir_group_cancel(), CHOIR_ARGUMENT);
		assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
		for (int rank = 0; rank < 2; rank++)
			assert_int_equal(sum_start(&sums[rank], world.comms[rank], 100, 3, NULL, true), CHOIR_SUCCESS);
		assert_int_equal(choir_group_end(), CHOIR_SUCCESS);
		for (int rank = 0; rank < 2; rank++) {
			assert_int_equal(choir_event_wait(sums[rank].event, -1), CHOIR_SUCCESS);
			assert_true(sum_is(&sums[rank], 2));
			sum_free(&sums[rank]);
		}
	}
	choir_request_free(request);
	world_end(&world);
}

static void *sum_blocking(void *comm)
{
	assert_true(sum_works(comm, 100));
	return NULL;
}

/* A thread that has called on both ranks hands one over, with a call of that rank still to come: a blocking call on the
 * other one is refused, one with an event is not (docs/events.md). */
static void test_hand_over(void **state)
{
	struct world world;
	struct sum sums[2], refused;
	pthread_t thread;

	(void)state;
	world_begin(&world, 2, NULL);
	for (int rank = 0; rank < 2; rank++)
		assert_int_equal(sum_start(&sums[rank], world.comms[rank], 100, 1, NULL, true), CHOIR_SUCCESS);
	for (int rank = 0; rank < 2; rank++) {
		assert_int_equal(choir_event_wait(sums[rank].event, -1), CHOIR_SUCCESS);
		sum_free(&sums[rank]);
	}
	assert_int_equal(sum_start(&refused, world.comms[0], 100, 1, NULL, false), CHOIR_WOULD_DEADLOCK);
	sum_free(&refused);
	assert_int_equal(sum_start(&sums[0], world.comms[0], 100, 3, NULL, true), CHOIR_SUCCESS);
	assert_int_equal(pthread_create(&thread, NULL, sum_blocking, world.comms[1]), 0);
	assert_int_equal(choir_event_wait(sums[0].event, -1), CHOIR_SUCCESS);
	pthread_join(thread, NULL);
	sum_free(&sums[0]);
	world_end(&world);
}

/* A callback that this thread runs while it has a group open: its calls are not of the group. */
struct in_callback {
	choir_comm *comm;
	choir_status blocking, started;
	choir_event *event;
};

static void call_inside(void *ctx, choir_status status)
{
	struct in_callback *seen = ctx;

	(void)status;
	seen->blocking = choir_barrier(seen->comm, NULL, NULL);
	seen->started = choir_barrier(seen->comm, NULL, &seen->event);
}

static void test_callback_inside(void **state)
{
	choir_device *device = world_device();
	struct in_callback seen = { .blocking = CHOIR_SUCCESS };
	choir_event *complete;

	(void)state;
	assert_int_equal(choir_comm_create_local(1, &device, NULL, &seen.comm), CHOIR_SUCCESS);
	assert_int_equal(choir_barrier(seen.comm, NULL, &complete), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(complete, -1), CHOIR_SUCCESS);
	assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
	assert_int_equal(choir_event_on_complete(complete, call_inside, &seen), CHOIR_SUCCESS);
	assert_int_equal(seen.blocking, CHOIR_WOULD_DEADLOCK);
	assert_int_equal(seen.started, CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(seen.event, -1), CHOIR_SUCCESS);
	assert_int_equal(choir_group_end(), CHOIR_SUCCESS);
	choir_event_release(seen.event);
	choir_event_release(complete);
	choir_comm_destroy(seen.comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_kinds), cmocka_unit_test(test_cancel),
		                            cmocka_unit_test(test_hand_over), cmocka_unit_test(test_callback_inside) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
