/* SPDX-License-Identifier: MIT */
/* Design notes.  A ring of items in shared memory between one sender and one receiver, threads or processes.  A ring
 * that is all zero is empty.  No function here blocks.
 *
 * The sender writes an item's record and bytes, then its flag, which publishes it; long bytes lie in the room behind
 * the items, which is used from its end down: a core that reads some lines fetches what lies behind them, and were that
 * the next item's, its sender's stores would wait.  The receiver reads items in order and frees them in any order;
 * their room returns to the sender in order.
 * Each side writes its own cache lines, and reads the other side's count only when the count it knows does not
 * suffice. */
#ifndef BASE_RING_H
#define BASE_RING_H

#include "base/arithmetic.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_ITEMS = 64, RING_SHORT_BYTES = 40, RING_RECORD_BYTES = 48, RING_LINE_BYTES = 64, RING_TAG_BITS = 24 };
_Static_assert(RING_ITEMS <= 64, "ring.early and ring.copied have a bit for each item");

struct ring_item {                          /* two cache lines, written by the sender only */
	_Alignas(64) _Atomic uint64_t flag; /* (the item's number + 1) << 24 | tag */
	uint64_t key[2];                    /* the user's: names the message that the bytes belong to */
	union {
		unsigned char bytes[RING_SHORT_BYTES]; /* of an item without room: beside the flag */
		struct {                               /* of an item with room */
			uint64_t at;                   /* where its bytes begin */
			uint32_t put_ns; /* the user's: how long the sender's copy took, and how it stored */
			bool nt;
		};
	};
	_Alignas(64) unsigned char record[RING_RECORD_BYTES]; /* the user's, rarely read */
};

struct ring {                                /* the room follows: a power of two of bytes, at least RING_LINE_BYTES */
	_Alignas(64) _Atomic uint64_t freed; /* the receiver's: all items before this one are free */
	uint64_t early;                      /* the receiver's: bit number mod RING_ITEMS, freed early */
	uint64_t copied;                     /* the user's, of the receiver: such a bit: its bytes were copied out */
	_Alignas(64) _Atomic uint64_t nt;    /* the receiver's: how the sender is to store each size (base/nt.h) */
	_Alignas(64) uint64_t put, seen;     /* the sender's: items published, and `freed` when it was last read */
	uint64_t at;               /* the sender's: bytes of room used so far, gaps before its turns included */
	uint64_t in_vain;          /* the user's: `seen` + 1 when the sender last waited for room in vain */
	uint64_t ends[RING_ITEMS]; /* the sender's: `at` behind each item */
	struct ring_item items[RING_ITEMS];
};

/* ring_span: the bytes of memory that a ring with ring_bytes of room takes. */
static inline uint64_t ring_span(uint64_t ring_bytes)
{
	return sizeof(struct ring) + ring_bytes;
}

/* ring_at: the bytes of an item with room. */
static inline unsigned char *ring_at(struct ring *ring, const struct ring_item *item)
{
	return (unsigned char *)(ring + 1) + item->at;
}

static inline uint64_t ring_flag_of(uint64_t number, uint32_t tag)
{
	return (number + 1) << RING_TAG_BITS | tag;
}

/* True if an item is free and `room` bytes in one piece.  *at_p: where they begin, counted as `at`, from the end of the
 * room. */
static inline bool ring_has_room(const struct ring *ring, uint64_t ring_bytes, uint64_t room, uint64_t *at_p)
{
	uint64_t freed = ring->seen > 0 ? ring->ends[(ring->seen - 1) % RING_ITEMS] : 0;
	uint64_t to_end = ring_bytes - (ring->at & (ring_bytes - 1));

	*at_p = room > to_end ? ring->at + to_end : ring->at;
	return ring->put == ring->seen || (ring->put - ring->seen < RING_ITEMS && *at_p + room - freed <= ring_bytes);
}

/* ring_reserve: sender: the next item, with room for len bytes in one piece (0: none); NULL: no item or no room is
 * free. */
static inline struct ring_item *ring_reserve(struct ring *ring, uint64_t ring_bytes, uint64_t len)
{
	uint64_t room = round_up(len, RING_LINE_BYTES), at;
	struct ring_item *item;

	if (room > ring_bytes)
		return NULL;
	if (!ring_has_room(ring, ring_bytes, room, &at)) {
		ring->seen = atomic_load_explicit(&ring->freed, memory_order_acquire);
		if (!ring_has_room(ring, ring_bytes, room, &at))
			return NULL;
	}
	item = &ring->items[ring->put % RING_ITEMS];
	if (room > 0)
		item->at = ring_bytes - (at & (ring_bytes - 1)) - room;
	ring->ends[ring->put % RING_ITEMS] = at + room;
	return item;
}

/* ring_publish: sender: makes the reserved item visible to the receiver.  The caller wakes the receiver if it
 * sleeps. */
static inline void ring_publish(struct ring *ring, uint32_t tag)
{
	uint64_t number = ring->put++;

	ring->at = ring->ends[number % RING_ITEMS];
	atomic_store_explicit(&ring->items[number % RING_ITEMS].flag, ring_flag_of(number, tag), memory_order_release);
}

/* ring_first: receiver: the number of the oldest item that is not free. */
static inline uint64_t ring_first(const struct ring *ring)
{
	return atomic_load_explicit(&ring->freed, memory_order_relaxed); /* only the receiver writes it */
}

/* ring_freed_early: receiver: true if this item is free although an older one is not. */
static inline bool ring_freed_early(const struct ring *ring, uint64_t number)
{
	return (ring->early >> number % RING_ITEMS & 1) != 0;
}

/* ring_peek: receiver: the item of that number and its tag if the sender has published it, else NULL. */
static inline const struct ring_item *ring_peek(const struct ring *ring, uint64_t number, uint32_t *tag_p)
{
	const struct ring_item *item = &ring->items[number % RING_ITEMS];
	uint64_t flag = atomic_load_explicit(&item->flag, memory_order_acquire);

	if (flag >> RING_TAG_BITS != ring_flag_of(number, 0) >> RING_TAG_BITS)
		return NULL;
	*tag_p = flag & ((1u << RING_TAG_BITS) - 1);
	return item;
}

/* ring_number: receiver: the number of an item that is not free. */
static inline uint64_t ring_number(const struct ring *ring, const struct ring_item *item)
{
	uint64_t first = ring_first(ring);

	return first + ((uint64_t)(item - ring->items) - first) % RING_ITEMS;
}

/* ring_free: receiver: frees the item; true if the sender has more room now. */
static inline bool ring_free(struct ring *ring, uint64_t number)
{
	uint64_t freed = ring_first(ring);

	if (number != freed) {
		ring->early |= UINT64_C(1) << number % RING_ITEMS;
		return false;
	}
	for (freed++; ring_freed_early(ring, freed); freed++)
		ring->early &= ~(UINT64_C(1) << freed % RING_ITEMS);
	atomic_store_explicit(&ring->freed, freed, memory_order_release);
	return true;
}

#endif
