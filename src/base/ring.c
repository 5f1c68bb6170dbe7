/* SPDX-License-Identifier: MIT */
#include "base/ring.h"

#define TAG_BITS 24

static uint64_t flag_of(uint64_t number, uint32_t tag)
{
	return (number + 1) << TAG_BITS | tag;
}

static struct ring_item *item_at(struct ring *ring, uint64_t number)
{
	return &ring->items[number % RING_ITEMS];
}

/* Is there an item free, and room?  *at_p: where the room begins, in bytes passed. */
static bool has_room(const struct ring *ring, uint64_t ring_bytes, uint64_t room, uint64_t *at_p)
{
	uint64_t freed = ring->seen > 0 ? ring->ends[(ring->seen - 1) % RING_ITEMS] : 0,
		 to_end = ring_bytes - ring->at % ring_bytes;

	*at_p = room > to_end ? ring->at + to_end : ring->at;
	return ring->put == ring->seen || (ring->put - ring->seen < RING_ITEMS && *at_p + room - freed <= ring_bytes);
}

struct ring_item *ring_reserve(struct ring *ring, uint64_t ring_bytes, uint64_t len)
{
	uint64_t room = (len + RING_LINE_BYTES - 1) / RING_LINE_BYTES * RING_LINE_BYTES, at;
	struct ring_item *item;

	if (room > ring_bytes)
		return NULL;
	if (!has_room(ring, ring_bytes, room, &at)) {
		ring->seen = atomic_load_explicit(&ring->freed, memory_order_acquire);
		if (!has_room(ring, ring_bytes, room, &at))
			return NULL;
	}
	item = item_at(ring, ring->put);
	if (room > 0)
		item->at = at % ring_bytes;
	ring->ends[ring->put % RING_ITEMS] = at + room;
	return item;
}

void ring_publish(struct ring *ring, uint32_t tag)
{
	uint64_t number = ring->put++;

	ring->at = ring->ends[number % RING_ITEMS];
	atomic_store_explicit(&item_at(ring, number)->flag, flag_of(number, tag), memory_order_release);
}

uint64_t ring_first(const struct ring *ring)
{
	return atomic_load_explicit(&ring->freed, memory_order_relaxed); /* this side's own */
}

bool ring_freed_early(const struct ring *ring, uint64_t number)
{
	return (ring->early >> number % RING_ITEMS & 1) != 0;
}

const struct ring_item *ring_peek(const struct ring *ring, uint64_t number, uint32_t *tag_p)
{
	const struct ring_item *item = &ring->items[number % RING_ITEMS];
	uint64_t flag = atomic_load_explicit(&item->flag, memory_order_acquire);

	if (flag >> TAG_BITS != flag_of(number, 0) >> TAG_BITS)
		return NULL;
	*tag_p = flag & ((1u << TAG_BITS) - 1);
	return item;
}

uint64_t ring_number(const struct ring *ring, const struct ring_item *item)
{
	uint64_t first = ring_first(ring);

	return first + ((uint64_t)(item - ring->items) - first) % RING_ITEMS;
}

bool ring_free(struct ring *ring, uint64_t number)
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
