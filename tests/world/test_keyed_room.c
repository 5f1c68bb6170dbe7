/* SPDX-License-Identifier: MIT */
/* More keyed calls than the table of keys or their order has room for: calls wait for room, and none is lost. */
#include "exec/engine.h"
#include "exec/keyed.h"
#include "exec/keyed_state.h"
#include "node/key_board.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = KEY_BOARD_ORDER + 1000, LOOKS = 1000 };

struct keyed_sum {
	int32_t send, recv;
	choir_event *event;
};

static choir_comm_config keyed_config(int per_node)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.name = "keyed";
	config.keyed = 1;
	config.ranks_per_node = per_node;
	config.deadline_ms = 60000;
	return config;
}

static void start_sum(struct world *world, int rank, choir_comm *comm, struct keyed_sum *sum, int i)
{
	char key[32];
	choir_call call = CHOIR_CALL_INIT;

	snprintf(key, sizeof key, "key/%d", i);
	call.key = key;
	sum->send = i + rank;
	OK(choir_allreduce(comm, choir_host(&sum->send), choir_host(&sum->recv), 1, CHOIR_I32, CHOIR_OP_SUM, &call,
	                   &sum->event));
}

static void end_sums(struct world *world, int rank, struct keyed_sum *sums, int n)
{
	for (int i = 0; i < n; i++) {
		OK(choir_event_wait(sums[i].event, -1));
		CHECK(sums[i].recv == world->n * i + world->n * (world->n - 1) / 2);
		choir_event_release(sums[i].event);
	}
}

/* Until rank 0 has said so many keys, and some looks more, or its comm has failed. */
static void drive_until_said(choir_comm *comm, uint64_t n)
{
	struct due_job due;
	bool enough = false;

	while (!enough) {
		(void)engine_drive(comm, true, &due);
		if (!engine_enter(&comm->engine))
			continue;
		enough = comm->keyed->n_said >= n || comm_has_failed(comm);
		engine_leave(&comm->engine);
	}
	for (int i = 0; i < LOOKS; i++)
		(void)engine_drive(comm, true, &due);
}

/* --- the table of keys --- */

enum { KEYS = KEY_BOARD_KEYS + 1000 };

/* Rank 0 fills the table before the others make a call.  They begin at the other end: with keys that have no room,
 * which must not hold up those that the table waits for. */
static void fill_table(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct keyed_sum *sums = calloc(KEYS, sizeof *sums);

	(void)unused;
	for (int i = 0; i < KEYS && rank == 0; i++)
		start_sum(world, rank, comm, &sums[i], i);
	if (rank == 0)
		drive_until_said(comm, KEY_BOARD_KEYS);
	line_up();
	for (int i = KEYS - 1; i >= 0 && rank != 0; i--)
		start_sum(world, rank, comm, &sums[i], i);
	end_sums(world, rank, sums, KEYS);
	free(sums);
}

static void test_full_table(void **state)
{
	static const struct {
		int n, per_node;
	} worlds[] = { { 2, 0 }, { 3, 0 }, { 3, 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
		choir_comm_config config = keyed_config(worlds[i].per_node);

		line_up_begin(worlds[i].n);
		world_run(worlds[i].n, &config, fill_table, NULL);
		line_up_end();
	}
}

/* The deadline of a call that finds no room says for whom the others wait. */
static void names_rank_and_key(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct keyed_sum *sums = calloc(KEY_BOARD_KEYS, sizeof *sums);
	choir_call call = CHOIR_CALL_INIT;

	(void)unused;
	for (int i = 0; i < KEY_BOARD_KEYS && rank == 0; i++)
		start_sum(world, rank, comm, &sums[i], i);
	call.key = "one more";
	call.deadline_ms = 1000;
	if (rank == 0)
		SAYS(choir_barrier(comm, &call, NULL), CHOIR_TIMEOUT,
		     "barrier|'one more' is not said|4096 others wait|'key/0' for rank 1");
	for (int i = 0; i < KEY_BOARD_KEYS && rank == 0; i++) {
		IS(choir_event_wait(sums[i].event, -1), CHOIR_TIMEOUT);
		choir_event_release(sums[i].event);
	}
	line_up();
	free(sums);
}

static void test_deadline(void **state)
{
	choir_comm_config config = keyed_config(0);

	(void)state;
	line_up_begin(2);
	world_run(2, &config, names_rank_and_key, NULL);
	line_up_end();
}

/* --- the order of keys --- */

static void start_sums(struct world *world, int rank, choir_comm *comm, struct keyed_sum *sums)
{
	for (int i = 0; i < MOST; i++)
		start_sum(world, rank, comm, &sums[i], i);
}

/* Rank 0 orders keys until it has told as many as the ring of rank 1's node has room for, and some more if it can. */
static void order_many(choir_comm *comm)
{
	struct due_job due;
	bool enough = false;

	while (!enough) {
		(void)engine_drive(comm, true, &due);
		if (!engine_enter(&comm->engine))
			continue;
		enough = comm->keyed->n_ordered >= KEY_BOARD_ORDER;
		engine_leave(&comm->engine);
	}
	for (int i = 0; i < LOOKS; i++)
		(void)engine_drive(comm, true, &due);
}

/* Rank 1 says its keys, and reads nothing while rank 0 says the same ones. */
static void stand_still(struct world *world, int rank, choir_comm *comm, void *sums_p)
{
	struct keyed_sum *sums = (struct keyed_sum *)sums_p + (size_t)rank * MOST;
	struct run *ordered = NULL, *ended = NULL;

	if (rank == 1) {
		start_sums(world, rank, comm, sums);
		while (!engine_enter(&comm->engine))
			;
		(void)keyed_drive(comm, &ordered, &ended);
		CHECK(ordered == NULL && ended == NULL);
	}
	line_up();
	if (rank == 0) {
		start_sums(world, rank, comm, sums);
		order_many(comm);
	}
	line_up();
	if (rank == 1)
		engine_leave(&comm->engine);
	end_sums(world, rank, sums, MOST);
}

static void test_order_is_read(void **state)
{
	choir_comm_config config = keyed_config(1);
	struct keyed_sum *sums = calloc(2 * (size_t)MOST, sizeof *sums);

	(void)state;
	line_up_begin(2);
	world_run(2, &config, stand_still, sums);
	line_up_end();
	free(sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_table),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_order_is_read),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
