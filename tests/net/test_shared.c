/* SPDX-License-Identifier: MIT */
/* Shared memory where signals come all the time, and where the standard descriptors are closed. */
#include "node/shared.h"

#include "support.h"

#include <errno.h>
#include <fcntl.h>

enum { MB = 1 << 20 };

static bool interrupts; /* a signal comes before a MB is allocated */
static int n_calls;

int __real_fallocate(int fd, int mode, off_t at, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes)
{
	if (interrupts && (bytes > MB || ++n_calls % 3 == 0)) {
		assert_true(++n_calls < 10000);
		errno = EINTR;
		return -1;
	}
	return __real_fallocate(fd, mode, at, bytes);
}

static void signals_keep_nobody_busy(void **state)
{
	struct shared_map map;

	(void)state;
	interrupts = true;
	assert_int_equal(shared_make("choir-test", 200 * (uint64_t)MB + 1, &map), CHOIR_SUCCESS);
	interrupts = false;
	memset((unsigned char *)map.base + sizeof(struct shared_head), 1, map.bytes - sizeof(struct shared_head));
	shared_drop(&map);
}

static void make_without_standard(void *ctx)
{
	struct shared_map map;

	(void)ctx;
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	REQUIRE(shared_make("choir-test", 100, &map) == CHOIR_SUCCESS);
	REQUIRE(map.fd > STDERR_FILENO);
	REQUIRE(fcntl(map.fd, F_GETFD) == FD_CLOEXEC);
	REQUIRE(fcntl(STDOUT_FILENO, F_GETFD) == -1 && fcntl(STDIN_FILENO, F_GETFD) == -1);
	shared_drop(&map);
}

/* A peer keeps the descriptor of a file that grows. */
static void open_without_standard(void *ctx)
{
	const struct shared_map *theirs = ctx;
	struct shared_map map;

	close(STDOUT_FILENO);
	REQUIRE(shared_find("choir-test", process_id_of((int)getppid()), theirs->fd, theirs->nonce, 4096, &map) ==
	        CHOIR_SUCCESS);
	REQUIRE(map.fd > STDERR_FILENO && fcntl(STDOUT_FILENO, F_GETFD) == -1);
	shared_drop(&map);
}

static void standard_descriptors_are_not_taken(void **state)
{
	struct shared_map map;

	(void)state;
	end_child(start_child(make_without_standard, NULL));
	assert_int_equal(shared_make_growing("choir-test", 1 << 20, 4096, &map), CHOIR_SUCCESS);
	end_child(start_child(open_without_standard, &map));
	shared_drop(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_keep_nobody_busy),
		cmocka_unit_test(standard_descriptors_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
