/* SPDX-License-Identifier: MIT */
/* The library's threads.  Signals are for the program's: one that the program waits for with sigwait must not come to a
 * thread of the library, where it would end the process.  Those that a thread raises itself (SIGSEGV, ...) stay open,
 * so that the program's handler sees them, and so does a profiler's timer. */
#ifndef BASE_THREAD_START_H
#define BASE_THREAD_START_H

#include <pthread.h>

/* thread_start: a thread to be joined.  thread_start_detached: one that ends by itself, or with the process.  0, or the
 * error of pthread_create: then fn is not called. */
int thread_start(pthread_t *out, void *(*fn)(void *arg), void *arg);
int thread_start_detached(void *(*fn)(void *arg), void *arg);

#endif
