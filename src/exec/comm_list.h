/* SPDX-License-Identifier: MIT */
/* The comms of this process, and which of them are busy: these alone are driven and waited for.
 *
 * Note [busy comms].  A comm is busy from comm_list_note_work until IDLE_LOOKS looks in turn have found nothing that it
 * has to do.  A thread counts the work, then looks whether the comm is busy; a walk takes the comm out, then looks
 * whether work has come.  Each puts a full fence between the two, so that at least one sees the other.  A message for a
 * comm that is not busy waits for the slow check. */
#ifndef EXEC_COMM_LIST_H
#define EXEC_COMM_LIST_H

#include "exec/comm.h"

/* comm_list_lock, comm_list_unlock: held for a walk along the list, and by the background thread before it rests.
 * comm_list_trylock: false: another thread holds it.
 * comm_list_wait: waits for the condition with that lock, -1: for ever.  True: the time has passed. */
void comm_list_lock(void);
bool comm_list_trylock(void);
void comm_list_unlock(void);
bool comm_list_wait(pthread_cond_t *cond, int64_t ms);

/* Under the lock.  comm_list_first: all comms, linked by listing.next; NULL: there are none.
 * comm_list_add, comm_list_remove: without a reference; removing one that is not there is silent. */
struct choir_comm *comm_list_first(void);
void comm_list_add(struct choir_comm *comm);
void comm_list_remove(struct choir_comm *comm);

/* comm_list_next_busy: under the lock: the busy comm after `before` (NULL: the first); NULL at the end.  Takes idle
 * comms that it comes by out of the list of busy ones. */
struct choir_comm *comm_list_next_busy(const struct choir_comm *before);

/* comm_list_next: for a walk without the lock: the comm after `before` (NULL: the first), of all or of the busy ones,
 * retained; NULL at the end.  `before` is released. */
enum comm_list_which { COMM_LIST_ALL, COMM_LIST_BUSY };
struct choir_comm *comm_list_next(struct choir_comm *before, enum comm_list_which which);

/* comm_list_note_work: runs or messages of the comm have been counted: it is busy.  Before progress_kick.  No lock is
 * held. */
void comm_list_note_work(struct choir_comm *comm);

/* comm_list_is_busy: is this one? */
static inline bool comm_list_is_busy(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->listing.busy, memory_order_relaxed);
}

/* comm_list_has_others: is a comm busy other than this one?  NULL: is any? */
bool comm_list_has_others(const struct choir_comm *comm);

#endif
