/* SPDX-License-Identifier: MIT */
/* The arena: memory that all ranks of a node map, a memfd.  It has a control block and `lanes` lanes for each rank,
 * with a flag each, and slots (exec/slot_ring.h); a collective uses lane seq mod lanes on every rank.  A node of few
 * ranks also has a p2p ring for each ordered pair.
 *
 * Note [arena flags].  A lane's flag is one 64-bit number: (seq + 1) << 24 | point, where seq is the call's
 * sequence number, so a flag of 0 is that of no call.  Only ARENA_FLAG, arena_is_at and arena_reached know of the + 1.
 * While the call runs, point is plan index << 20 | phase.  If the call failed for this rank alone, it is
 * ARENA_LAST_POINT, which counts as any point of the call.
 * Whether a peer has published phase p of call seq is one acquire load and one comparison, and flags are never reset.
 * The flag of a call with one plan only rises.  A script has several plans, and the point holds their index modulo 16:
 * ranks begin a plan together, so two ranks are at most one plan apart, and arena_reached compares points in a circle.
 * seq has 40 bits; the engine numbers no call beyond ARENA_LAST_SEQ.
 *
 * The record beside the flag describes the rank's call; it is written before the flag is first raised for a sequence
 * number.  The control block has, for each lane, the last call the rank is done with, all on one line: peers read it
 * only when a lane is used again, so writing it is cheap. */
#ifndef NODE_ARENA_H
#define NODE_ARENA_H

#include "base/ring.h"
#include "node/bell.h"
#include "node/poison.h"

#include <stdatomic.h>
#include <stdbool.h>

#define ARENA_LAST_POINT       0xFFFFFFu
#define ARENA_WITHDRAWN        UINT64_MAX /* flag of a rank that has left all calls of a failed comm */
#define ARENA_FLAG(seq, point) (((uint64_t)(seq) + 1) << 24 | (point))
#define ARENA_LAST_SEQ         ((UINT64_C(1) << 40) - 2)
#define ARENA_RECORD_BYTES     48
#define ARENA_LANE_BYTES       48
#define ARENA_MOST_LANES       8

struct arena_lane { /* two cache lines, written by their rank only, the flag last */
	_Alignas(64) _Atomic uint64_t flag;
	uint64_t record_hash; /* of the record: what peers compare */
	/* the slot's bytes, where a call uses at most so many: they are on the flag's cache line */
	unsigned char bytes[ARENA_LANE_BYTES];
	/* the call record (net/wire.h), read when hashes differ */
	_Alignas(64) unsigned char record[ARENA_RECORD_BYTES];
	/* where peers find the rank's buffers: for direct algorithms symmetric addresses (exec/symmetric.h), for plans
	 * on the device what device_memory_offer says */
	uint64_t send_address, recv_address;
};

struct arena_control {                        /* the words of one rank that are not per lane */
	_Alignas(64) _Atomic int64_t process; /* 0 until the rank has joined */
	_Atomic uint64_t submitted;           /* the number of calls that it has submitted */
	_Alignas(64) _Atomic int64_t sign_ns; /* the time when it last wrote waits_for (exec/liveness.h); 0 = never */
	_Atomic uint32_t waits_for;           /* the rank it waits for, plus 1; 0 = none */
	/* for each lane: the rank is done with the lane's calls of lower sequence numbers */
	_Alignas(64) _Atomic uint64_t done[ARENA_MOST_LANES];
	/* in a growing arena: bit p is set once its ring to local rank p is allocated */
	_Alignas(64) _Atomic uint64_t rings;
	_Atomic uint64_t slot_bytes; /* so many bytes of its slots, from the first on, are allocated */
	/* the first rank's: the ways to store that all ranks use (exec/nt_plan.h); rarely written */
	_Alignas(64) _Atomic uint64_t nt;
};

enum {
	ARENA_ITEM_BYTES = 64 * 1024, /* the longest piece of a message in a ring */
	ARENA_RING_RANKS = 16,        /* arenas of more ranks have no rings */
	ARENA_RING_MOST = 2 << 20,    /* the most bytes of one ring */
	ARENA_RINGS_BYTES = 16 << 20, /* the most bytes of all rings */
};
_Static_assert(ARENA_RING_RANKS <= 64, "a bit for each rank: arena_control.rings and those of exec");

struct arena_address {   /* what a peer needs to map the arena */
	int64_t process; /* process_id.h */
	int32_t fd;
	int32_t ranks, lanes;
	uint32_t growing;
	uint64_t slot_bytes;
	uint64_t nonce;
};

struct arena;

/* arena_create: an arena for `ranks` ranks, all of it allocated; slot_bytes is a multiple of 4096.  NO_MEMORY if the
 * memory is not available now (there is never a SIGBUS later).  arena_create_growing: without slots and rings, which
 * arena_take_slots and arena_take_ring allocate. */
choir_status arena_create(int ranks, int lanes, uint64_t slot_bytes, struct arena **out_p);
choir_status arena_create_growing(int ranks, int lanes, uint64_t slot_bytes, struct arena **out_p);
void arena_address(const struct arena *arena, struct arena_address *out);

/* arena_open: maps the arena of another process, or adds a reference to one of this process.  TRANSPORT if it cannot be
 * mapped: the caller then treats that rank as one of another node. */
choir_status arena_open(const struct arena_address *address, struct arena **out_p);
struct arena *arena_retain(struct arena *arena);
void arena_release(struct arena *arena); /* unmaps at the last reference; NULL is silent */

/* arena_lane, arena_slot, arena_control: the parts of a rank, by its number on the node (local_rank). */
struct arena_lane *arena_lane(struct arena *arena, int local_rank, int lane);
unsigned char *arena_slot(struct arena *arena, int local_rank, int lane); /* 4096-byte aligned */
struct arena_control *arena_control(struct arena *arena, int local_rank);

/* arena_take_slots: in a growing arena the rank allocates bytes of its slots before it first writes there.
 * arena_take_ring: the sending rank allocates its ring to another.  NO_MEMORY.  Both may be repeated. */
choir_status arena_take_slots(struct arena *arena, int local_rank, uint64_t off, uint64_t bytes);
choir_status arena_take_ring(struct arena *arena, int from, int to);

/* arena_map_slots, arena_map_ring: maps here what that rank has allocated, of its slots at most the first `bytes`, so
 * that reading it takes no page faults.  arena_map_slots: false if it has allocated none. */
bool arena_map_slots(struct arena *arena, int local_rank, uint64_t bytes);
void arena_map_ring(struct arena *arena, int from, int to);

/* arena_take_keys: allocates the key board (node/key_board.h), by each rank that uses it.  NO_MEMORY. */
struct key_board;
choir_status arena_take_keys(struct arena *arena, struct key_board **out_p);

/* arena_take_all: allocates all that is not allocated yet.  NO_MEMORY. */
choir_status arena_take_all(struct arena *arena);

/* arena_has_rings: false for arenas of more than ARENA_RING_RANKS ranks, or fewer than ARENA_MOST_LANES lanes (those
 * are not the arena of a comm).
 * arena_ring: the ring (base/ring.h) by which rank `from` sends to rank `to`; NULL until it is taken.
 * arena_ring_bytes: the bytes of room of each ring. */
bool arena_has_rings(const struct arena *arena);
struct ring *arena_ring(struct arena *arena, int from, int to);
uint64_t arena_ring_bytes(const struct arena *arena);

/* arena_base, arena_bytes: the mapping but for the key board, page aligned, to wrap it as one cl_mem. */
void *arena_base(struct arena *arena);
uint64_t arena_bytes(const struct arena *arena);

/* arena_publish: stores the flag with release order.  The caller then rings its peers' bells. */
static inline void arena_publish(struct arena_lane *lane, uint64_t flag)
{
	atomic_store_explicit(&lane->flag, flag, memory_order_release);
}

/* arena_point: the point of a phase (below 2^20 - 1) of the call's plan_index-th plan. */
static inline uint32_t arena_point(uint32_t plan_index, uint32_t phase)
{
	return (plan_index << 20 & ARENA_LAST_POINT) | phase;
}

/* arena_is_at: true if the flag was last raised in call seq.
 * arena_reached: true if the flag says that its rank has published that point of call seq (Note [arena flags]); false
 * for ARENA_WITHDRAWN. */
static inline bool arena_is_at(uint64_t flag, uint64_t seq)
{
	return flag >> 24 == seq + 1;
}

static inline bool arena_reached(uint64_t flag, uint64_t seq, uint32_t point)
{
	if (!arena_is_at(flag, seq))
		return flag >> 24 > seq + 1 && flag != ARENA_WITHDRAWN;
	return (flag & ARENA_LAST_POINT) == ARENA_LAST_POINT ||
	       (((uint32_t)flag - point) & ARENA_LAST_POINT) < 1u << 23;
}

/* Poison: the first failure of any rank of the node, which all ranks see.  arena_poison keeps the first text.
 * arena_poisoned: SUCCESS, by one relaxed load, if there is none; else its status, and its text in text[bytes]. */
void arena_poison(struct arena *arena, choir_status status, const char *text);
choir_status arena_poisoned(struct arena *arena, char *text, size_t bytes);

/* arena_poison_of: the poison itself, for poison_is_set. */
const struct poison *arena_poison_of(const struct arena *arena);

/* A watch on a process: a pidfd.  Reading it takes a system call, so only long waits do.
 * peer_watch_open: PEER_WATCH_GONE if the process does not exist any more, -1 if it cannot be watched. */
#define PEER_WATCH_GONE (-2)
int peer_watch_open(int64_t process);
bool peer_watch_dead(int watch);  /* true if the process has exited, and for PEER_WATCH_GONE; false for -1 */
void peer_watch_close(int watch); /* negative ones are silent */

/* peer_lost: the status for memory of a process that could not be mapped: PEER_DEAD, with a prefix to this thread's
 * last error, if the process is dead or exits within 100 ms (it closes its files before); else TRANSPORT. */
choir_status peer_lost(int64_t process);

#endif
