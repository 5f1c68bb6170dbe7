/* SPDX-License-Identifier: MIT */
/* A lost wake-up shows as a test that does not end: nobody here sleeps with a limit, except where the limit is what is
 * tested. */
#include "bells.h"
#include "node/process_id.h"

#include <pthread.h>
#include <sched.h>

static void play(struct table *table, int me, struct bell *mine, struct bell *theirs)
{
	for (uint32_t round = 1; round <= table->rounds; round++) {
		if (me == 1)
			await(mine, &table->turns[0], round);
		atomic_store_explicit(&table->turns[me], round, memory_order_release);
		bell_ring(theirs);
		if (me == 0)
			await(mine, &table->turns[1], round);
	}
}

static void *thread_player(void *ctx)
{
	play(ctx, 1, bell_mine(), bell_mine());
	return NULL;
}

static void threads_take_turns(void **state)
{
	struct table table = { .rounds = 20000 };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_player, &table), 0);
	play(&table, 0, bell_mine(), bell_mine());
	pthread_join(thread, NULL);
}

static void process_player(void *ctx)
{
	struct bell *theirs = meet(ctx, 1);

	play(ctx, 1, bell_mine(), theirs);
	bell_close(theirs);
}

static void processes_take_turns(void **state)
{
	struct table *table = shared_zeroes(sizeof *table);
	struct bell *theirs;
	pid_t pid;

	(void)state;
	table->rounds = 20000;
	pid = start_child(process_player, table);
	theirs = meet(table, 0);
	assert_ptr_not_equal(theirs, bell_mine());
	play(table, 0, bell_mine(), theirs);
	bell_close(theirs);
	end_child(pid);
	munmap(table, sizeof *table);
}

/* Many ring, at any moment; one sleeps, and wakes for each batch. */
enum { RINGERS = 4, RINGS = 20000 };

struct crowd {
	_Atomic uint32_t work;
};

static void *ringer(void *ctx)
{
	struct crowd *crowd = ctx;

	for (int i = 0; i < RINGS; i++) {
		atomic_fetch_add_explicit(&crowd->work, 1, memory_order_release);
		bell_ring(bell_mine());
	}
	return NULL;
}

static void many_ringers_one_sleeper(void **state)
{
	struct crowd crowd = { 0 };
	pthread_t threads[RINGERS];

	(void)state;
	for (int i = 0; i < RINGERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ringer, &crowd), 0);
	for (uint32_t done = 0; done < RINGERS * RINGS; done = atomic_load(&crowd.work))
		await(bell_mine(), &crowd.work, done + 1);
	for (int i = 0; i < RINGERS; i++)
		pthread_join(threads[i], NULL);
}

static void *sleeper(void *ctx)
{
	struct crowd *crowd = ctx;

	await(bell_mine(), &crowd->work, 1);
	return NULL;
}

static void one_ring_wakes_all(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct crowd crowd = { 0 };
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, sleeper, &crowd), 0);
		atomic_store(&crowd.work, 1);
		bell_ring(bell_mine());
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
}

static void sleep_ends_after_the_timeout(void **state)
{
	int64_t start = now_us();

	(void)state;
	for (int i = 0; i < 5; i++)
		bell_sleep(bell_mine(), bell_arm(bell_mine(), BELL_ANY), 2000);
	assert_true(now_us() - start >= 5 * 2000 - 100);
}

static void a_ring_after_arm_prevents_sleep(void **state)
{
	uint32_t seen = bell_arm(bell_mine(), BELL_ANY);

	(void)state;
	bell_ring(bell_mine());
	bell_sleep(bell_mine(), seen, -1); /* would last for ever */
}

/* The numbers are no processes: they are only compared. */
static void steps_of_others_wake_nobody(void **state)
{
	uint32_t seen = bell_arm(bell_mine(), 4711);
	int64_t start = now_us();

	(void)state;
	bell_ring_step(bell_mine(), 4712);
	bell_sleep(bell_mine(), seen, 2000);
	assert_true(now_us() - start >= 2000 - 100);

	seen = bell_arm(bell_mine(), 4711);
	bell_ring_step(bell_mine(), 4711);
	bell_sleep(bell_mine(), seen, -1);

	seen = bell_arm(bell_mine(), BELL_ANY);
	bell_ring_step(bell_mine(), 4712);
	bell_sleep(bell_mine(), seen, -1);

	seen = bell_arm(bell_mine(), 4711);
	bell_ring(bell_mine());
	bell_sleep(bell_mine(), seen, -1);
}

/* The second thread waits for another process than the first; as two ranks of one process do. */
static void any_step_wakes_two_threads(void **state)
{
	uint32_t first = bell_arm(bell_mine(), 4711), second = bell_arm(bell_mine(), 4712);

	(void)state;
	bell_ring_step(bell_mine(), 4713);
	bell_sleep(bell_mine(), first, -1);
	bell_sleep(bell_mine(), second, -1);
}

/* A second ring need not wake anybody; a thread that arms after the first one needs the second. */
static void arming_again_asks_for_another_ring(void **state)
{
	uint32_t first = bell_arm(bell_mine(), BELL_ANY), second;

	(void)state;
	bell_ring(bell_mine());
	second = bell_arm(bell_mine(), BELL_ANY);
	bell_ring(bell_mine());
	bell_sleep(bell_mine(), second, -1);
	bell_sleep(bell_mine(), first, -1);
}

/* More threads than 16 bits count, as one thread that arms as often. */
static void many_sleepers_are_counted(void **state)
{
	enum { MANY = 1 << 16 };
	uint32_t seen = bell_arm(bell_mine(), BELL_ANY);

	(void)state;
	for (int i = 1; i < MANY; i++)
		(void)bell_arm(bell_mine(), BELL_ANY);
	bell_ring(bell_mine());
	assert_int_not_equal(bell_arm(bell_mine(), BELL_ANY), seen);
	for (int i = 0; i < MANY + 1; i++)
		bell_disarm(bell_mine());
}

static void until_told(void *ctx)
{
	struct table *table = ctx;

	bell_close(meet(table, 1));
	while (atomic_load(&table->turns[0]) == 0)
		sched_yield();
}

static void a_bell_outlives_its_process(void **state)
{
	struct table *table = shared_zeroes(sizeof *table);
	pid_t pid = start_child(until_told, table);
	struct bell *theirs = meet(table, 0);

	(void)state;
	assert_false(bell_is_orphan(theirs));
	assert_false(bell_is_orphan(bell_mine()));
	atomic_store(&table->turns[0], 1);
	end_child(pid);
	assert_true(bell_is_orphan(theirs));
	bell_ring(theirs);
	bell_close(theirs);
	munmap(table, sizeof *table);
}

static void addresses_are_checked(void **state)
{
	struct bell_address address, wrong;
	struct bell *bell = NULL;

	(void)state;
	assert_int_equal(bell_mine_address(&address), CHOIR_SUCCESS);
	assert_int_equal(bell_open(&address, &bell), CHOIR_SUCCESS);
	assert_ptr_equal(bell, bell_mine());
	bell_close(bell);
	bell_close(NULL);
	wrong = address;
	wrong.nonce++;
	assert_int_equal(bell_open(&wrong, &bell), CHOIR_TRANSPORT);
	wrong = address;
	wrong.process = 0x7ffffff0;
	assert_int_equal(bell_open(&wrong, &bell), CHOIR_TRANSPORT);
	assert_non_null(strstr(choir_last_error(), "choir-bell"));
	wrong.fd = 1; /* somebody's terminal or pipe: not opened at all */
	wrong.process = address.process;
	wrong.nonce++;
	assert_int_equal(bell_open(&wrong, &bell), CHOIR_TRANSPORT);
}

static void compare_with_parent(void *ctx)
{
	const struct bell_address *parent = ctx;
	struct bell_address mine;
	struct bell *once = NULL, *again = NULL;

	REQUIRE(bell_mine_address(&mine) == CHOIR_SUCCESS);
	REQUIRE(mine.process == process_id() && mine.nonce != parent->nonce);
	REQUIRE(bell_open(parent, &once) == CHOIR_SUCCESS && once != bell_mine());
	REQUIRE(bell_open(parent, &again) == CHOIR_SUCCESS && again == once);
	bell_close(again);
	bell_ring(once); /* still mapped */
	bell_close(once);
}

static void a_child_has_its_own_bell(void **state)
{
	struct bell_address address;

	(void)state;
	assert_int_equal(bell_mine_address(&address), CHOIR_SUCCESS);
	end_child(start_child(compare_with_parent, &address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_take_turns),
		cmocka_unit_test(processes_take_turns),
		cmocka_unit_test(many_ringers_one_sleeper),
		cmocka_unit_test(one_ring_wakes_all),
		cmocka_unit_test(sleep_ends_after_the_timeout),
		cmocka_unit_test(a_ring_after_arm_prevents_sleep),
		cmocka_unit_test(steps_of_others_wake_nobody),
		cmocka_unit_test(any_step_wakes_two_threads),
		cmocka_unit_test(arming_again_asks_for_another_ring),
		cmocka_unit_test(a_bell_outlives_its_process),
		cmocka_unit_test(addresses_are_checked),
		cmocka_unit_test(a_child_has_its_own_bell),
		cmocka_unit_test(many_sleepers_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
