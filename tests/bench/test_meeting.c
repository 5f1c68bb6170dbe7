/* SPDX-License-Identifier: MIT */
/* Nobody leaves a meeting before all have come, and everybody reads what the others said: with fewer and with more
 * ranks than cores, as processes. */
#include "bench/ranks/meeting.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 200, NOTE_BYTES = 5000 };

static int one_rank(struct meeting *meeting, volatile int *round_of, int rank, int n)
{
	char mine[NOTE_BYTES], *all = malloc((size_t)n * NOTE_BYTES);
	int wrong = all == NULL;

	for (int round = 1; round <= ROUNDS && !wrong; round++) {
		size_t bytes = round % 3 == 0 ? NOTE_BYTES : (size_t)round;

		round_of[rank] = round;
		meeting_wait(meeting);
		for (int r = 0; r < n; r++)
			wrong |= round_of[r] < round;
		memset(mine, rank * 7 + round, bytes);
		meeting_gather(meeting, rank, mine, bytes, all);
		for (size_t i = 0; i < bytes * (size_t)n; i++)
			wrong |= all[i] != (char)((int)(i / bytes) * 7 + round);
	}
	free(all);
	return wrong;
}

static void meet(int n)
{
	struct meeting *meeting =
	    mmap(NULL, meeting_bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int *round_of = mmap(NULL, (size_t)n * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	    status, wrong = 0;

	assert_true(meeting != MAP_FAILED && round_of != MAP_FAILED);
	meeting_init(meeting, n);
	assert_int_equal(meeting_crowded(meeting), n > sysconf(_SC_NPROCESSORS_ONLN));
	for (int r = 0; r < n; r++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0)
			_exit(one_rank(meeting, round_of, r, n));
	}
	for (int r = 0; r < n; r++) {
		assert_true(wait(&status) > 0);
		wrong += status != 0;
	}
	assert_int_equal(wrong, 0);
	munmap(meeting, meeting_bytes(n));
	munmap(round_of, (size_t)n * sizeof(int));
}

static void all_sizes_meet(void **state)
{
	(void)state;
	for (int n = 1; n <= 8; n = n < 3 ? n + 1 : n + 5)
		meet(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_sizes_meet) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
