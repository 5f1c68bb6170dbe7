/* SPDX-License-Identifier: MIT */
/* A ring of items in shared memory: one sender, one receiver, threads or processes.  All zero: empty.  Nothing here
 * blocks.
 *
 * An item is one cache line that the sender writes, its flag last, and room for bytes behind the items.  The receiver
 * reads items in order and frees them in any order; the sender gets their room back in order.  Each side writes lines
 * of its own and looks at the other's count only when its last look does not suffice. */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_ITEMS = 64, RING_SHORT_BYTES = 40, RING_RECORD_BYTES = 48, RING_LINE_BYTES = 64, RING_TAG_BITS = 24 };

struct ring_item { /* two cache lines, written by the sender only */
	_Alignas(64) _Atomic uint64_t flag; /* (the item's number + 1) << 24 | tag */
	uint64_t key[2];                    /* the user's: whose bytes these are */
	union {
		unsigned char bytes[RING_SHORT_BYTES]; /* of an item without room: they travel with the flag */
		struct {                               /* of one with room */
			uint64_t at;     /* where its bytes begin */
			uint32_t put_ns; /* the user's: how long the sender's copy took, and how it stored */
			bool nt;
		};
	};
	_Alignas(64) unsigned char record[RING_RECORD_BYTES]; /* the user's, seldom read */
};

struct ring { /* the items' bytes follow it: a power of two, RING_LINE_BYTES at least */
	_Alignas(64) _Atomic uint64_t freed; /* the receiver's: all items before this one are free */
	uint64_t early;                      /* the receiver's: bit number mod RING_ITEMS, freed early */
	_Alignas(64) _Atomic uint64_t nt;    /* the receiver's word to the sender: how to store each size */
	_Alignas(64) uint64_t put, seen;     /* the sender's: items put, and those that were free at its last look */
	uint64_t at;                         /* the sender's: bytes passed so far, those left out at the end too */
	uint64_t ends[RING_ITEMS];           /* the sender's: the same behind each item */
	struct ring_item items[RING_ITEMS];
};

/* ring_span: the memory of a ring with so many bytes behind it. */
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

/* Is there an item free, and room?  *at_p: where the room begins, in bytes passed. */
static inline bool ring_has_room(const struct ring *ring, uint64_t ring_bytes, uint64_t room, uint64_t *at_p)
{
	uint64_t freed = ring->seen > 0 ? ring->ends[(ring->seen - 1) % RING_ITEMS] : 0;
	uint64_t to_end = ring_bytes - (ring->at & (ring_bytes - 1));

	*at_p = room > to_end ? ring->at + to_end : ring->at;
	return ring->put == ring->seen || (ring->put - ring->seen < RING_ITEMS && *at_p + room - freed <= ring_bytes);
}

/* The sender's side.  ring_reserve: the next item, with room for len bytes in one piece (0: none); NULL: there is no
 * item or no room. ring_publish hands the reserved item to the receiver; whoever may sleep is the caller's to wake. */
static inline struct ring_item *ring_reserve(struct ring *ring, uint64_t ring_bytes, uint64_t len)
{
	uint64_t room = (len + RING_LINE_BYTES - 1) / RING_LINE_BYTES * RING_LINE_BYTES, at;
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
		item->at = at & (ring_bytes - 1);
	ring->ends[ring->put % RING_ITEMS] = at + room;
	return item;
}

static inline void ring_publish(struct ring *ring, uint32_t tag)
{
	uint64_t number = ring->put++;

	ring->at = ring->ends[number % RING_ITEMS];
	atomic_store_explicit(&ring->items[number % RING_ITEMS].flag, ring_flag_of(number, tag), memory_order_release);
}

/* The receiver's side.  ring_first: the oldest item that is not free; ring_freed_early: this one is free although an
 * older one is not. ring_peek: the item of that number, if the sender has published it: *tag_p; else NULL.
 * ring_number: the number of an item that is not free. */
static inline uint64_t ring_first(const struct ring *ring)
{
	return atomic_load_explicit(&ring->freed, memory_order_relaxed); /* this side's own */
}

static inline bool ring_freed_early(const struct ring *ring, uint64_t number)
{
	return (ring->early >> number % RING_ITEMS & 1) != 0;
}

static inline const struct ring_item *ring_peek(const struct ring *ring, uint64_t number, uint32_t *tag_p)
{
	const struct ring_item *item = &ring->items[number % RING_ITEMS];
	uint64_t flag = atomic_load_explicit(&item->flag, memory_order_acquire);

	if (flag >> RING_TAG_BITS != ring_flag_of(number, 0) >> RING_TAG_BITS)
		return NULL;
	*tag_p = flag & ((1u << RING_TAG_BITS) - 1);
	return item;
}

static inline uint64_t ring_number(const struct ring *ring, const struct ring_item *item)
{
	uint64_t first = ring_first(ring);

	return first + ((uint64_t)(item - ring->items) - first) % RING_ITEMS;
}

/* ring_free: the receiver is done with the item.  True if the sender has more room now. */
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
