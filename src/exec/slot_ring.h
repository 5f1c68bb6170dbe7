/* SPDX-License-Identifier: MIT */
/* Where in its node's slots a call puts what its peers read.
 *
 * Note [slot ring].  A store to a line that a peer read lately waits until the peer's cache gives the line up.  So the
 * slots of a rank are a ring:
 *
 *   each call takes the next range, so a line is used again only after it left the private caches of its readers;
 *   ranges go down in memory: a core that reads one fetches what lies behind it, and were that the next call's, its
 *     writer would wait;
 *   the ring turns after 2 MB, so that it stays in the cache that the cores share, beside the callers' data;
 *   short calls use a fixed range of their lane, which is cheaper for them;
 *   all ranks compute the same ranges, because calls have one order;
 *   a call waits until the earlier owners of its range are done on every rank of the node.  They are among the last
 *   COMM_LANES calls, and earlier than it, so no ranks wait in a circle.
 *
 * Two calls of one size at least have ranges of their own, whatever they take. */
#ifndef EXEC_SLOT_RING_H
#define EXEC_SLOT_RING_H

#include "exec/comm.h"

/* The sizes of a rank's slots, by the number of ranks of its node.  The arena's lanes together are a rank's ring. */
struct slot_sizes {
	uint64_t lane_bytes; /* of the arena: an eighth of the ring and a short range */
	uint64_t slot_bytes; /* the most that a call takes: half of the ring */
	/* what a call takes whose plan is not known, or not on all ranks, when it gets its range: an eighth */
	uint64_t fallback_bytes;
};

/* slot_sizes_of: by_commands: of a comm with a device of class stage, where longer chunks make up for
 * what each command costs (algo/fit.h). */
struct slot_sizes slot_sizes_of(int node_size, bool by_commands);

/* slot_ring_take: gives the run its range.  In the order of calls: under submission.lock. */
void slot_ring_take(struct run *run);

/* slot_ring_allocate: the memory that run->plan, or operand_say_segments, writes to, if the comm has not written there
 * before.  NO_MEMORY.  The driver only. */
choir_status slot_ring_allocate(struct run *run);

/* slot_ring_at: the address of byte `off` of the call's range in the slots of that rank of the node. */
unsigned char *slot_ring_at(const struct run *run, int local_rank, uint64_t off);

#endif
