/* SPDX-License-Identifier: MIT */
/* Lifetimes: threads that end, and comms that are destroyed, while others use what they leave. */
#include "exec/comm.h"
#include "exec/event.h"
#include "exec/thread.h"
#include "world/gate.h"

#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 16 };

static struct timespec in_ms(int64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* A thread that does not end within 20 s is a failure, and the end of the program: it uses what the test would free. */
static void join(pthread_t thread, const char *what)
{
	struct timespec end = in_ms(20000);

	if (pthread_timedjoin_np(thread, NULL, &end) == 0)
		return;
	fprintf(stderr, "%s has not returned after 20 s\n", what);
	_exit(1);
}

/* --- threads --- */

struct caller {
	pthread_t thread;
	choir_comm *comm;
	int times;
	int64_t last_ms; /* the deadline of the last call; 0 = the comm's, as of those before */
	choir_status status;
	char text[256];
};

static void *call_once(void *arg)
{
	struct caller *caller = arg;

	line_up();
	caller->status = sum_works(caller->comm, COUNT) ? CHOIR_SUCCESS : CHOIR_ARGUMENT;
	snprintf(caller->text, sizeof caller->text, "%s", choir_last_error());
	return NULL;
}

/* Each round two new threads make one blocking call each, one a rank, and end: a thread gets what the system kept of an
 * older one. */
static void test_new_threads(void **state)
{
	struct caller callers[2];
	struct world world;

	(void)state;
	world_begin(&world, 2, NULL);
	line_up_begin(2);
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 2; i++) {
			struct caller *caller = &callers[(i + round) % 2];

			caller->comm = world.comms[(i + round) % 2];
			assert_int_equal(pthread_create(&caller->thread, NULL, call_once, caller), 0);
		}
		for (int i = 0; i < 2; i++)
			pthread_join(callers[i].thread, NULL);
		for (int i = 0; i < 2; i++)
			if (callers[i].status != CHOIR_SUCCESS)
				fail_msg("round %d, rank %d: %s", round, i, callers[i].text);
	}
	line_up_end();
	world_end(&world);
}

/* --- a thread that ends with its group open --- */

/* Of a call that waits for rank 1. */
struct grouped {
	struct sum sum;
	choir_status status;
};

/* As group_add does; the runs of a group that is left open would never be freed. */
static void *mark_as_grouped(void *arg)
{
	struct grouped *grouped = arg;

	atomic_store(&grouped->sum.event->grouped_by, this_thread());
	grouped->status = choir_event_wait(grouped->sum.event, 0);
	return NULL;
}

static void *wait_at_once(void *arg)
{
	struct grouped *grouped = arg;

	grouped->status = choir_event_wait(grouped->sum.event, 0);
	return NULL;
}

static choir_status status_of(void *(*fn)(void *), struct grouped *grouped)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, fn, grouped), 0);
	pthread_join(thread, NULL);
	return grouped->status;
}

/* Later threads, which get what the system kept of that one, are not taken for it. */
static void test_group_of_an_ended_thread(void **state)
{
	struct grouped grouped;
	struct world world;
	struct sum other;

	(void)state;
	world_begin(&world, 2, NULL);
	assert_int_equal(sum_start(&grouped.sum, world.comms[0], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	assert_int_equal(status_of(mark_as_grouped, &grouped), CHOIR_WOULD_DEADLOCK);
	for (int i = 0; i < 20; i++)
		assert_int_equal(status_of(wait_at_once, &grouped), CHOIR_TIMEOUT);
	atomic_store(&grouped.sum.event->grouped_by, 0);
	assert_int_equal(sum_start(&other, world.comms[1], COUNT, 1, NULL, false), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(grouped.sum.event, -1), CHOIR_SUCCESS);
	sum_free(&grouped.sum);
	sum_free(&other);
	world_end(&world);
}

/* --- destroy with calls in flight --- */

static void *call_often(void *arg)
{
	struct caller *caller = arg;
	float in[COUNT] = { 1 }, out[COUNT];

	for (int i = 0; i < caller->times; i++) {
		if (i + 1 == caller->times && caller->last_ms > 0)
			caller->comm->deadline_ms = caller->last_ms;
		caller->status = choir_allreduce(caller->comm, choir_host(in), choir_host(out), COUNT, CHOIR_F32,
		                                 CHOIR_OP_SUM, NULL, NULL);
	}
	snprintf(caller->text, sizeof caller->text, "%s", choir_last_error());
	return NULL;
}

/* Rank 0 makes one call more than rank 1, and its comm is destroyed as soon as that call has its number. */
static void destroy_in_call(int times)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct caller callers[2];
	struct arena_control *control;
	struct world world;

	config.deadline_ms = 20000;
	world_begin(&world, 2, &config);
	control = arena_control(world.comms[0]->arena, 0);
	for (int i = 0; i < 2; i++) {
		callers[i] =
		    (struct caller){ .comm = world.comms[i], .times = times + (i == 0), .last_ms = i == 0 ? 100 : 0 };
		assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
	}
	while (atomic_load(&control->submitted) <= (uint64_t)times)
		sched_yield();
	choir_comm_destroy(world.comms[0]);
	world.comms[0] = NULL;
	join(callers[0].thread, "a call on a destroyed comm");
	join(callers[1].thread, "the peer");
	if (callers[0].status != CHOIR_TIMEOUT && callers[0].status != CHOIR_ABORTED)
		fail_msg("%s: %s", choir_status_name(callers[0].status), callers[0].text);
	world_end(&world);
}

static void test_destroy_in_call(void **state)
{
	(void)state;
	for (int trial = 0; trial < 8; trial++)
		destroy_in_call(trial % 2 ? 4
		                          : 0); /* a call that is made for the first time, and one that is repeated */
}

struct slow {
	choir_comm *comm;
	sem_t in_callback, destroyed;
	choir_event *event;
	choir_status waited;
};

/* Until the comm has failed, and then as long as the destroying thread might give up, or until it has. */
static choir_status slow_callback(void *ctx, choir_buffer ind, size_t n_ind, choir_dtype ind_dtype, choir_buffer val,
                                  size_t n_val, choir_dtype val_dtype)
{
	struct slow *slow = ctx;
	struct timespec end;

	(void)ind, (void)n_ind, (void)ind_dtype, (void)val, (void)n_val, (void)val_dtype;
	sem_post(&slow->in_callback);
	while (atomic_load(&slow->comm->failure.status) == CHOIR_SUCCESS)
		sched_yield();
	end = in_ms(1500);
	(void)sem_timedwait(&slow->destroyed, &end);
	return CHOIR_SUCCESS;
}

static void *wait_for_event(void *arg)
{
	struct slow *slow = arg;

	slow->waited = choir_event_wait(slow->event, -1);
	return NULL;
}

/* Without a buffer for the result, which goes to the callback, if there is one. */
static choir_status start_sparse(choir_comm *comm, const choir_sparse_attr *attr, choir_event **event_p)
{
	static int32_t ind[3] = { 5, 1, 5 };
	static float val[3] = { 1, 2, 3 };
	static size_t n_ind, n_val;

	n_ind = n_val = 0;
	return choir_sparse_allreduce(comm, choir_host(ind), 3, choir_host(val), 3, choir_none(), &n_ind, choir_none(),
	                              &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, attr, NULL, event_p);
}

static void destroy_in_callback(bool aborts)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct slow slow = { .waited = CHOIR_SUCCESS };
	struct world world;
	pthread_t waiter;
	int done = 0;

	sem_init(&slow.in_callback, 0, 0);
	sem_init(&slow.destroyed, 0, 0);
	config.deadline_ms = 20000;
	attr.completion_fn = slow_callback;
	attr.fn_ctx = &slow;
	world_begin(&world, 1, &config);
	slow.comm = world.comms[0];
	assert_int_equal(start_sparse(world.comms[0], &attr, &slow.event), CHOIR_SUCCESS);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_event, &slow), 0);
	sem_wait(&slow.in_callback);
	world.comms[0]->deadline_ms = 100; /* that of the destruction: the call may take long to its callback */
	if (aborts)
		assert_int_equal(choir_comm_abort(world.comms[0]), CHOIR_SUCCESS);
	assert_int_equal(choir_comm_destroy(world.comms[0]), aborts ? CHOIR_SUCCESS : CHOIR_TIMEOUT);
	sem_post(&slow.destroyed);
	world.comms[0] = NULL;
	assert_int_equal(choir_event_test(slow.event, &done), CHOIR_SUCCESS);
	assert_int_equal(done, 1);
	join(waiter, "the wait for an event of a destroyed comm");
	assert_int_equal(slow.waited, aborts ? CHOIR_ABORTED : CHOIR_TIMEOUT);
	choir_event_release(slow.event);
	world_end(&world);
}

static void test_destroy_in_callback(void **state)
{
	(void)state;
	destroy_in_callback(false);
	destroy_in_callback(true);
}

/* Callbacks of events that run for longer than the destroying thread waits for calls. */
struct slow_done {
	sem_t in_callback;
	_Atomic int begun, ended;
	_Atomic choir_status last;
};

static void take_long(void *ctx, choir_status status)
{
	enum { LONG_MS = 400 };
	struct slow_done *slow = ctx;

	slow->last = status;
	slow->begun++;
	sem_post(&slow->in_callback);
	nanosleep(&(struct timespec){ 0, LONG_MS * 1000000 }, NULL);
	slow->ended++;
}

static void *wait_for_sum(void *arg)
{
	struct grouped *grouped = arg;

	grouped->status = choir_event_wait(grouped->sum.event, -1);
	return NULL;
}

/* The callback of a sum that came out runs when the comm is destroyed, which ends another sum, for which rank 1 has not
 * called: its callback takes as long. */
static void destroy_in_event_callback(bool aborts)
{
	choir_status wanted = aborts ? CHOIR_ABORTED : CHOIR_TIMEOUT;
	struct grouped sums[2];
	struct slow_done slow = { .begun = 0 };
	struct timespec start, end;
	struct world world;
	struct sum peer;
	pthread_t waiters[2];

	sem_init(&slow.in_callback, 0, 0);
	world_begin(&world, 2, NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sum_start(&sums[i].sum, world.comms[0], COUNT, 1, NULL, true), CHOIR_SUCCESS);
		assert_int_equal(choir_event_on_complete(sums[i].sum.event, take_long, &slow), CHOIR_SUCCESS);
		assert_int_equal(pthread_create(&waiters[i], NULL, wait_for_sum, &sums[i]), 0);
	}
	assert_int_equal(sum_start(&peer, world.comms[1], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	sem_wait(&slow.in_callback);
	assert_int_equal(slow.last, CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(peer.event, -1), CHOIR_SUCCESS); /* before it can be aborted, too */
	world.comms[0]->deadline_ms = 100;
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (aborts)
		assert_int_equal(choir_comm_abort(world.comms[0]), CHOIR_SUCCESS);
	assert_int_equal(slow.ended, 0);
	assert_int_equal(choir_comm_destroy(world.comms[0]), aborts ? CHOIR_SUCCESS : CHOIR_TIMEOUT);
	world.comms[0] = NULL;
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - start.tv_sec < 5);
	assert_int_equal(choir_event_status(sums[1].sum.event), wanted);
	assert_int_equal(slow.begun, 2); /* and none is left to begin or to end behind the comm */
	assert_int_equal(slow.ended, 2);
	assert_int_equal(slow.last, wanted);
	for (int i = 0; i < 2; i++) {
		join(waiters[i], "the wait for an event with a slow callback");
		assert_int_equal(sums[i].status, i == 0 ? CHOIR_SUCCESS : wanted);
		sum_free(&sums[i].sum);
	}
	sum_free(&peer);
	world_end(&world);
}

static void test_destroy_in_event_callback(void **state)
{
	(void)state;
	destroy_in_event_callback(false);
	destroy_in_event_callback(true);
}

/* Many threads wait for an event that completes while the comm is destroyed. */
static void *wait_lined_up(void *arg)
{
	line_up();
	(void)choir_event_wait(arg, -1);
	return NULL;
}

static void test_destroy_among_waiters(void **state)
{
	enum { WAITERS = 6 };

	(void)state;
	line_up_begin(WAITERS + 1);
	for (int round = 0; round < 60; round++) {
		pthread_t waiters[WAITERS];
		struct sum sums[2];
		struct world world;

		world_begin(&world, 2, NULL);
		assert_int_equal(sum_start(&sums[0], world.comms[0], COUNT, 1, NULL, true), CHOIR_SUCCESS);
		for (int i = 0; i < WAITERS; i++)
			assert_int_equal(pthread_create(&waiters[i], NULL, wait_lined_up, sums[0].event), 0);
		line_up();
		assert_int_equal(sum_start(&sums[1], world.comms[1], COUNT, 1, NULL, true), CHOIR_SUCCESS);
		world_end(&world);
		for (int i = 0; i < WAITERS; i++)
			join(waiters[i], "a waiter");
		for (int i = 0; i < 2; i++) {
			assert_true(sum_is(&sums[i], 2));
			sum_free(&sums[i]);
		}
	}
	line_up_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_new_threads),
		                            cmocka_unit_test(test_group_of_an_ended_thread),
		                            cmocka_unit_test(test_destroy_in_call),
		                            cmocka_unit_test(test_destroy_in_callback),
		                            cmocka_unit_test(test_destroy_in_event_callback),
		                            cmocka_unit_test(test_destroy_among_waiters) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
