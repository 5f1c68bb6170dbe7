/* SPDX-License-Identifier: MIT */
/* The list of this process's comms that are to be driven. */
#ifndef EXEC_COMMS_H
#define EXEC_COMMS_H

#include "exec/comm.h"

/* comms_lock, comms_unlock: held for a walk along the list, and by the background thread before it rests.
 * comms_trylock: false: another thread holds it.
 * comms_wait: pthread_cond_wait with that lock. */
void comms_lock(void);
bool comms_trylock(void);
void comms_unlock(void);
void comms_wait(pthread_cond_t *cond);

/* Under the lock.  comms_first: the list, linked by listing.next; NULL if it is empty.
 * comms_add, comms_remove: without a reference; removing one that is not there is silent. */
struct choir_comm *comms_first(void);
void comms_add(struct choir_comm *comm);
void comms_remove(struct choir_comm *comm);

/* comms_next: for a walk without the lock: the comm after `before` (NULL: the first), retained; NULL at the end.
 * `before` is released. */
struct choir_comm *comms_next(struct choir_comm *before);

/* comms_are_several: is there more than one? */
bool comms_are_several(void);

#endif
