/* SPDX-License-Identifier: MIT */
/* What the tests of node and net share: filled memory, and children that report. */
#ifndef TESTS_NET_SUPPORT_H
#define TESTS_NET_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fill.h"
#include "node/process_id.h"

#include <choir/types.h>

/* In children and threads, where cmocka's assertions do not reach: says what is wrong and ends the process. */
#define REQUIRE(what)                                                                                                  \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", __FILE__, __LINE__, #what,        \
			        choir_last_error());                                                                   \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

/* process_id of the process that has this pid here. */
static inline int64_t process_id_of(int pid)
{
	return (int64_t)((uint64_t)process_id() >> 32 << 32 | (uint32_t)pid);
}

/* Zeroed memory that children share. */
static inline void *shared_zeroes(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	return memory;
}

static inline pid_t start_child(void (*run)(void *ctx), void *ctx)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		run(ctx);
		_exit(0);
	}
	return pid;
}

static inline void end_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
