/* SPDX-License-Identifier: MIT */
/* Nobody leaves a meeting before all have come, and everybody reads what the others said: with fewer and with more
 * ranks than cores, as processes. */
#include "lib/ranks.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 200, NOTE_BYTES = 5000 };

static int one_rank(const struct rank *me, void *ctx)
{
	char mine[NOTE_BYTES], *all = malloc((size_t)me->n * NOTE_BYTES);
	volatile int *round_of = ctx;
	int wrong = all == NULL;

	for (int round = 1; round <= ROUNDS && !wrong; round++) {
		size_t bytes = round % 3 == 0 ? NOTE_BYTES : (size_t)round;

		round_of[me->rank] = round;
		meeting_wait(me->meeting);
		for (int r = 0; r < me->n; r++)
			wrong |= round_of[r] < round;
		memset(mine, me->rank * 7 + round, bytes);
		meeting_gather(me->meeting, me->rank, mine, bytes, all);
		for (size_t i = 0; i < bytes * (size_t)me->n; i++)
			wrong |= all[i] != (char)((int)(i / bytes) * 7 + round);
	}
	wrong |= meeting_crowded(me->meeting) != (me->n > sysconf(_SC_NPROCESSORS_ONLN));
	free(all);
	return wrong;
}

static void meet(int n)
{
	int *round_of = mmap(NULL, (size_t)n * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char why[RANKS_WHY_BYTES];
	struct ranks ranks;

	assert_true(round_of != MAP_FAILED);
	assert_true(ranks_fork(&ranks, n, n, one_rank, round_of));
	ranks_join(&ranks, 50000);
	if (!ranks_are_good(&ranks, -1, why))
		fail_msg("%d ranks: %s", n, why);
	memset(round_of, 0, (size_t)n * sizeof(int));
	assert_int_equal(ranks_as_threads(n, one_rank, round_of), 0);
	munmap(round_of, (size_t)n * sizeof(int));
}

static void all_sizes_meet(void **state)
{
	(void)state;
	for (int n = 1; n <= 8; n = n < 3 ? n + 1 : n + 5)
		meet(n);
}

/* How each of four ends is told. */
static int ends_as_told(const struct rank *me, void *unused)
{
	(void)unused;
	if (me->rank == 1)
		raise(SIGKILL);
	while (me->rank == 3)
		pause();
	return me->rank == 2 ? 5 : 0;
}

static void ends_are_told(void **state)
{
	char why[RANKS_WHY_BYTES];
	struct ranks ranks;
	siginfo_t info;

	(void)state;
	for (int n = 2; n <= 4; n++) {
		assert_true(ranks_fork(&ranks, n, n, ends_as_told, NULL));
		for (int r = 0; r < n && r < 3; r++) /* ended, however slow the machine is, and not reaped */
			assert_int_equal(waitid(P_PID, (id_t)ranks.pids[r], &info, WEXITED | WNOWAIT), 0);
		ranks_join(&ranks, n == 4 ? 300 : 20000);
		assert_int_equal(ranks_are_good(&ranks, 1, why), n == 2);
		assert_true(n == 2 || strcmp(why, "process 2 ended with status 5") == 0);
		assert_false(ranks_are_good(&ranks, -1, why));
		assert_string_equal(why, "process 1 ended by signal 9");
		assert_false(ranks_are_good(&ranks, 0, why));
		assert_string_equal(why, "process 0 was not killed");
		assert_int_equal(ranks.hung[n - 1], n == 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_sizes_meet), cmocka_unit_test(ends_are_told) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
