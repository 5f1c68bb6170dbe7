/* SPDX-License-Identifier: MIT */
/* Keyed calls at their ends: a call that is refused is so with all its parts, destroy waits for a call that is being
 * made, and deadlines name who stopped. */
#include "base/wait.h"
#include "exec/engine.h"
#include "exec/keyed.h"
#include "exec/keyed_state.h"
#include "world/gate.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static _Atomic int strdups_left;        /* of the key, until one fails */
static _Atomic(choir_comm *) destroyed; /* by another thread, while the next call is held */
static _Atomic bool freed_early;

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
choir_status __real_keyed_hold(struct run *const *parts, size_t n);
choir_status __wrap_keyed_hold(struct run *const *parts, size_t n);

char *__wrap_strdup(const char *text)
{
	return strcmp(text, "list") == 0 && atomic_fetch_sub(&strdups_left, 1) == 1 ? NULL : __real_strdup(text);
}

static choir_call with_key(const char *key)
{
	choir_call call = CHOIR_CALL_INIT;

	call.key = key;
	return call;
}

static choir_comm_config keyed_config(int per_node)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.name = "keyed";
	config.keyed = 1;
	config.ranks_per_node = per_node;
	config.deadline_ms = 60000;
	return config;
}

/* Each of the two parts has a copy of the key; the third one, of the call that is held, fails. */
static void list_without_memory(struct world *world, int rank, choir_comm *comm, void *in_group)
{
	choir_call list = with_key("list"), other = with_key("other");
	int32_t x[2] = { 1, 2 }, y[2] = { -1, -1 };
	float u[2] = { 3, 4 }, v[2] = { -1, -1 };
	choir_tensor tensors[2] = { { choir_host(x), choir_host(y), 2, CHOIR_I32 },
		                    { choir_host(u), choir_host(v), 2, CHOIR_F32 } };

	atomic_store(&strdups_left, 3);
	if (in_group != NULL)
		OK(choir_group_begin());
	IS(choir_allreduce_multi(comm, tensors, 2, CHOIR_OP_SUM, &list, NULL),
	   in_group != NULL ? CHOIR_SUCCESS : CHOIR_NO_MEMORY);
	if (in_group != NULL)
		IS(choir_group_end(), CHOIR_NO_MEMORY);
	CHECK(!keyed_holds(comm->keyed));
	OK(choir_barrier(comm, &other, NULL));
	CHECK(y[0] == -1 && v[0] == -1);
	OK(choir_allreduce_multi(comm, tensors, 2, CHOIR_OP_SUM, &list, NULL));
	CHECK(y[1] == 2 && v[1] == 4);
}

static void test_all_parts_or_none(void **state)
{
	choir_comm_config config = keyed_config(0);
	int in_group = 1;

	(void)state;
	world_run(1, &config, list_without_memory, NULL);
	world_run(1, &config, list_without_memory, &in_group);
}

/* --- destroy --- */

static void *destroy(void *comm)
{
	(void)choir_comm_destroy(comm);
	return NULL;
}

/* The comm closes between the call's first look at it and the call's being held. */
choir_status __wrap_keyed_hold(struct run *const *parts, size_t n)
{
	choir_comm *comm = atomic_exchange(&destroyed, NULL);
	pthread_t thread;
	choir_status st;
	bool closing = false;

	if (comm == NULL)
		return __real_keyed_hold(parts, n);
	assert_int_equal(pthread_create(&thread, NULL, destroy, comm), 0);
	while (!closing) {
		pthread_mutex_lock(&comm->submission.lock);
		closing = comm->submission.closing;
		pthread_mutex_unlock(&comm->submission.lock);
	}
	freed_early = engine_idle(comm);
	if (freed_early)
		return CHOIR_ABORTED;
	st = __real_keyed_hold(parts, n);
	pthread_join(thread, NULL);
	return st;
}

static void test_destroy_waits(void **state)
{
	choir_comm_config config = keyed_config(0);
	choir_device *device = world_device();
	choir_call call = with_key("late");
	choir_event *event = NULL;
	choir_comm *comm;

	(void)state;
	assert_int_equal(choir_comm_create_local(1, &device, &config, &comm), CHOIR_SUCCESS);
	assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
	assert_int_equal(choir_barrier(comm, &call, &event), CHOIR_SUCCESS);
	atomic_store(&destroyed, comm);
	assert_int_equal(choir_group_end(), CHOIR_SUCCESS);
	assert_false(freed_early);
	assert_int_equal(choir_event_wait(event, -1), CHOIR_SUCCESS);
	choir_event_release(event);
}

/* --- the table of keys is busy --- */

static void take_engine(choir_comm *comm)
{
	while (!engine_enter(&comm->engine))
		;
}

/* Rank 1 never makes the call, and has the table as rank 0's deadline passes, for one check or for ever. */
static void table_is_busy(struct world *world, int rank, choir_comm *comm, void *for_ever)
{
	_Atomic uint32_t *lock = (_Atomic uint32_t *)(void *)comm->keyed->board;
	choir_call call = with_key("sum");
	choir_event *event = NULL;
	struct run *ordered = NULL, *ended = NULL;
	int64_t end_ns;

	if (rank == 0) {
		take_engine(comm); /* so that nobody else drives or checks */
		OK(choir_barrier(comm, &call, &event));
		(void)keyed_drive(comm, &ordered, &ended);
		end_ns = wait_now_ns() + 60000 * INT64_C(1000000);
		atomic_store(lock, 1);
		keyed_check(comm, end_ns);
		CHECK(!comm_has_failed(comm));
		if (for_ever == NULL)
			atomic_store(lock, 0);
		keyed_check(comm, end_ns + (for_ever == NULL ? 1 : 1000000000));
		CHECK(comm_has_failed(comm));
		atomic_store(lock, 0);
		engine_leave(&comm->engine);
		IS(choir_event_wait(event, -1), CHOIR_TIMEOUT);
		CHECK(says(choir_event_error(event), for_ever == NULL ? "rank 1 has not made the call of key 'sum'"
		                                                      : "'sum' is not next|holds the table of keys"));
		choir_event_release(event);
	}
	line_up();
}

static void test_table_is_busy(void **state)
{
	choir_comm_config config = keyed_config(0);
	int for_ever = 1;

	(void)state;
	line_up_begin(2);
	world_run(2, &config, table_is_busy, NULL);
	world_run(2, &config, table_is_busy, &for_ever);
	line_up_end();
}

/* --- the first rank of a node stands still --- */

struct still {
	int n, per_node;
	int timed; /* the rank whose deadline passes */
	bool done; /* the call is complete on the other node, whose ranks drive nothing any more */
};

static choir_status start_still(choir_comm *comm, const struct still *still, int32_t *x, int rank,
                                choir_event **event_p)
{
	choir_call call = with_key("sum");

	call.deadline_ms = rank == still->timed ? 4000 : 0;
	if (still->done)
		return choir_broadcast(comm, choir_host(&x[0]), choir_host(&x[1]), 1, CHOIR_I32, 0, &call, event_p);
	return choir_allreduce(comm, choir_host(&x[0]), choir_host(&x[1]), 1, CHOIR_I32, CHOIR_OP_SUM, &call, event_p);
}

/* The first rank of the second node says the key and stands still before it is told that the key is next.  It is named,
 * not the ranks of the other node, which have begun, nor those of its node, which wait for it. */
static void first_stands_still(struct world *world, int rank, choir_comm *comm, void *still_p)
{
	const struct still *still = still_p;
	int first = still->per_node;
	bool done = still->done && rank < first;
	int32_t x[2] = { 1, 0 };
	choir_event *event = NULL;
	struct run *ordered = NULL, *ended = NULL;
	choir_status st;
	char wanted[40];

	if (rank != first)
		line_up();
	OK(start_still(comm, still, x, rank, &event));
	if (rank == first) {
		take_engine(comm);
		(void)keyed_drive(comm, &ordered, &ended);
		CHECK(ordered == NULL && ended == NULL);
		line_up();
		line_up();
		engine_leave(&comm->engine);
	}
	st = choir_event_wait(event, -1);
	snprintf(wanted, sizeof wanted, rank == 0 ? "waits for rank %d " : "rank %d has not passed on", first);
	if (rank == still->timed && (st != CHOIR_TIMEOUT || !says(choir_last_error(), wanted)))
		world_fail(world, rank, "%s: %s", choir_status_name(st), choir_last_error());
	CHECK((st == CHOIR_SUCCESS) == done);
	if (done)
		take_engine(comm);
	if (rank != first)
		line_up();
	if (done)
		engine_leave(&comm->engine);
	choir_event_release(event);
}

static void test_first_rank_is_named(void **state)
{
	static const struct still cases[] = {
		{ .n = 4, .per_node = 2, .timed = 3 },
		{ .n = 4, .per_node = 2, .timed = 0 },
		{ .n = 4, .per_node = 2, .timed = 3, .done = true },
		{ .n = 8, .per_node = 4, .timed = 6, .done = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		choir_comm_config config = keyed_config(cases[i].per_node);
		struct still still = cases[i];

		line_up_begin(still.n);
		world_run(still.n, &config, first_stands_still, &still);
		line_up_end();
	}
}

/* Rank 0 receives from rank 1, which first waits for a call of a key that rank 2 never makes: that one is named. */
static void sender_is_held(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call held = with_key("held"), timed = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	int32_t x = 0;

	(void)unused;
	held.deadline_ms = 20000; /* asks other nodes after a second */
	timed.deadline_ms = 3000;
	if (rank < 2)
		OK(choir_barrier(comm, &held, &event));
	line_up();
	if (rank == 0)
		SAYS(choir_recv(comm, choir_host(&x), 1, CHOIR_I32, 1, &timed, NULL), CHOIR_TIMEOUT,
		     "waits for rank 2 ");
	if (rank < 2)
		IS(choir_event_wait(event, -1), CHOIR_TIMEOUT);
	line_up();
	choir_event_release(event);
}

static void test_held_sender(void **state)
{
	(void)state;
	line_up_begin(3);
	for (int per_node = 0; per_node <= 2; per_node += 2) {
		choir_comm_config config = keyed_config(per_node);

		world_run(3, &config, sender_is_held, NULL);
	}
	line_up_end();
}

/* However long the key is, the sentence has room for what comes behind it. */
static void long_key(struct world *world, int rank, choir_comm *comm, void *unused)
{
	char key[700];
	choir_call call;

	(void)unused;
	memset(key, 'k', sizeof key);
	key[sizeof key - 1] = '\0';
	call = with_key(key);
	if (rank == 0)
		SAYS(choir_barrier(comm, &call, NULL), CHOIR_ABORTED,
		     "of key 'kkk|by rank 1, which destroyed its comm");
	if (rank == 1) {
		world->comms[rank] = NULL;
		OK(choir_comm_destroy(comm));
	}
}

static void test_long_key(void **state)
{
	choir_comm_config config = keyed_config(0);

	(void)state;
	world_run(2, &config, long_key, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_parts_or_none), cmocka_unit_test(test_destroy_waits),
		cmocka_unit_test(test_table_is_busy),     cmocka_unit_test(test_first_rank_is_named),
		cmocka_unit_test(test_held_sender),       cmocka_unit_test(test_long_key),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
