/* SPDX-License-Identifier: MIT */
/* Threads of the library that end by themselves. */
#ifndef BASE_THREAD_START_H
#define BASE_THREAD_START_H

/* thread_start: a detached thread with all signals blocked, since those are for the program's threads.  0, or the error
 * of pthread_create: then fn is not called. */
int thread_start(void *(*fn)(void *arg), void *arg);

#endif
