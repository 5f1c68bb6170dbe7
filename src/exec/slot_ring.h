/* SPDX-License-Identifier: MIT */
/* Where in its node's slots a call puts what its peers read.
 *
 * Note [slot ring].  A store to a line that a peer read lately waits until the peer's cache has let go of it, and such
 * waits do not overlap: a small slot that is used again at once costs several times what its bytes do.  So the slots of
 * a rank are a ring: each call takes what its plan needs behind what the call before took, and lines come up again only
 * when they have long left the caches next to the cores, and are still in the one that the cores share.  More than that
 * is too much, since the callers' data should be there too: both ways at once, 256 KB took 22 us with 2 MB a rank and
 * 44 with 4 MB, 1 MB 57 and 68, and 16 KB the same.  Short calls are cheaper where they were, in a place of their
 * lane's.  All ranks make the same calls in the same order, so they give them the same places without a word; a call
 * waits until those whose places it takes are over on all ranks of the node.  Those are earlier calls always, so nobody
 * waits in a circle, and among the last COMM_LANES: older ones are over when a call is let in.  Two calls at least have
 * places of their own, whatever they take. */
#ifndef EXEC_SLOT_RING_H
#define EXEC_SLOT_RING_H

#include "exec/comm.h"

/* What a node of that many ranks has for each of them.  The arena's lanes together are a rank's ring. */
struct slot_sizes {
	uint64_t lane_bytes; /* of the arena: an eighth of the ring and a short place */
	uint64_t slot_bytes; /* the most that a call takes: half of the ring */
	/* what a call takes whose plan is not known, or not on all ranks, when it gets its place: an eighth */
	uint64_t part_bytes;
};

struct slot_sizes slot_sizes_of(int node_size);

/* slot_ring_take: the run's place.  In the order of calls: under the engine's submit lock. */
void slot_ring_take(struct run *run);

/* slot_ring_allocate: what run->plan, or the list of places (exec/peers.h), is written to, if the comm has not written
 * there before.  Before anything is written.  NO_MEMORY.  The driver only. */
choir_status slot_ring_allocate(struct run *run);

/* slot_ring_at: offset `off` of that of the rank at this place of the node. */
unsigned char *slot_ring_at(const struct run *run, int place, uint64_t off);

#endif
