/* SPDX-License-Identifier: MIT */
/* The pool of blocks: which it keeps when there are many; and after a fork, when another thread may have held its lock
 * just then. */
#include "sparse/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
enum { FORKS = 40 }; /* a fork copies the page tables of the sanitizer's shadow too */
#else
enum { FORKS = 200 };
#endif
enum { SECONDS = 20, SMALL = 200, LARGE_BYTES = 9 << 20, MARK = 0x5a5a5a5a };

static atomic_bool over;

static void *take_and_give(void *unused)
{
	struct pool_block block;

	while (!atomic_load(&over))
		if (pool_take(&block, 1, "a block") == CHOIR_SUCCESS)
			pool_give(&block);
	return unused;
}

/* In the child: status 0, or the alarm's end. */
static void take_in_child(void)
{
	struct pool_block block;

	alarm(SECONDS);
	if (pool_take(&block, 1, "a block") != CHOIR_SUCCESS)
		_exit(1);
	pool_give(&block);
	_exit(0);
}

static void test_fork(void **state)
{
	pthread_t thread;
	int status = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, take_and_give, NULL), 0);
	for (int i = 0; i < FORKS && status == 0; i++) {
		pid_t child = fork();

		if (child == 0)
			take_in_child();
		assert_int_equal(waitpid(child, &status, 0), child);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	assert_int_equal(status, 0);
}

/* A large block costs thousands of page faults, so the small ones go where there are too many.  One that comes fresh
 * from the system is zero. */
static void test_large_stays(void **state)
{
	static struct pool_block small[SMALL];
	struct pool_block large;

	(void)state;
	assert_int_equal(pool_take(&large, LARGE_BYTES, "a large block"), CHOIR_SUCCESS);
	for (int i = 0; i < SMALL; i++)
		assert_int_equal(pool_take(&small[i], 1, "a small block"), CHOIR_SUCCESS);
	*(volatile int *)large.ptr = MARK;
	for (int i = 0; i < SMALL; i++)
		pool_give(&small[i]);
	pool_give(&large);
	assert_int_equal(pool_take(&large, LARGE_BYTES + 1000, "a little more"), CHOIR_SUCCESS);
#if !defined(__SANITIZE_ADDRESS__)
	assert_int_equal(*(volatile int *)large.ptr, MARK);
#endif
	pool_give(&large);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_large_stays), cmocka_unit_test(test_fork) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
