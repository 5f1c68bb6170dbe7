/* SPDX-License-Identifier: MIT */
/* The runs in flight on one rank, and which of them can move.  The driver only.
 *
 * Note [eligible runs].  The driver looks at the runs that can move, however many others are in flight.  Runs stand in
 * queues: one of the collectives, one of the sends to each rank, one of the recvs from each, one of all recvs with tags
 * and one of all such sends, which match in any order, one of the calls of this rank only.  The first runs of a queue
 * are in the list `eligible`, and when one of them ends the next one becomes eligible.  No collective behind the first
 * COMM_LANES may enter its lane.  A pair's run may overtake the one before it, when that waits for its deps: one that
 * is further behind than PAIR_ELIGIBLE, or than TAGGED_ELIGIBLE, is advanced by the slow check
 * (flight_advance_queued), and becomes eligible when it has ended or has more to do at once.  Calls of this rank only
 * match nothing, so any of them may move first: one behind ALONE_ELIGIBLE others becomes eligible when the slow check
 * finds its deps complete. */
#ifndef EXEC_FLIGHT_H
#define EXEC_FLIGHT_H

#include "exec/run.h"

enum queue_number {
	QUEUE_COLLECTIVES,
	QUEUE_TAGGED_RECVS,
	QUEUE_TAGGED_SENDS,
	QUEUE_ALONE, /* calls of this rank only */
	QUEUE_PAIRS, /* from here on: the recvs without tags from each rank, the sends to it */
};

choir_status flight_init(struct flight *flight, int n_ranks);
void flight_fini(struct flight *flight);

/* flight_add: the run, which has its number, is in flight from here on. */
void flight_add(struct flight *flight, struct run *run);

/* flight_has: was the run added?  It may have left since. */
static inline bool flight_has(const struct run *run)
{
	return run->link != NULL;
}

/* flight_make_all_eligible: all runs become eligible: they are about to end. */
void flight_make_all_eligible(struct flight *flight);

/* flight_advance_queued: advances the runs of a queue that are not eligible; those that end, or whose plan pauses
 * (steps_advance), become eligible. */
void flight_advance_queued(struct flight *flight, size_t queue, bool (*advance)(struct run *run));

/* flight_next_to_check: the run in flight behind `checked`; NULL: the one where the last walk of this kind stopped, or
 * the first one.  NULL behind the last one. */
struct run *flight_next_to_check(struct flight *flight, struct run *checked);

/* flight_find_job: the first run whose job is due, NULL if none is.
 * flight_take_ended: takes out what has ended, linked by `next`. */
struct run *flight_find_job(const struct flight *flight);
struct run *flight_take_ended(struct flight *flight);

/* flight_uses_messages: does an eligible run send or receive?  True also if nothing is in flight: then no run pays for
 * a look at the transport. */
bool flight_uses_messages(const struct flight *flight);

#endif
