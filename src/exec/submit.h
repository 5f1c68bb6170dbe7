/* SPDX-License-Identifier: MIT */
/* Submission: calls get their numbers, in one order on each rank, and wait for the driver.  Any thread. */
#ifndef EXEC_SUBMIT_H
#define EXEC_SUBMIT_H

#include "exec/run.h"

choir_status submit_init(struct choir_comm *comm);
void submit_fini(struct choir_comm *comm);

/* submit_parts: gives the parts of a call (one, or those of run_share_event) their numbers and hands them over: all, or
 * after an error none.  Their owner from then on is the engine, also after an error (then the event has completed with
 * it).  Never blocks. */
choir_status submit_parts(struct run *const *parts, size_t n);

/* submit_drop: the call ends before it has begun, with st and the text.  Its parts were not submitted, and are gone. */
void submit_drop(struct run *const *parts, size_t n, choir_status st, const char *text);

/* submit_counter: where the number of the next call of that pair and tag stands, as long as the comm.  NO_MEMORY. */
choir_status submit_counter(struct choir_comm *comm, int peer, uint32_t tag, bool sends, uint64_t **out_p);

/* submit_held: the parts of a keyed call, linked by `next`, which are counted as unfinished already. */
void submit_held(struct run *parts);

/* submit_number: numbers n runs of a comm, in this order, for a driver that executes them itself.  False, and none is
 * numbered: submitted runs wait, the comm failed or closes, or the numbers are used up. */
bool submit_number(struct run *const *runs, int n);

/* submit_take: the submitted runs, oldest first, linked by `next`; NULL if there are none.  The driver only. */
struct run *submit_take(struct choir_comm *comm);

/* submit_refuse: from now on no call is accepted. */
void submit_refuse(struct choir_comm *comm);

#endif
