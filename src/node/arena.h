/* SPDX-License-Identifier: MIT */
/* The arena: memory that all ranks of a node see, a memfd.  For each rank: a control block, and `lanes` lanes
 * with one flag line and one slot each.  A collective uses lane seq mod lanes on every rank.  For each pair of ranks,
 * if they are few: a p2p ring.
 *
 * Note [arena flags].  A lane's flag is one 64-bit number: seq << 24 | step, step = plan index << 20 | phase while the
 * call runs, ARENA_DONE if it ended badly for its rank alone.  So "has peer published phase p of call s" is one acquire
 * load and one compare, and nothing is ever reset.  The flag of a call with one plan only rises.  Of a script's plans
 * the index stands there modulo 16: ranks begin a plan together, so two ranks are one plan apart at most, and
 * arena_reached compares steps in a circle.  seq has 40
 * bits: the engine numbers no call beyond ARENA_LAST_SEQ.  The record beside the flag says what the peer is calling: it
 * is written before the flag is first raised for a sequence number.  That a rank is done with a call stands in its
 * control block, one number a lane, all on one line: peers look there once in a round of the lanes only, so writing it
 * is cheap. */
#ifndef NODE_ARENA_H
#define NODE_ARENA_H

#include "base/ring.h"
#include "node/bell.h"

#include <stdatomic.h>
#include <stdbool.h>

#define ARENA_DONE            0xFFFFFFu
#define ARENA_WITHDRAWN       UINT64_MAX /* the rank has left all calls of a comm that failed */
#define ARENA_FLAG(seq, step) ((uint64_t)(seq) << 24 | (step))
#define ARENA_LAST_SEQ        ((UINT64_C(1) << 40) - 2)
#define ARENA_RECORD_BYTES    48
#define ARENA_LINE_BYTES      48
#define ARENA_MOST_LANES      8

struct arena_lane { /* two cache lines, written by their rank only, the flag last */
	_Alignas(64) _Atomic uint64_t flag;
	uint64_t call;                            /* a hash of the record: what peers compare */
	/* stands for the slot where that many bytes of it are used: they travel with the flag */
	unsigned char bytes[ARENA_LINE_BYTES];
	/* the call record, see wire.h: read when hashes differ */
	_Alignas(64) unsigned char record[ARENA_RECORD_BYTES];
	/* where its buffers are (exec/symmetric.h), for calls that use it */
	uint64_t send_address, recv_address;
};

struct arena_control {                    /* one rank's words that are not per lane */
	_Alignas(64) _Atomic int64_t pid; /* 0 until the rank has joined */
	_Atomic uint64_t last_seq;        /* the latest call it has submitted, plus 1 */
	_Alignas(64) _Atomic int64_t sign_ns; /* when it last said for whom it waits (exec/liveness.h), 0 = never */
	_Atomic uint32_t waits_for;           /* that rank + 1, 0 = nobody */
	/* for each lane: the latest call it is done with, plus 1 */
	_Alignas(64) _Atomic uint64_t done[ARENA_MOST_LANES];
	/* of a growing arena: bit p: its ring to the rank at place p is allocated */
	_Alignas(64) _Atomic uint64_t rings;
	/* the first rank's: how all write what peers read, see exec/nt_plan.h; seldom written */
	_Alignas(64) _Atomic uint64_t nt;
};

enum {
	ARENA_ITEM_BYTES = 64 * 1024, /* the longest piece of a message that goes through a ring */
	ARENA_RING_RANKS = 16,        /* larger nodes have no rings */
	ARENA_RING_MOST = 2 << 20,    /* bytes of a ring; fewer where there are many */
	ARENA_RINGS_BYTES = 16 << 20, /* of all pairs */
};

struct arena_address { /* how a peer finds it */
	int64_t pid;
	int32_t fd;
	int32_t ranks, lanes;
	uint32_t growing;
	uint64_t slot_bytes;
	uint64_t nonce;
};

struct arena;

/* arena_create: for `ranks` ranks of one node, all of it allocated.  slot_bytes is a multiple of 4096.  NO_MEMORY when
 * the memory cannot be had now (never a SIGBUS later).  arena_create_growing: without the slots and rings, which are
 * allocated when they are taken. */
choir_status arena_create(int ranks, int lanes, uint64_t slot_bytes, struct arena **out_p);
choir_status arena_create_growing(int ranks, int lanes, uint64_t slot_bytes, struct arena **out_p);
void arena_address(const struct arena *arena, struct arena_address *out);

/* arena_open: maps the arena of another process (or of this one: another reference).  TRANSPORT if it cannot be mapped:
 * then the caller treats that rank as another node. */
choir_status arena_open(const struct arena_address *address, struct arena **out_p);
struct arena *arena_retain(struct arena *arena);
void arena_release(struct arena *arena); /* unmaps at the last reference; NULL is silent */

/* The rank's share (place = its number on the node). */
struct arena_lane *arena_lane(struct arena *arena, int place, int lane);
unsigned char *arena_slot(struct arena *arena, int place, int lane); /* 4096-byte aligned */
struct arena_control *arena_control(struct arena *arena, int place);

/* arena_take_slots: of a growing arena: allocates bytes of the rank's slots, before it first writes there.  Its peers
 * read only what it has written.
 * arena_take_ring: the same for the ring from one rank to another, by the former.  NO_MEMORY.  Any number of times. */
choir_status arena_take_slots(struct arena *arena, int place, uint64_t off, uint64_t bytes);
choir_status arena_take_ring(struct arena *arena, int from, int to);

/* arena_take_all: all that is not allocated yet. */
choir_status arena_take_all(struct arena *arena);

/* arena_has_rings: false for arenas of more than ARENA_RING_RANKS ranks, and of fewer than ARENA_MOST_LANES lanes,
 * which are no comm's.
 * arena_ring: the ring (base/ring.h) in which the first rank sends to the second; NULL while it is not taken.
 * arena_ring_bytes: how many bytes follow each ring. */
bool arena_has_rings(const struct arena *arena);
struct ring *arena_ring(struct arena *arena, int from, int to);
uint64_t arena_ring_bytes(const struct arena *arena);

/* The whole mapping, page aligned, for wrapping as a cl_mem once. */
void *arena_base(struct arena *arena);
uint64_t arena_bytes(const struct arena *arena);

/* arena_publish: release-stores the flag.  The caller rings its peers' bells after it. */
static inline void arena_publish(struct arena_lane *lane, uint64_t flag)
{
	atomic_store_explicit(&lane->flag, flag, memory_order_release);
}

/* arena_step: of that phase, below 2^20 - 1, of the call's plan of that index. */
static inline uint32_t arena_step(uint32_t plan_index, uint32_t phase)
{
	return (plan_index << 20 & ARENA_DONE) | phase;
}

/* arena_reached: has the rank whose flag was read published that step of call seq?  Note [arena flags].  One that has
 * withdrawn has not. */
static inline bool arena_reached(uint64_t flag, uint64_t seq, uint32_t step)
{
	if (flag >> 24 != seq)
		return flag >> 24 > seq && flag != ARENA_WITHDRAWN;
	return (flag & ARENA_DONE) == ARENA_DONE || (((uint32_t)flag - step) & ARENA_DONE) < 1u << 23;
}

/* Poison: the first failure of any rank on this node, for all.  arena_poison keeps the first text; arena_poisoned is
 * one relaxed load while there is none, and else copies the text (bytes bytes) and returns its status. */
void arena_poison(struct arena *arena, choir_status status, const char *text);
choir_status arena_poisoned(struct arena *arena, char *text, size_t bytes);

/* Who is alive.  A watch is a pidfd; it costs a system call to look at, so it is looked at when waiting takes long.
 * peer_watch_open: PEER_WATCH_GONE if there is no such process any more, -1 if it cannot be watched. */
#define PEER_WATCH_GONE (-2)
int peer_watch_open(int64_t pid);
bool peer_watch_dead(int watch);  /* has it exited?  false for -1, true for PEER_WATCH_GONE */
void peer_watch_close(int watch); /* negative ones are silent */

/* peer_lost: why memory of process pid cannot be mapped, before the sentence that says what could not be: PEER_DEAD if
 * the process is dead, or ends within 100 ms (a dying process gives up its files first), else TRANSPORT. */
choir_status peer_lost(int64_t pid);

#endif
