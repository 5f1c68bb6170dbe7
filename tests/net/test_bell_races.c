/* SPDX-License-Identifier: MIT */
/* Rings and sleeps at the same moments, with ringers' fences and, between processes that are bound to a core each, with
 * the sleepers' membarrier.  A lost wake-up shows as a test that does not end: nobody here sleeps with a limit. */
#include "bells.h"

#include <pthread.h>
#include <sched.h>

/* A ring and an arm as close to each other as can be, again and again: only the fences decide here.  Both sides start a
 * round together and then wait a few turns of a loop, by lot.  Stores to lines that the other side owns stand before
 * the ringer's own in its store buffer and hold it up there.  Where both have one core a round takes a turn of the
 * scheduler, and races nothing: the time is limited. */
enum { CLOSE_ROUNDS = 100000, CLOSE_US = 5000000, COLD_LINES = 24 };

struct duel {
	_Alignas(64) _Atomic uint32_t ready[2];
	_Alignas(64) _Atomic uint32_t work;
	_Alignas(64) _Atomic uint32_t last; /* the last round; changed before the sleeper is ready for it */
	struct {
		_Alignas(64) _Atomic uint32_t word;
	} cold[COLD_LINES];
};

static void start_together(struct duel *duel, int me, uint32_t round)
{
	atomic_store(&duel->ready[me], round);
	for (int spins = 0; atomic_load(&duel->ready[!me]) < round; spins++)
		if (spins % 2000 == 1999)
			sched_yield();
	for (volatile uint64_t n = random_mix(round * 2 + (uint32_t)me) % 64; n > 0; n--)
		;
}

static void ring_each_round(struct duel *duel, struct bell *bell)
{
	for (uint32_t round = 1; round <= atomic_load(&duel->last); round++) {
		start_together(duel, 0, round);
		for (int i = 0; i < COLD_LINES; i++)
			atomic_store_explicit(&duel->cold[i].word, round, memory_order_relaxed);
		atomic_store_explicit(&duel->work, round, memory_order_release);
		bell_ring(bell);
	}
}

static void sleep_each_round(struct duel *duel)
{
	int64_t end = now_us() + CLOSE_US;

	for (uint32_t round = 1; round <= atomic_load(&duel->last); round++) {
		if (round % 64 == 0 && now_us() > end)
			atomic_store(&duel->last, round);
		for (int i = 0; i < COLD_LINES; i++)
			atomic_store_explicit(&duel->cold[i].word, round, memory_order_relaxed);
		start_together(duel, 1, round);
		await(bell_mine(), &duel->work, round);
	}
}

static void *duel_ringer(void *ctx)
{
	ring_each_round(ctx, bell_mine());
	return NULL;
}

static void threads_race(void **state)
{
	struct duel duel = { .last = CLOSE_ROUNDS };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, duel_ringer, &duel), 0);
	sleep_each_round(&duel);
	pthread_join(thread, NULL);
}

struct bound {
	struct duel duel;
	struct table table;
	bool ringers_fence;
};

/* The side-th core of those that this process may use. */
static void bind_to_core(int side)
{
	cpu_set_t all, one;
	int core = -1;

	REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
	CPU_ZERO(&one);
	while (side >= 0 && ++core < CPU_SETSIZE)
		side -= CPU_ISSET(core, &all) != 0;
	REQUIRE(core < CPU_SETSIZE);
	CPU_SET(core, &one);
	REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void bound_ringer(void *ctx)
{
	struct bound *bound = ctx;

	bind_to_core(0);
	struct bell *theirs = meet(&bound->table, 0);
	ring_each_round(&bound->duel, theirs);
	bell_close(theirs);
}

static void bound_sleeper(void *ctx)
{
	struct bound *bound = ctx;

	bind_to_core(1);
	struct bell *theirs = meet(&bound->table, 1);
	if (bound->ringers_fence) {
		bell_leave_fences_to_ringers(bell_mine());
		bell_leave_fences_to_ringers(bell_mine()); /* says nothing */
	}
	sleep_each_round(&bound->duel);
	bell_close(theirs);
}

/* In children, which have bells of their own. */
static void bound_processes_race(bool ringers_fence)
{
	cpu_set_t cores;

	assert_int_equal(sched_getaffinity(0, sizeof cores, &cores), 0);
	if (CPU_COUNT(&cores) < 2) {
		print_message("skipped: this process may use one core only\n");
		skip();
	}
	struct bound *bound = shared_zeroes(sizeof *bound);
	bound->duel.last = CLOSE_ROUNDS;
	bound->ringers_fence = ringers_fence;
	pid_t ringer = start_child(bound_ringer, bound), sleeper = start_child(bound_sleeper, bound);
	end_child(ringer);
	end_child(sleeper);
	munmap(bound, sizeof *bound);
}

static void with_membarrier(void **state)
{
	(void)state;
	bound_processes_race(false);
}

static void with_fences(void **state)
{
	(void)state;
	bound_processes_race(true);
}

/* Each ringer waits until its work is taken, so that between two rings of one the sleeper sleeps and wakes often: a
 * ring that began before and ends after must not pass for one of the sleep that is next. */
enum { SLOW_RINGERS = 6, SLOW_RINGS = 40000 };

struct slow_ringer {
	_Alignas(64) _Atomic bool work;
	pthread_t thread;
};

static void *slow_ringer(void *ctx)
{
	struct slow_ringer *me = ctx;

	for (int i = 0; i < SLOW_RINGS; i++) {
		atomic_store_explicit(&me->work, true, memory_order_release);
		bell_ring(bell_mine());
		while (atomic_load_explicit(&me->work, memory_order_acquire))
			sched_yield();
	}
	return NULL;
}

static int take_work(struct slow_ringer *ringers)
{
	int taken = 0;

	for (int i = 0; i < SLOW_RINGERS; i++)
		if (atomic_load_explicit(&ringers[i].work, memory_order_acquire)) {
			atomic_store_explicit(&ringers[i].work, false, memory_order_release);
			taken++;
		}
	return taken;
}

static void slow_rings(void **state)
{
	struct slow_ringer ringers[SLOW_RINGERS] = { { false } };

	(void)state;
	for (int i = 0; i < SLOW_RINGERS; i++)
		assert_int_equal(pthread_create(&ringers[i].thread, NULL, slow_ringer, &ringers[i]), 0);
	for (int done = 0; done < SLOW_RINGERS * SLOW_RINGS;) {
		uint32_t seen = bell_arm(bell_mine(), BELL_ANY);
		int taken = take_work(ringers);

		if (taken > 0)
			bell_disarm(bell_mine());
		else
			bell_sleep(bell_mine(), seen, -1);
		done += taken;
	}
	for (int i = 0; i < SLOW_RINGERS; i++)
		pthread_join(ringers[i].thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_rings),
		cmocka_unit_test(threads_race),
		cmocka_unit_test(with_membarrier),
		cmocka_unit_test(with_fences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
