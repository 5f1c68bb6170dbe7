/* SPDX-License-Identifier: MIT */
/* The wait policy's table: how many rounds pass before a thread sleeps, and for how long. */
#include "base/wait.h"
#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rounds before the first sleep; fewer where a yield took long, as it may on a busy machine. */
static void check(struct wait_for why, bool is_slow, unsigned rounds, int64_t sleep_us)
{
	struct wait wait = { .is_slow = is_slow };
	bool excused = false;

	for (unsigned i = 0; i < rounds; i++) {
		bool taken = wait_cores_taken(); /* which the process remembers for a while */
		int64_t start = wait_now_ns(), us = wait_round(&wait, &why);

		if (us != 0) {
			assert_true(excused);
			break;
		}
		excused = taken || wait_now_ns() - start > 100000;
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(wait_round(&wait, &why), sleep_us);
	wait.rounds = 0; /* something moved */
	assert_int_equal(wait_round(&wait, &why), rounds > 0 ? 0 : sleep_us);
}

static cpu_set_t stay_on_one_core(void)
{
	cpu_set_t before, one;
	int core = 0;

	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	while (!CPU_ISSET(core, &before))
		core++;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	return before;
}

static unsigned rounds_until_sleep(bool polled)
{
	struct wait wait = { 0 };
	struct wait_for why = { .polled = polled, .blocking = true };
	unsigned rounds = 0;

	while (wait_round(&wait, &why) == 0)
		rounds++;
	return rounds;
}

static pid_t burn_in_another_process(void)
{
	pid_t other = fork();

	if (other == 0)
		for (alarm(60);;)
			wait_spin();
	assert_true(other > 0);
	return other;
}

static void kill_process(pid_t other)
{
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

/* Another process wants this core: the next wait knows it, spins less and does not yield. */
static void a_core_taken_by_others(void **state)
{
	cpu_set_t before = stay_on_one_core();
	bool remembered = false;
	pid_t other = burn_in_another_process();

	(void)state;
	for (int i = 0; i < 2000 && !remembered; i++) {
		(void)rounds_until_sleep(false);
		remembered = wait_cores_taken() && rounds_until_sleep(false) <= 65 && wait_cores_taken();
	}
	kill_process(other);
	sched_setaffinity(0, sizeof before, &before);
	assert_true(remembered);
}

/* No doorbell rings when a polled message arrives: a yield that took long ends the yields of that wait alone, and what
 * other waits remember does not end them. */
static void polls_on_a_taken_core(void **state)
{
	cpu_set_t before = stay_on_one_core();
	bool ended = false, told = false, taken;
	unsigned most = 0;
	pid_t other = burn_in_another_process();

	(void)state;
	while (wait_cores_taken()) /* an earlier test's memory, of half a second at most */
		wait_sleep_us(1000);
	for (int i = 0; i < 2000 && !ended; i++) {
		ended = rounds_until_sleep(true) < 4400;
		told |= wait_cores_taken();
	}
	for (int i = 0; i < 2000 && !wait_cores_taken(); i++)
		(void)rounds_until_sleep(false);
	taken = wait_cores_taken();
	kill_process(other);
	while (wait_cores_taken()) {
		unsigned rounds = rounds_until_sleep(true);

		if (wait_cores_taken() && rounds > most)
			most = rounds;
	}
	sched_setaffinity(0, sizeof before, &before);
	assert_true(ended);
	assert_false(told);
	assert_true(taken);
	assert_in_range(most, 402, 4400); /* 401: it ends with its first yield */
}

static _Atomic bool burns;

static void *burn(void *unused)
{
	(void)unused;
	while (atomic_load(&burns))
		;
	return NULL;
}

static int yields_until_sleep(void)
{
	struct wait wait = { .rounds = 400 };
	struct wait_for why = { .blocking = true };
	int yields = 0;

	while (wait_round(&wait, &why) == 0)
		yields++;
	return yields;
}

/* Another thread wants this core: a few yields, then sleep.  Whether a yield gives the core away is the scheduler's
 * choice, so one wait of many will do. */
static void a_taken_core(void **state)
{
	cpu_set_t before = stay_on_one_core();
	pthread_t thread;
	int yields = 0, tries = 0;

	(void)state;
	atomic_store(&burns, true);
	assert_int_equal(pthread_create(&thread, NULL, burn, NULL), 0);
	do
		yields = yields_until_sleep();
	while (yields > 300 && ++tries < 100);
	atomic_store(&burns, false);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof before, &before);
	assert_in_range(yields, 1, 300);
}

static void every_row(void **state)
{
	(void)state;
	check((struct wait_for){ .device = true }, false, 2400, 50);
	check((struct wait_for){ .device = true, .polled = true, .blocking = true }, false, 2400, 50);
	check((struct wait_for){ .device = true, .shares = true }, false, 2000, 50);
	check((struct wait_for){ .rings = true }, false, 460, 1000);
	check((struct wait_for){ .rings = true, .blocking = true }, false, 1400, 1000);
	check((struct wait_for){ .rings = true, .blocking = true, .shares = true }, false, 60, 1000);
	check((struct wait_for){ .rings = true, .device = true }, false, 2400, 50);
	check((struct wait_for){ .rings = true, .polled = true }, false, 460, 200);
	check((struct wait_for){ .polled = true }, false, 460, 200);
	check((struct wait_for){ .polled = true }, true, 20, 50);
	check((struct wait_for){ .timed = true }, false, 460, 200);
	check((struct wait_for){ .timed = true }, true, 20, 50);
	check((struct wait_for){ .polled = true, .blocking = true }, false, 4400, 200);
	check((struct wait_for){ .polled = true, .blocking = true }, true, 4400, 200);
	check((struct wait_for){ .polled = true, .crowded = true }, true, 4, 50);
	check((struct wait_for){ .blocking = true }, true, 1000, 20000);
	check((struct wait_for){ .blocking = true, .crowded = true }, false, 60, 20000);
	check((struct wait_for){ .blocking = false }, false, 460, 20000);
}

static void a_wait_becomes_slow(void **state)
{
	struct wait wait = { 0 };

	(void)state;
	wait_look_at_clock(&wait, 5000);
	assert_false(wait.is_slow);
	wait_look_at_clock(&wait, 5000 + 1999999);
	assert_false(wait.is_slow);
	wait_look_at_clock(&wait, 5000 + 2000000);
	assert_true(wait.is_slow);
}

static void ends(void **state)
{
	int64_t now = wait_now_ns(), end = wait_end_ns(1000);

	(void)state;
	assert_true(end >= now + 1000000000 && end <= wait_now_ns() + 1000000000);
	assert_true(wait_end_ns(-1) == INT64_MAX);
	assert_true(wait_end_ns(INT64_MAX) == INT64_MAX);
	assert_true(wait_end_ns(INT64_MAX / 1000000) == INT64_MAX);
}

static void inline_rounds(void **state)
{
	(void)state;
	assert_int_equal(wait_inline_rounds(WAIT_STATES, false), 2000);
	assert_int_equal(wait_inline_rounds(WAIT_STEP, false), 500);
	assert_int_equal(wait_inline_rounds(WAIT_PIECE, false), 64);
	assert_int_equal(wait_inline_rounds(WAIT_STATES, true), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_row),
		                            cmocka_unit_test(a_wait_becomes_slow),
		                            cmocka_unit_test(ends),
		                            cmocka_unit_test(inline_rounds),
		                            cmocka_unit_test(a_taken_core),
		                            cmocka_unit_test(a_core_taken_by_others),
		                            cmocka_unit_test(polls_on_a_taken_core) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
