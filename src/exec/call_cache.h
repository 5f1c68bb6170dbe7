/* SPDX-License-Identifier: MIT */
/* The call cache: the comm's last prepared calls.  A call that was made before is found by its key, and then nothing is
 * checked, chosen or planned again.  The driver only. */
#ifndef EXEC_CALL_CACHE_H
#define EXEC_CALL_CACHE_H

#include "exec/prepared.h"

/* call_cache_find: the call with that key that still holds; NULL if there is none. */
struct prepared *call_cache_find(struct choir_comm *comm, const struct call_key *key);

/* call_cache_serving: the last one that was kept, if it serves the key at other addresses (prepared_serves); else
 * NULL. */
struct prepared *call_cache_serving(const struct choir_comm *comm, const struct call_key *key);

/* call_cache_keep: takes a reference; another call may go. */
void call_cache_keep(struct choir_comm *comm, struct prepared *prepared);

/* call_cache_like: one of the same form, data type and lists, whatever its buffers; NULL if there is none. */
struct prepared *call_cache_like(struct choir_comm *comm, const struct call_key *key);

/* call_cache_init: an empty one.  call_cache_drop: all go. */
void call_cache_init(struct choir_comm *comm);
void call_cache_drop(struct choir_comm *comm);

#endif
