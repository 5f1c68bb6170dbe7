/* SPDX-License-Identifier: MIT */
#include "base/thread_start.h"

#include <pthread.h>
#include <signal.h>

int thread_start(void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		pthread_detach(thread);
	return rc;
}
