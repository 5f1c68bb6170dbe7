/* SPDX-License-Identifier: MIT */
#include "base/thread_start.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *out, void *(*fn)(void *arg), void *arg)
{
	static const int open[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF };
	sigset_t blocked, before;
	int rc;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		sigdelset(&blocked, open[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	rc = pthread_create(out, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int thread_start_detached(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;
	int rc = thread_start(&thread, fn, arg);

	if (rc == 0)
		pthread_detach(thread);
	return rc;
}
