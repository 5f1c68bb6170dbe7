/* SPDX-License-Identifier: MIT */
/* The list of this process's comms that are to be driven. */
#ifndef EXEC_COMM_LIST_H
#define EXEC_COMM_LIST_H

#include "exec/comm.h"

/* comm_list_lock, comm_list_unlock: held for a walk along the list, and by the background thread before it rests.
 * comm_list_trylock: false: another thread holds it.
 * comm_list_wait: pthread_cond_wait with that lock. */
void comm_list_lock(void);
bool comm_list_trylock(void);
void comm_list_unlock(void);
void comm_list_wait(pthread_cond_t *cond);

/* Under the lock.  comm_list_first: the list, linked by listing.next; NULL if it is empty.
 * comm_list_add, comm_list_remove: without a reference; removing one that is not there is silent. */
struct choir_comm *comm_list_first(void);
void comm_list_add(struct choir_comm *comm);
void comm_list_remove(struct choir_comm *comm);

/* comm_list_next: for a walk without the lock: the comm after `before` (NULL: the first), retained; NULL at the end.
 * `before` is released. */
struct choir_comm *comm_list_next(struct choir_comm *before);

/* comm_list_are_several: is there more than one? */
bool comm_list_are_several(void);

#endif
