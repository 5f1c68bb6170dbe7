/* SPDX-License-Identifier: MIT */
/* Keyed comms: calls match by key, in any order on every rank. */
#include "base/wait.h"
#include "exec/keyed_state.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 1000, ROUNDS = 2, COUNT = 6 };

static choir_comm_config keyed_config(int per_node, int64_t deadline_ms)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.name = "keyed";
	config.keyed = 1;
	config.ranks_per_node = per_node;
	config.deadline_ms = deadline_ms;
	return config;
}

static choir_call with_key(const char *key)
{
	choir_call call = CHOIR_CALL_INIT;

	call.key = key;
	return call;
}

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Another order on every rank and in every round. */
static void shuffle(int *order, int n, uint32_t seed)
{
	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int j = (int)(draw(&seed) % (uint32_t)(i + 1)), swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
}

struct keyed_sum {
	int32_t send[COUNT], recv[COUNT];
	choir_event *event;
};

static bool sum_is_right(const struct keyed_sum *sum, int n, int key, int round)
{
	for (int i = 0; i < COUNT; i++)
		if (sum->recv[i] != n * (key * 7 + i + round) + n * (n - 1) / 2)
			return false;
	return true;
}

static void start_sum(struct world *world, int rank, choir_comm *comm, struct keyed_sum *sum, int key, int round)
{
	char text[32];
	choir_call call = with_key(text);

	snprintf(text, sizeof text, "gradient/%d", key);
	for (int i = 0; i < COUNT; i++)
		sum->send[i] = key * 7 + i + round + rank;
	if (key % 3 == 0) /* short and long, with other algorithms */
		call.options = "algorithm=ring";
	OK(choir_allreduce(comm, choir_host(sum->send), choir_host(sum->recv), COUNT, CHOIR_I32, CHOIR_OP_SUM, &call,
	                   &sum->event));
}

/* In the second round each key comes again as soon as this rank's first call of it is complete. */
static void any_order(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int n_keys = *(const int *)arg, *order = malloc((size_t)n_keys * sizeof *order);
	struct keyed_sum *sums = calloc((size_t)n_keys, sizeof *sums);

	for (int round = 0; round < ROUNDS; round++) {
		shuffle(order, n_keys, (uint32_t)(rank * 31 + round * 7 + 1));
		for (int i = 0; i < n_keys; i++) {
			struct keyed_sum *sum = &sums[order[i]];

			if (sum->event != NULL) {
				OK(choir_event_wait(sum->event, -1));
				CHECK(sum_is_right(sum, world->n, order[i], round - 1));
				choir_event_release(sum->event);
			}
			start_sum(world, rank, comm, sum, order[i], round);
		}
	}
	for (int i = 0; i < n_keys; i++) {
		OK(choir_event_wait(sums[i].event, -1));
		CHECK(sum_is_right(&sums[i], world->n, i, ROUNDS - 1));
		choir_event_release(sums[i].event);
	}
	free(order);
	free(sums);
}

static void run_any_order(int n, int per_node, int n_keys)
{
	choir_comm_config config = keyed_config(per_node, 120000);

	world_run(n, &config, any_order, &n_keys);
}

static void test_any_order(void **state)
{
	(void)state;
	run_any_order(2, 0, KEYS);
	run_any_order(3, 0, KEYS);
	run_any_order(8, 0, KEYS);
	run_any_order(1, 0, 20);
}

static void test_nodes(void **state)
{
	(void)state;
	run_any_order(2, 1, KEYS);
	run_any_order(3, 1, KEYS);
	run_any_order(8, 2, KEYS);
}

/* A rank waits for its keys one after another; which must not wait for the others of the list. */
static void crosswise(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call a = with_key("a"), b = with_key("b"), list = with_key("list"), again = with_key("again");
	int32_t x[4] = { 1, 1, 1, 1 }, y[4];
	choir_tensor tensors[2] = { { choir_host(&x[0]), choir_host(&y[0]), 1, CHOIR_I32 },
		                    { choir_host(&x[1]), choir_host(&y[1]), 1, CHOIR_F32 } };
	choir_event *event = NULL, *other = NULL;
	choir_request *request = NULL;

	(void)arg;
	OK(choir_barrier(comm, rank == 0 ? &a : &b, &event)); /* pending: rank 0 makes b second, the others a */
	OK(choir_allreduce_multi(comm, tensors, 2, CHOIR_OP_MAX, &list, NULL));
	CHECK(y[0] == 1 && y[1] == 1);
	OK(choir_allreduce_init(comm, choir_host(&x[2]), choir_host(&y[2]), 1, CHOIR_I32, CHOIR_OP_SUM, &again,
	                        &request));
	for (int i = 0; i < 3; i++) {
		y[2] = 0;
		OK(choir_start(request, NULL, NULL));
		CHECK(y[2] == world->n);
	}
	choir_request_free(request);
	OK(choir_barrier(comm, rank == 0 ? &b : &a, &other));
	OK(choir_event_wait(other, -1));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	choir_event_release(other);
	if (world->n > 1 && rank < 2) /* pairs match by order, as everywhere */
		OK(choir_sendrecv(comm, choir_host(&x[0]), 1, 1 - rank, choir_host(&y[0]), 1, 1 - rank, CHOIR_I32, NULL,
		                  NULL));
}

static void test_crosswise(void **state)
{
	(void)state;
	for (int per_node = 0; per_node < 3; per_node++)
		for (int n = 1; n <= 3; n++) {
			choir_comm_config config = keyed_config(per_node, 60000);

			world_run(n, &config, crosswise, NULL);
		}
}

static void refuses(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call twice = with_key("twice"), empty = with_key(""), pair = with_key("pair");
	choir_event *event = NULL, *second = NULL;
	int32_t x = 1, y;

	(void)arg;
	SAYS(choir_barrier(comm, NULL, NULL), CHOIR_ARGUMENT, "barrier|keyed comm need a choir_call.key");
	SAYS(choir_barrier(comm, NULL, &event), CHOIR_ARGUMENT, "choir_call.key");
	SAYS(choir_barrier(comm, &empty, NULL), CHOIR_ARGUMENT, "an empty key");
	SAYS(choir_send(comm, choir_host(&x), 1, CHOIR_I32, rank, &pair, &event), CHOIR_ARGUMENT,
	     "'pair'|match by their order");
	line_up();
	if (rank == 0) {
		OK(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &twice, &event));
		SAYS(choir_barrier(comm, &twice, &second), CHOIR_ARGUMENT, "key 'twice' is under way");
	}
	line_up();
	if (rank != 0)
		OK(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &twice, &event));
	OK(choir_event_wait(event, -1));
	CHECK(y == world->n);
	choir_event_release(event);
}

static void unkeyed(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = with_key("a");

	(void)arg;
	SAYS(choir_barrier(comm, &call, NULL), CHOIR_ARGUMENT, "key 'a'|not keyed");
	OK(choir_barrier(comm, NULL, NULL));
	SAYS(choir_barrier(comm, &call, NULL), CHOIR_ARGUMENT, "key 'a'|not keyed");
}

static void test_refusals(void **state)
{
	choir_comm_config config = keyed_config(0, 60000);

	(void)state;
	line_up_begin(2);
	world_run(2, &config, refuses, NULL);
	line_up_end();
	world_run_at(2, 0, 60000, unkeyed, NULL);
}

/* All but the rank `lost` make a call that it never makes; all have another key meanwhile. */
static void never_made(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = with_key("layer/7"), good = with_key("good");
	choir_event *event = NULL;
	const int *lost = arg;
	char wanted[80];

	line_up(); /* so that the other key is done long before the deadline */
	call.deadline_ms = 4000;
	if (rank != *lost)
		OK(choir_barrier(comm, &call, &event));
	OK(choir_barrier(comm, &good, NULL));
	snprintf(wanted, sizeof wanted, "rank %d has not made the call of key 'layer/7'|barrier", *lost);
	if (rank != *lost) {
		IS(choir_event_wait(event, -1), CHOIR_TIMEOUT);
		CHECK(says(choir_event_error(event), wanted));
	}
	line_up();
	choir_event_release(event);
}

static void test_never_made(void **state)
{
	static const struct {
		int n, ranks_per_node, lost;
	} worlds[] = { { 3, 0, 1 }, { 3, 1, 1 }, { 3, 1, 0 }, { 4, 2, 1 }, { 5, 2, 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
		choir_comm_config config = keyed_config(worlds[i].ranks_per_node, 60000);
		int lost = worlds[i].lost;

		line_up_begin(worlds[i].n);
		world_run(worlds[i].n, &config, never_made, &lost);
		line_up_end();
	}
}

/* The same, but the rank destroys its comm: no deadline passes. */
static void gone(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call lost = with_key("layer/7");

	(void)arg;
	if (rank == 1) {
		OK(choir_comm_destroy(comm));
		world->comms[rank] = NULL;
		return;
	}
	SAYS(choir_barrier(comm, &lost, NULL), CHOIR_ABORTED, "key 'layer/7'|by rank 1, which destroyed its comm");
}

/* A rank died with the table of keys in its hands: nobody's key can be said. */
static void table_is_held(struct world *world, int rank, choir_comm *comm, void *arg)
{
	_Atomic uint32_t *lock = (_Atomic uint32_t *)(void *)comm->keyed->board;
	choir_call call = with_key("unsaid");

	(void)arg;
	call.deadline_ms = 300;
	if (rank == 0)
		atomic_store(lock, 1);
	line_up();
	SAYS(choir_barrier(comm, &call, NULL), CHOIR_TIMEOUT, "key 'unsaid' is not said|holds the table of keys");
	line_up();
	atomic_store(lock, 0);
}

/* The deadline begins when the deps are complete: rank 0's is open long after it has passed for rank 1's call, were it
 * counted from there. */
static void waits_for_deps(struct world *world, int rank, choir_comm *comm, void *arg)
{
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_call held = with_key("held"), other = with_key("other");
	choir_event *event = NULL;

	(void)arg;
	held.deadline_ms = 3000;
	held.cl_deps = &gate;
	held.n_cl_deps = 1;
	other.deadline_ms = 60000;
	OK(choir_barrier(comm, &other, NULL));
	if (rank == 0)
		OK(choir_barrier(comm, &held, &event));
	for (int64_t end = wait_now_ns() + 3500000000; rank == 0 && wait_now_ns() < end;)
		IS(choir_event_wait(event, 100), CHOIR_TIMEOUT);
	line_up();
	gate_open(gate, CL_COMPLETE);
	if (rank == 1)
		OK(choir_barrier(comm, &held, &event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	clReleaseEvent(gate);
}

/* An abort ends calls that are held back. */
static void aborted(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call held = with_key("held");
	choir_event *event = NULL;

	(void)arg;
	if (rank == 0)
		OK(choir_barrier(comm, &held, &event));
	line_up();
	if (rank == 1)
		OK(choir_comm_abort(comm));
	if (rank == 0)
		IS(choir_event_wait(event, -1), CHOIR_ABORTED);
	choir_event_release(event);
}

static void test_ends(void **state)
{
	choir_comm_config config = keyed_config(0, 60000);

	(void)state;
	world_run(3, &config, gone, NULL);
	config.ranks_per_node = 1;
	world_run(3, &config, gone, NULL);
	config.ranks_per_node = 0;
	line_up_begin(2);
	world_run(2, &config, table_is_held, NULL);
	world_run(2, &config, waits_for_deps, NULL);
	world_run(2, &config, aborted, NULL);
	line_up_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order), cmocka_unit_test(test_nodes),      cmocka_unit_test(test_crosswise),
		cmocka_unit_test(test_refusals),  cmocka_unit_test(test_never_made), cmocka_unit_test(test_ends),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
