/* SPDX-License-Identifier: MIT */
/* The life of the background thread: it is started when first needed, rests while there is nothing to do, and ends with
 * the last comm.  Its loop is in progress.c.
 *
 * Note [lives].  A comm may be created while the thread of the comms before it still ends.  So each thread has a
 * number, its life, and ends once background.life is another one; for a moment there may be two. */
#ifndef EXEC_BACKGROUND_H
#define EXEC_BACKGROUND_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* background_wake: it has something to do; starts it, with that loop, if it is not there.  True in *rested_p: it
 * rested.  NO_MEMORY. */
choir_status background_wake(void (*loop)(unsigned life), bool *rested_p);

/* background_rest: on the thread: waits for as long as rest_ms says, which is asked under comm_list_lock: 0: there is
 * something to do; -1: until it is woken.  False: this life is over.  background_is_over: is it? */
bool background_rest(unsigned life, int64_t (*rest_ms)(void));
bool background_is_over(unsigned life);

/* background_end: under comm_list_lock, with no comm left: the thread ends.  True: the caller joins it. */
bool background_end(pthread_t *thread_p);

#endif
