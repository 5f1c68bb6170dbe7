/* SPDX-License-Identifier: MIT */
#include "ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_NS = 200000 };

int64_t rank_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* By mmap: tests count what they allocate otherwise. */
static struct meeting *open_meeting(int n)
{
	void *at = mmap(NULL, meeting_bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	meeting_init(at, n);
	return at;
}

struct thread {
	pthread_t thread;
	struct rank rank;
	rank_fn *fn;
	void *ctx;
	int result;
};

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	t->result = t->fn(&t->rank, t->ctx);
	return NULL;
}

static void give_up(const char *what)
{
	perror(what);
	abort();
}

int ranks_as_threads(int n, rank_fn *fn, void *ctx)
{
	struct thread threads[RANKS_MOST];
	struct meeting *meeting = open_meeting(n);
	int worst = 0;

	if (meeting == NULL || n > RANKS_MOST)
		give_up("no memory for the ranks");
	for (int r = 0; r < n; r++) {
		threads[r] = (struct thread){ .rank = { r, n, meeting }, .fn = fn, .ctx = ctx };
		if (pthread_create(&threads[r].thread, NULL, run_thread, &threads[r]) != 0)
			give_up("no thread for a rank");
	}
	for (int r = 0; r < n; r++) {
		pthread_join(threads[r].thread, NULL);
		worst = threads[r].result > worst ? threads[r].result : worst;
	}
	munmap(meeting, meeting_bytes(n));
	return worst;
}

bool ranks_fork(struct ranks *ranks, int n, int n_meeting, rank_fn *fn, void *ctx)
{
	pid_t parent = getpid();

	memset(ranks, 0, sizeof *ranks);
	ranks->n = n;
	ranks->n_meeting = n_meeting;
	ranks->meeting = open_meeting(n_meeting);
	if (ranks->meeting == NULL || n > RANKS_MOST)
		return false;
	for (; ranks->started < n; ranks->started++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct rank me = { ranks->started, n_meeting, ranks->meeting };

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(getppid() == parent ? fn(&me, ctx) : 1);
		}
		if (pid < 0)
			return false;
		ranks->pids[ranks->started] = pid;
	}
	return true;
}

void ranks_join(struct ranks *ranks, int64_t deadline_ms)
{
	int64_t end = rank_now_ms() + deadline_ms;

	for (int r = 0; r < ranks->started; r++)
		while (waitpid(ranks->pids[r], &ranks->statuses[r], WNOHANG) == 0) {
			if (rank_now_ms() > end && !ranks->hung[r]) {
				ranks->hung[r] = true;
				kill(ranks->pids[r], SIGKILL);
			}
			nanosleep(&(struct timespec){ 0, POLL_NS }, NULL);
		}
	if (ranks->meeting != NULL)
		munmap(ranks->meeting, meeting_bytes(ranks->n_meeting));
	ranks->meeting = NULL;
}

bool ranks_are_good(const struct ranks *ranks, int killed, char why[RANKS_WHY_BYTES])
{
	for (int r = 0; r < ranks->n; r++) {
		int status = ranks->statuses[r];

		if (r >= ranks->started)
			snprintf(why, RANKS_WHY_BYTES, "process %d could not be started", r);
		else if (ranks->hung[r])
			snprintf(why, RANKS_WHY_BYTES, "process %d did not end", r);
		else if (r == killed && !WIFSIGNALED(status))
			snprintf(why, RANKS_WHY_BYTES, "process %d was not killed", r);
		else if (r != killed && WIFSIGNALED(status))
			snprintf(why, RANKS_WHY_BYTES, "process %d ended by signal %d", r, WTERMSIG(status));
		else if (r != killed && WEXITSTATUS(status) != 0)
			snprintf(why, RANKS_WHY_BYTES, "process %d ended with status %d", r, WEXITSTATUS(status));
		else
			continue;
		return false;
	}
	return true;
}

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	const struct rank *me = ctx;

	meeting_gather(me->meeting, me->rank, mine, bytes, all);
	return 0;
}

choir_bootstrap rank_bootstrap(const struct rank *me)
{
	return (choir_bootstrap){ sizeof(choir_bootstrap), me->rank, me->n, gather, (void *)me, NULL };
}
