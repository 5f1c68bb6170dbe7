/* SPDX-License-Identifier: MIT */
/* A thread whose last look before it sleeps finds that another one drives its rank sleeps for a short time, since
 * nobody rings when the other one leaves. */
#include "base/wait.h"
#include "exec/engine.h"
#include "node/bell.h"
#include "world/gate.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>

#include <cmocka.h>

enum { COUNT = 10, SLEEPS = 20 };

static _Atomic int64_t longest_us;
static _Atomic int sleeps, own_sleeps; /* of any thread, and of the one that waits for the call */
static _Thread_local bool is_waiter;

void __real_bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us);
void __wrap_bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us);

void __wrap_bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us)
{
	if (timeout_us > atomic_load(&longest_us))
		atomic_store(&longest_us, timeout_us);
	atomic_fetch_add(is_waiter ? &own_sleeps : &sleeps, 1);
	__real_bell_sleep(bell, seen, timeout_us);
}

static void *wait_for_sum(void *sum)
{
	is_waiter = true;
	return (void *)(intptr_t)choir_event_wait(((struct sum *)sum)->event, -1);
}

/* This thread holds the right to drive while a call is submitted, for which the background thread or another one
 * waits. */
static void sleep_beside_a_driver(bool waits)
{
	struct world world;
	pthread_t thread;
	struct sum sum;
	void *st = NULL;

	world_begin(&world, 1, NULL);
	while (!engine_enter(&world.comms[0]->engine))
		sched_yield();
	assert_int_equal(sum_start(&sum, world.comms[0], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	if (waits)
		assert_int_equal(pthread_create(&thread, NULL, wait_for_sum, &sum), 0);
	atomic_store(&sleeps, 0);
	atomic_store(&own_sleeps, 0);
	atomic_store(&longest_us, 0);
	while (atomic_load(waits ? &own_sleeps : &sleeps) < SLEEPS)
		sched_yield();
	assert_true(atomic_load(&longest_us) <= WAIT_BESIDE_DRIVER_US);
	engine_leave(&world.comms[0]->engine);
	if (waits)
		assert_int_equal(pthread_join(thread, &st), 0);
	assert_int_equal((intptr_t)st, CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(sum.event, -1), CHOIR_SUCCESS);
	assert_true(sum_is(&sum, 1));
	sum_free(&sum);
	world_end(&world);
}

static void test_background(void **state)
{
	(void)state;
	sleep_beside_a_driver(false);
}

static void test_waiter(void **state)
{
	(void)state;
	sleep_beside_a_driver(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_background), cmocka_unit_test(test_waiter) };
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return rc;
}
