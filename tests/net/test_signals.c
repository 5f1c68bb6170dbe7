/* SPDX-License-Identifier: MIT */
/* Signals of the program: they come to its own threads, and hide no peer's death. */
#include "base/thread_start.h"
#include "node/arena.h"
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static sigset_t seen;

static void *look_at_mask(void *unused)
{
	pthread_sigmask(SIG_SETMASK, NULL, &seen);
	return unused;
}

static void threads_leave_signals_to_the_program(void **state)
{
	static const int own[] = { SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD }, raised[] = { SIGSEGV, SIGBUS, SIGFPE };
	sigset_t mine;
	pthread_t thread;

	(void)state;
	assert_int_equal(thread_start(&thread, look_at_mask, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		assert_true(sigismember(&seen, own[i]));
	for (size_t i = 0; i < sizeof raised / sizeof *raised; i++)
		assert_false(sigismember(&seen, raised[i]));
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	assert_false(sigismember(&mine, SIGTERM));
}

static int pipe_fds[2];

static void die_at_byte(void *unused)
{
	char byte;

	(void)unused;
	REQUIRE(read(pipe_fds[0], &byte, 1) == 1);
}

/* The peer lives until the signal has come. */
static void let_die(int signal)
{
	ssize_t n = write(pipe_fds[1], "x", 1);

	(void)signal, (void)n;
}

/* What peer_lost says of a peer that dies while it looks. */
static choir_status look_at_one(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 20000 };
	choir_status st;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = start_child(die_at_byte, NULL);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	st = peer_lost(process_id_of(pid));
	end_child(pid);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return st;
}

/* On a loaded machine a peer may take longer to die than peer_lost looks. */
static void a_signal_hides_no_death(void **state)
{
	const struct sigaction action = { .sa_handler = let_die, .sa_flags = SA_RESTART };
	choir_status st = CHOIR_TRANSPORT;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	for (int i = 0; i < 20 && st != CHOIR_PEER_DEAD; i++)
		st = look_at_one();
	assert_int_equal(st, CHOIR_PEER_DEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_leave_signals_to_the_program),
		cmocka_unit_test(a_signal_hides_no_death),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
