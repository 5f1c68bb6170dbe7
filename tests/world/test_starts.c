/* SPDX-License-Identifier: MIT */
/* Comms that are made without blocking: created, of a list of members; by one thread for all ranks. */
#include "world/gate.h"

#include <choir/transport.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 8, FACTS = 1 << 16 };

/* --- an allgather of threads --- */

struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t all_here;
	int n, here;
	unsigned round;
	bool broken;
	unsigned char facts[MOST_RANKS][FACTS];
	struct seat {
		struct meeting *meeting;
		int rank;
		int ended; /* so often; no gather is behind it */
	} seats[MOST_RANKS];
};

static void meet(struct meeting *m, int n)
{
	memset(m, 0, sizeof *m);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->all_here, NULL);
	m->n = n;
	for (int i = 0; i < n; i++)
		m->seats[i] = (struct seat){ m, i, 0 };
}

/* Waits until all are here; the last one opens the next round. */
static void line_up_in(struct meeting *m)
{
	unsigned round = m->round;

	if (++m->here == m->n) {
		m->here = 0;
		m->round++;
		pthread_cond_broadcast(&m->all_here);
	}
	while (m->round == round && !m->broken)
		pthread_cond_wait(&m->all_here, &m->lock);
}

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct seat *seat = ctx;
	struct meeting *m = seat->meeting;
	int rc;

	if (bytes > FACTS || seat->ended > 0)
		return 1;
	pthread_mutex_lock(&m->lock);
	memcpy(m->facts[seat->rank], mine, bytes);
	line_up_in(m);
	for (int i = 0; i < m->n; i++)
		memcpy((unsigned char *)all + (size_t)i * bytes, m->facts[i], bytes);
	line_up_in(m);
	rc = m->broken;
	pthread_mutex_unlock(&m->lock);
	return rc;
}

static void break_up(struct meeting *m)
{
	pthread_mutex_lock(&m->lock);
	m->broken = true;
	pthread_cond_broadcast(&m->all_here);
	pthread_mutex_unlock(&m->lock);
}

static void leave(void *ctx)
{
	((struct seat *)ctx)->ended++;
	(void)choir_event_wait(NULL, 0); /* another error than that of the create */
}

static choir_bootstrap seat_of(struct meeting *m, int rank)
{
	return (choir_bootstrap){ sizeof(choir_bootstrap), rank, m->n, gather, &m->seats[rank], leave };
}

/* --- created --- */

static void sums_work(int n, choir_comm *const *comms)
{
	struct sum sums[MOST_RANKS];

	for (int i = 0; i < n; i++)
		assert_int_equal(sum_start(&sums[i], comms[i], 100, 1, NULL, true), CHOIR_SUCCESS);
	for (int i = 0; i < n; i++) {
		assert_int_equal(choir_event_wait(sums[i].event, -1), CHOIR_SUCCESS);
		assert_true(sum_is(&sums[i], n));
		sum_free(&sums[i]);
	}
}

static void end(choir_event *event, choir_status wanted)
{
	assert_int_equal(choir_event_wait(event, -1), wanted);
	assert_int_equal(choir_event_status(event), wanted);
	choir_event_release(event);
}

/* The event is a dep of a call, and has callbacks. */
static void note(void *ctx, choir_status status)
{
	*(_Atomic int *)ctx += status == CHOIR_SUCCESS ? 1 : 100;
}

/* Its process has no rank yet. */
static void is_being_made(choir_event *event, choir_comm *comm)
{
	cl_event never = NULL;

	assert_null(comm);
	assert_int_equal(choir_event_wait(event, 1), CHOIR_TIMEOUT);
	assert_true(says(choir_last_error(), "the event was not complete after 1 ms of waiting"));
	assert_null(strstr(choir_last_error(), "rank"));
	assert_int_equal(choir_event_to_cl(event, &never), CHOIR_ARGUMENT);
	assert_true(says(choir_last_error(), "being made"));
}

static void create(int n)
{
	static struct meeting m;
	choir_device *device = world_device();
	choir_comm *comms[MOST_RANKS];
	choir_event *events[MOST_RANKS];
	_Atomic int noted = 0;
	char name[] = "started";

	meet(&m, n);
	for (int i = 0; i < n; i++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		choir_bootstrap bootstrap = seat_of(&m, i);
		char own[sizeof name];

		memcpy(own, name, sizeof own);
		config.name = own;
		comms[i] = (choir_comm *)(void *)&m; /* is NULL from the call on */
		assert_int_equal(choir_comm_create_start(&bootstrap, 1, &device, &config, &comms[i], &events[i]),
		                 CHOIR_SUCCESS);
		if (i + 1 < n)
			is_being_made(events[i], comms[i]); /* the last rank is not there yet */
		assert_int_equal(choir_event_on_complete(events[i], note, &noted), CHOIR_SUCCESS);
		memset(own, 'x', sizeof own - 1);
	}
	for (int i = 0; i < n; i++)
		end(events[i], CHOIR_SUCCESS);
	for (int i = 0; i < n; i++) {
		assert_int_equal(m.seats[i].ended, 1);
		assert_int_equal(choir_comm_size(comms[i]), n);
		assert_int_equal(choir_comm_rank(comms[i]), i);
	}
	sums_work(n, comms);
	for (int i = 0; i < n; i++)
		assert_int_equal(choir_comm_destroy(comms[i]), CHOIR_SUCCESS);
	while (noted < n) /* a callback runs behind the end of the wait */
		sched_yield();
	assert_int_equal(noted, n);
}

static void test_create(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		create(sizes[i]);
}

/* Without a bootstrap: the ranks of this process. */
static void test_create_local(void **state)
{
	choir_device *devices[3] = { world_device(), world_device(), world_device() };
	choir_comm *comms[3];
	choir_event *event;

	(void)state;
	assert_int_equal(choir_comm_create_start(NULL, 3, devices, NULL, comms, &event), CHOIR_SUCCESS);
	devices[0] = NULL; /* the array was copied */
	end(event, CHOIR_SUCCESS);
	sums_work(3, comms);
	for (int i = 0; i < 3; i++)
		choir_comm_destroy(comms[i]);
}

/* --- failures --- */

static _Atomic int destroyed;

static void destroy_transport(choir_transport *transport)
{
	(void)transport;
	destroyed++;
}

/* Both ranks wait in a gather that ends with a failure; the transport goes with it. */
static void test_create_fails(void **state)
{
	static const choir_transport_ops ops = { .struct_size = sizeof ops,
		                                 .name = "none",
		                                 .destroy = destroy_transport };
	static struct meeting m;
	choir_transport transport = { .ops = &ops, .rank = 0, .size = 3 };
	choir_device *device = world_device();
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *comms[2];
	choir_event *events[2];
	int done;

	(void)state;
	meet(&m, 3);
	config.transport = &transport;
	for (int i = 0; i < 2; i++) {
		choir_bootstrap bootstrap = seat_of(&m, i);

		assert_int_equal(
		    choir_comm_create_start(&bootstrap, 1, &device, i == 0 ? &config : NULL, &comms[i], &events[i]),
		    CHOIR_SUCCESS);
	}
	assert_int_equal(choir_event_test(events[0], &done), CHOIR_SUCCESS);
	assert_int_equal(done, 0);
	assert_int_equal(choir_event_wait(events[1], 1), CHOIR_TIMEOUT);
	break_up(&m);
	for (int i = 0; i < 2; i++) {
		choir_status st = choir_event_wait(events[i], -1);

		assert_int_not_equal(st, CHOIR_SUCCESS);
		assert_true(says(choir_event_error(events[i]), "choir_comm_create_start"));
		end(events[i], st);
		assert_int_equal(m.seats[i].ended, 1);
		assert_null(comms[i]);
		assert_int_equal(choir_comm_destroy(comms[i]), CHOIR_SUCCESS);
	}
	assert_int_equal(destroyed, 1);
}

static void test_create_refuses(void **state)
{
	static const choir_transport_ops ops = { .struct_size = sizeof ops,
		                                 .name = "none",
		                                 .destroy = destroy_transport };
	choir_transport transport = { .ops = &ops, .rank = 0, .size = 1 };
	choir_device *device = world_device(), *none = NULL;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_bootstrap bootstrap = { sizeof bootstrap, 0, 1, NULL, NULL, NULL };
	choir_comm *comm;
	choir_event *event;
	cl_event made;
	int before = destroyed;

	(void)state;
	config.transport = &transport;
	assert_int_equal(choir_comm_create_start(NULL, 1, &device, &config, &comm, NULL), CHOIR_ARGUMENT);
	assert_int_equal(choir_comm_create_start(NULL, 1, &device, &config, NULL, &event), CHOIR_ARGUMENT);
	assert_int_equal(choir_comm_create_start(NULL, 1, &none, &config, &comm, &event), CHOIR_ARGUMENT);
	assert_int_equal(choir_comm_create_start(NULL, 0, &device, &config, &comm, &event), CHOIR_ARGUMENT);
	assert_int_equal(choir_comm_create_start(&bootstrap, 1, &device, &config, &comm, &event), CHOIR_ARGUMENT);
	assert_true(says(choir_last_error(), "choir_comm_create_start|without gather"));
	config.struct_size = sizeof config + 64;
	assert_int_equal(choir_comm_create(&bootstrap, 1, &device, &config, &comm), CHOIR_ARGUMENT);
	assert_int_equal(destroyed - before, 6);
	config.transport = NULL;
	config.struct_size = 4;
	assert_int_equal(choir_comm_create_start(NULL, 1, &device, &config, &comm, &event), CHOIR_ARGUMENT);
	config.struct_size = sizeof config;
	config.deadline_ms = -1;
	assert_int_equal(choir_comm_create_start(NULL, 1, &device, &config, &comm, &event), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(event, -1), CHOIR_ARGUMENT);
	assert_true(says(choir_event_error(event), "negative value in config"));
	assert_int_equal(choir_event_to_cl(event, &made), CHOIR_ARGUMENT);
	choir_event_release(event);
	assert_null(comm);
}

/* --- a list of members --- */

static void test_group(void **state)
{
	static const int ranks[] = { 4, 0, 2 };
	int list[3];
	choir_comm *rows[5], *found, *in_order[3];
	choir_event *events[5];
	struct world world;

	(void)state;
	world_begin(&world, 5, NULL);
	for (int i = 0; i < 5; i++) {
		char name[] = "rows";

		memcpy(list, ranks, sizeof list);
		if (i == 3) /* needs not call */
			continue;
		assert_int_equal(
		    choir_comm_create_group_start(world.comms[i], name, list, 3, NULL, &rows[i], &events[i]),
		    CHOIR_SUCCESS);
		memset(name, 'x', sizeof name - 1);
		memset(list, 0, sizeof list);
	}
	for (int i = 0; i < 5; i++)
		if (i % 2 == 0)
			end(events[i], CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(events[1], -1), CHOIR_ARGUMENT);
	assert_true(says(choir_event_error(events[1]), "rank 1 of|is not part of the group 'rows'"));
	choir_event_release(events[1]);
	assert_null(rows[1]);
	assert_int_equal(choir_comm_find(world.comms[4], "rows", &found), CHOIR_SUCCESS);
	assert_ptr_equal(found, rows[4]);
	for (int i = 0; i < 3; i++)
		in_order[i] = rows[ranks[i]];
	sums_work(3, in_order);
	for (int i = 0; i < 3; i++)
		choir_comm_destroy(in_order[i]);
	assert_int_equal(choir_comm_create_group_start(world.comms[0], NULL, ranks, 3, NULL, &rows[0], &events[0]),
	                 CHOIR_ARGUMENT);
	assert_int_equal(choir_comm_create_group_start(world.comms[0], "rows", ranks, 6, NULL, &rows[0], &events[0]),
	                 CHOIR_ARGUMENT);
	assert_true(says(choir_last_error(), "n_ranks is 6|has 5 ranks"));
	assert_int_equal(choir_comm_create_group_start(NULL, "rows", ranks, 3, NULL, &rows[0], &events[0]),
	                 CHOIR_ARGUMENT);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),       cmocka_unit_test(test_create_local),
		cmocka_unit_test(test_create_fails), cmocka_unit_test(test_create_refuses),
		cmocka_unit_test(test_group),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
