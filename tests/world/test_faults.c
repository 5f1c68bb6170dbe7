/* SPDX-License-Identifier: MIT */
/* Worlds over a bad network: what is late or out of order makes no difference; what is lost, and a rank that is dead,
 * ends in an error that names it.  Never a wrong result, never a hang. */
#include "exec/comm.h"
#include "lib/ranks.h"
#include "net/hub.h"
#include "world/flight.h"
#include "world/gate.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void set_faults(struct world *world, const struct hub_faults *faults)
{
	hub_set_faults(hub_of(messenger_transport(world->comms[0]->messenger)), faults);
}

static void run_config(choir_comm_config *config, int n, int per_node, int64_t deadline_ms,
                       const struct hub_faults *faults, world_fn fn, void *arg)
{
	struct world world;

	config->ranks_per_node = per_node;
	config->deadline_ms = deadline_ms;
	world_begin(&world, n, config);
	set_faults(&world, faults);
	line_up_begin(n);
	world_threads(&world, fn, arg);
	line_up_end();
	set_faults(&world, &(struct hub_faults){ 0 });
	world_end(&world);
}

static void run_with(int n, int per_node, int64_t deadline_ms, const struct hub_faults *faults, world_fn fn, void *arg)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	run_config(&config, n, per_node, deadline_ms, faults, fn, arg);
}

/* Every collective, several lengths, and many at once. */
static void all_right(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const size_t counts[] = { 0, 1, 1000, 70001 };
	struct sum sums[20];

	(void)arg;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
		for (size_t i = 0; i < 4; i++) {
			struct dense_call c = { .what = &collectives[what],
				                .dtype = CHOIR_I32,
				                .op = CHOIR_OP_SUM,
				                .count = counts[i],
				                .n = world->n,
				                .root = (int)i % world->n,
				                .in_place = i % 2 };

			flight_run(world, rank, comm, &c);
			OK(choir_barrier(comm, NULL, NULL));
		}
	for (int k = 0; k < 20; k++)
		OK(sum_start(&sums[k], comm, (size_t)k * 500 + 1, (float)k, NULL, true));
	for (int k = 19; k >= 0; k--) {
		OK(choir_event_wait(sums[k].event, -1));
		CHECK(sum_is(&sums[k], world->n));
		sum_free(&sums[k]);
	}
}

static void test_late_and_reordered(void **state)
{
	static const int sizes[] = { 2, 3, 5, 8 };

	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++)
		for (size_t i = 0; i < 4; i++) {
			struct hub_faults faults = { .seed = seed,
				                     .delay_polls = seed == 1 ? 0 : 40,
				                     .reorder = seed != 2 };

			run_with(sizes[i], 1 + (int)((seed + i) % 2), 60000, &faults, all_right, NULL);
		}
}

enum { KEYS = 40, KEYED_COUNT = 300 };

/* Each rank makes the calls in an order of its own; all have the same shape. */
static void keyed_calls(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const int steps[] = { 1, 3, 7, 9, 11, 13, 17, 19 }; /* none divides KEYS but 1 */
	struct sum sums[KEYS];
	char keys[KEYS][16];

	(void)arg;
	for (int i = 0; i < KEYS; i++) {
		int k = i * steps[rank % 8] % KEYS;
		choir_call call = CHOIR_CALL_INIT;

		snprintf(keys[k], sizeof keys[k], "key %d", k);
		call.key = keys[k];
		OK(sum_start(&sums[k], comm, KEYED_COUNT, (float)k, &call, true));
	}
	for (int k = 0; k < KEYS; k++) {
		OK(choir_event_wait(sums[k].event, -1));
		CHECK(sum_is(&sums[k], world->n));
		sum_free(&sums[k]);
	}
}

static void test_keyed_reordered(void **state)
{
	static const int sizes[] = { 2, 3, 5 };

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++)
		for (size_t i = 0; i < 3; i++) {
			struct hub_faults faults = { .seed = seed, .delay_polls = 20, .reorder = true };
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

			config.keyed = 1;
			run_config(&config, sizes[i], 1 + (int)(seed % 2), 60000, &faults, keyed_calls, NULL);
		}
}

/* Calls until one fails: none may succeed with a wrong sum, none may hang, all must end in a failure that says who was
 * waited for. */
static void some_lost(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_status st = CHOIR_SUCCESS;

	(void)arg;
	for (int i = 0; i < 10000 && st == CHOIR_SUCCESS; i++) {
		struct sum sum;

		st = sum_start(&sum, comm, (size_t)(i % 4) * 9000 + 3, (float)(i % 100), NULL, false);
		if (st == CHOIR_SUCCESS && !sum_is(&sum, world->n))
			world_fail(world, rank, "lost: sum %d is wrong", i);
		sum_free(&sum);
	}
	if (st != CHOIR_TIMEOUT || !says(choir_last_error(), "allreduce|waits for rank"))
		world_fail(world, rank, "lost: %s: %s", choir_status_name(st), choir_last_error());
}

static void test_lost(void **state)
{
	static const uint32_t rates[] = { 20, 300, 1000 };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (int n = 2; n <= 5; n += 3)
			for (int per_node = 1; per_node <= 2 && per_node < n; per_node++) {
				struct hub_faults faults = { .seed = i + 1,
					                     .drop_per_1000 = rates[i],
					                     .delay_polls = i == 1 ? 10 : 0 };

				run_with(n, per_node, 400, &faults, some_lost, NULL);
			}
}

/* One endpoint dies: all others name it. */
static void one_dead(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int dead = *(int *)arg, timed = dead == 0 ? 1 : 0;
	struct hub_faults faults = { .dead = true, .dead_endpoint = dead };
	choir_call call = CHOIR_CALL_INIT;
	choir_status st;
	char words[64];
	struct sum sum;

	CHECK(sum_works(comm, 2000));
	line_up();
	if (rank == 0)
		set_faults(world, &faults);
	line_up();
	call.deadline_ms = rank == timed || rank == dead ? 1000 : 0;
	if (rank != timed)
		OK(sum_start(&sum, comm, 20000, 1, &call, true));
	line_up(); /* the living have called: the deadline is over before others are */
	if (rank == timed)
		OK(sum_start(&sum, comm, 20000, 1, &call, true));
	st = choir_event_wait(sum.event, -1);
	snprintf(words, sizeof words, "waits for rank %d (", dead); /* nothing was heard from it, or no more */
	if (st != CHOIR_TIMEOUT || (rank != dead && !says(choir_event_error(sum.event), words)))
		world_fail(world, rank, "dead: %s: \"%s\" does not say %s", choir_status_name(st),
		           choir_event_error(sum.event), words);
	sum_free(&sum);
	IS(choir_comm_status(comm), CHOIR_TIMEOUT);
}

static void test_dead(void **state)
{
	(void)state;
	for (int n = 2; n <= 5; n++)
		for (int dead = 0; dead < n; dead += 2) {
			struct hub_faults none = { 0 };

			run_with(n, 1, 20000, &none, one_dead, &dead);
		}
}

/* A transport that tells of lost peers: all others name it, those too that wait for somebody else, and within a second,
 * of which a loaded machine may need several tries. */
struct loss {
	int dead;
	bool keyed;
	_Atomic int slowest_ms;
};

static void one_lost(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct loss *loss = arg;
	struct hub_faults faults = { .dead = true, .dead_endpoint = loss->dead, .refuses = true };
	choir_call call = CHOIR_CALL_INIT;
	char words[64];
	struct sum sum;
	int64_t start;

	call.key = loss->keyed ? "first" : NULL;
	OK(sum_start(&sum, comm, 2000, 1, &call, false));
	CHECK(sum_is(&sum, world->n));
	sum_free(&sum);
	line_up();
	if (rank == 0)
		set_faults(world, &faults);
	line_up();
	call.key = loss->keyed ? "second" : NULL;
	if (rank != loss->dead) {
		start = rank_now_ms();
		snprintf(words, sizeof words, "rank %d is dead|allreduce", loss->dead);
		if (loss->keyed)
			snprintf(words, sizeof words, "key 'second' by rank %d, which is dead", loss->dead);
		SAYS(sum_start(&sum, comm, 20000, 1, &call, false), CHOIR_PEER_DEAD, words);
		start = rank_now_ms() - start;
		if (start > atomic_load(&loss->slowest_ms)) /* one that another rank's replaces is no matter */
			atomic_store(&loss->slowest_ms, (int)start);
		sum_free(&sum);
		IS(choir_comm_status(comm), CHOIR_PEER_DEAD);
	}
	line_up();
	if (rank == loss->dead)
		OK(choir_comm_abort(comm));
}

static int lose(int n, int dead, bool keyed)
{
	struct loss loss = { .dead = dead, .keyed = keyed };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.keyed = keyed;
	run_config(&config, n, 1, 60000, &(struct hub_faults){ 0 }, one_lost, &loss);
	return atomic_load(&loss.slowest_ms);
}

static void test_lost_peer(void **state)
{
	(void)state;
	for (int keyed = 0; keyed < 2; keyed++)
		for (int n = 2; n <= 5; n++)
			for (int dead = 0; dead < n; dead += 2) {
				int slowest_ms = 1000;

				for (int tries = 0; tries < 5 && slowest_ms >= 1000; tries++)
					slowest_ms = lose(n, dead, keyed);
				assert_in_range(slowest_ms, 0, 999);
			}
}

/* A receive from the dead, and a send to it, which may succeed: nothing hangs. */
static void dead_pair(struct world *world, int rank, choir_comm *comm, void *arg)
{
	float value = 1;
	choir_status st;

	(void)arg;
	if (rank == 1) {
		IS(choir_recv(comm, choir_host(&value), 1, CHOIR_F32, 0, NULL, NULL), CHOIR_TIMEOUT);
		CHECK(says(choir_last_error(), "waits for rank 0 (nothing was heard from it)"));
	} else {
		st = choir_send(comm, choir_host(&value), 1, CHOIR_F32, 1, NULL, NULL);
		CHECK(st == CHOIR_SUCCESS || st == CHOIR_TIMEOUT);
	}
}

static void test_dead_pair(void **state)
{
	struct hub_faults faults = { .dead = true, .dead_endpoint = 0 };

	(void)state;
	run_with(2, 1, 300, &faults, dead_pair, NULL);
}

/* A rank that is dead from the first call on: the others cannot say how many calls it has made. */
static void never_heard(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct sum sum;

	(void)arg;
	IS(sum_start(&sum, comm, 2000, 1, NULL, false), CHOIR_TIMEOUT);
	if (rank != 0)
		CHECK(says(choir_last_error(), "waits for rank 0 (nothing was heard from it)") &&
		      !says(choir_last_error(), "it has made"));
	sum_free(&sum);
}

static void test_never_heard(void **state)
{
	struct hub_faults faults = { .dead = true, .dead_endpoint = 0 };

	(void)state;
	run_with(2, 1, 300, &faults, never_heard, NULL);
}

/* Early messages are kept up to a bound, of which all but what a message counts beside its payload seems to be taken: a
 * message of 4 bytes ends the comm. */
static void too_much_is_kept(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call never = CHOIR_CALL_INIT;
	float value = 1, got = 0;
	choir_status st;

	(void)arg;
	never.tag = 9;
	if (rank == 0) {
		pthread_mutex_lock(&comm->inbox.lock);
		comm->inbox.kept_bytes = INBOX_KEPT_BYTES - INBOX_MESSAGE_BYTES;
		pthread_mutex_unlock(&comm->inbox.lock);
	}
	line_up();
	if (rank == 1) {
		st = choir_send(comm, choir_host(&value), 1, CHOIR_F32, 0, NULL, NULL);
		CHECK(st == CHOIR_SUCCESS || st == CHOIR_TRANSPORT); /* rank 0's failure may come before its end */
	} else
		SAYS(choir_recv(comm, choir_host(&got), 1, CHOIR_F32, 1, &never, NULL), CHOIR_TRANSPORT,
		     "more than 1 GiB came for calls that this rank has not made");
	line_up();
}

static void test_too_much_is_kept(void **state)
{
	struct hub_faults none = { 0 };

	(void)state;
	run_with(2, 1, 20000, &none, too_much_is_kept, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_late_and_reordered),
		                            cmocka_unit_test(test_keyed_reordered),
		                            cmocka_unit_test(test_lost),
		                            cmocka_unit_test(test_dead),
		                            cmocka_unit_test(test_lost_peer),
		                            cmocka_unit_test(test_dead_pair),
		                            cmocka_unit_test(test_never_heard),
		                            cmocka_unit_test(test_too_much_is_kept) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
