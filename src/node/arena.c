/* SPDX-License-Identifier: MIT */
/* Design notes.
 *
 * Layout, each part on pages of its own: head and poison | controls [ranks] | lanes [ranks][lanes] |
 * slots [ranks][lanes] | rings [ranks][ranks] | key board.  A word that one rank writes and another polls shares no
 * cache line with words of other ranks.
 *
 * A process maps an arena once, even for several ranks: arena_open counts references by nonce, so all local ranks use
 * the same addresses.
 *
 * Note [growing arenas].  Many comms only make calls so short that their bytes fit beside the flags.  So the file of a
 * comm's arena has its full size, but only the head, the controls and the lanes are allocated.  A rank allocates its
 * slots before its first call that writes there, and its ring to a peer before its first message.  A peer reads a slot
 * only after the rank's flag and a ring only after its bit in `rings`, so no rank touches a page that is not allocated,
 * and no other agreement is needed.  A comm and the comms split from it do not share an arena: a split takes little
 * time and memory without that, and a shared arena would tie together the lifetimes of comms that end at different
 * times. */
#include "node/arena.h"

#include "base/arithmetic.h"
#include "base/error.h"
#include "node/key_board.h"
#include "node/poison.h"
#include "node/process_id.h"
#include "node/shared.h"

#include <stdlib.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

struct arena_head {
	struct shared_head shared;
	int32_t ranks, lanes;
	uint64_t slot_bytes;
	_Alignas(64) struct poison poison;
};
_Static_assert(sizeof(struct arena_head) <= PAGE_BYTES, "the head is one page");
_Static_assert(sizeof(struct arena_lane) == 128, "two cache lines");

struct arena {
	struct arena *next;
	struct shared_map map;
	struct arena_head *head;
	int64_t process; /* the process whose descriptor fd is */
	int fd;
	int ranks, lanes;
	bool growing;
	uint64_t slot_bytes, controls_off, lanes_off, slots_off, rings_off, keys_off;
	int refs; /* under shared_lock */
};

static const char arena_name[] = "choir-arena";

static struct arena *open_arenas; /* under shared_lock */

static uint64_t pages(uint64_t bytes)
{
	return round_up(bytes, PAGE_BYTES);
}

bool arena_has_rings(const struct arena *arena)
{
	return arena->ranks <= ARENA_RING_RANKS && arena->lanes == ARENA_MOST_LANES;
}

uint64_t arena_ring_bytes(const struct arena *arena)
{
	uint64_t bytes = ARENA_RING_MOST, pairs = (uint64_t)arena->ranks * (uint64_t)arena->ranks;

	while (bytes * pairs > ARENA_RINGS_BYTES)
		bytes /= 2;
	return bytes;
}

static uint64_t rings_bytes(const struct arena *arena)
{
	return arena_has_rings(arena)
	           ? pages((uint64_t)arena->ranks * (uint64_t)arena->ranks * ring_span(arena_ring_bytes(arena)))
	           : 0;
}

/* Only a comm's arena has a key board. */
static uint64_t keys_bytes(const struct arena *arena)
{
	return arena->growing ? pages(key_board_bytes(arena->ranks)) : 0;
}

/* Fills the offsets; *bytes_p is the size of the whole. */
static choir_status lay_out(struct arena *arena, uint64_t *bytes_p)
{
	uint64_t lines, slots;

	if (arena->ranks < 1 || arena->lanes < 1 || arena->lanes > ARENA_MOST_LANES ||
	    arena->slot_bytes % PAGE_BYTES != 0)
		return error_set(CHOIR_ARGUMENT, "cannot make an arena of %d ranks, %d lanes and slots of %llu bytes",
		                 arena->ranks, arena->lanes, (unsigned long long)arena->slot_bytes);
	lines = (uint64_t)arena->ranks * (uint64_t)arena->lanes; /* below 2^62 */
	arena->controls_off = PAGE_BYTES;
	arena->lanes_off = arena->controls_off + pages((uint64_t)arena->ranks * sizeof(struct arena_control));
	if (__builtin_mul_overflow(lines, sizeof(struct arena_lane), &arena->slots_off) ||
	    arena->slots_off > (uint64_t)INT64_MAX / 2 || __builtin_mul_overflow(lines, arena->slot_bytes, &slots) ||
	    slots > (uint64_t)INT64_MAX / 4)
		return error_set(CHOIR_NO_MEMORY,
		                 "no memory for an arena of %d ranks, %d lanes and slots of %llu bytes", arena->ranks,
		                 arena->lanes, (unsigned long long)arena->slot_bytes);
	arena->slots_off = arena->lanes_off + pages(arena->slots_off);
	arena->rings_off = arena->slots_off + slots;
	arena->keys_off = arena->rings_off + rings_bytes(arena);
	*bytes_p = arena->keys_off + keys_bytes(arena);
	return CHOIR_SUCCESS;
}

static void list_arena(struct arena *arena)
{
	arena->refs = 1;
	arena->next = open_arenas;
	open_arenas = arena;
}

static choir_status create(int ranks, int lanes, uint64_t slot_bytes, bool growing, struct arena **out_p)
{
	struct arena *arena = calloc(1, sizeof *arena);
	uint64_t bytes = 0;
	choir_status st;

	if (arena == NULL)
		return error_no_memory("an arena", sizeof *arena);
	arena->ranks = ranks;
	arena->lanes = lanes;
	arena->slot_bytes = slot_bytes;
	arena->growing = growing;
	st = lay_out(arena, &bytes);
	if (st == CHOIR_SUCCESS)
		st = shared_make_growing(arena_name, bytes, growing ? arena->slots_off : bytes, &arena->map);
	if (st != CHOIR_SUCCESS) {
		free(arena);
		return st;
	}
	arena->head = arena->map.base;
	arena->head->ranks = ranks;
	arena->head->lanes = lanes;
	arena->head->slot_bytes = slot_bytes;
	arena->process = process_id();
	arena->fd = arena->map.fd;
	shared_lock();
	list_arena(arena);
	shared_unlock();
	*out_p = arena;
	return CHOIR_SUCCESS;
}

choir_status arena_create(int ranks, int lanes, uint64_t slot_bytes, struct arena **out_p)
{
	return create(ranks, lanes, slot_bytes, false, out_p);
}

choir_status arena_create_growing(int ranks, int lanes, uint64_t slot_bytes, struct arena **out_p)
{
	return create(ranks, lanes, slot_bytes, true, out_p);
}

void arena_address(const struct arena *arena, struct arena_address *out)
{
	*out = (struct arena_address){ .process = arena->process,
		                       .fd = arena->fd,
		                       .ranks = arena->ranks,
		                       .lanes = arena->lanes,
		                       .growing = arena->growing,
		                       .slot_bytes = arena->slot_bytes,
		                       .nonce = arena->map.nonce };
}

static choir_status open_new(const struct arena_address *address, struct arena **out_p)
{
	struct arena *arena = calloc(1, sizeof *arena);
	uint64_t bytes = 0;
	choir_status st;

	if (arena == NULL)
		return error_no_memory("an arena", sizeof *arena);
	arena->ranks = address->ranks;
	arena->lanes = address->lanes;
	arena->slot_bytes = address->slot_bytes;
	arena->growing = address->growing != 0;
	arena->process = address->process;
	arena->fd = address->fd;
	st = lay_out(arena, &bytes);
	if (st == CHOIR_SUCCESS)
		st = shared_find(arena_name, address->process, address->fd, address->nonce, bytes, &arena->map);
	if (st != CHOIR_SUCCESS) {
		free(arena);
		return st;
	}
	arena->head = arena->map.base;
	if (arena->head->ranks != arena->ranks || arena->head->lanes != arena->lanes ||
	    arena->head->slot_bytes != arena->slot_bytes) {
		shared_drop(&arena->map);
		free(arena);
		return error_set(CHOIR_TRANSPORT, "the arena of process %d has another shape than announced",
		                 process_pid(address->process));
	}
	list_arena(arena);
	*out_p = arena;
	return CHOIR_SUCCESS;
}

choir_status arena_open(const struct arena_address *address, struct arena **out_p)
{
	struct arena *arena;
	choir_status st = CHOIR_SUCCESS;

	shared_lock();
	for (arena = open_arenas; arena != NULL; arena = arena->next)
		if (arena->map.nonce == address->nonce && arena->process == address->process)
			break;
	if (arena != NULL) {
		arena->refs++;
		*out_p = arena;
	} else {
		st = open_new(address, out_p);
	}
	shared_unlock();
	return st;
}

struct arena *arena_retain(struct arena *arena)
{
	shared_lock();
	arena->refs++;
	shared_unlock();
	return arena;
}

void arena_release(struct arena *arena)
{
	if (arena == NULL)
		return;
	shared_lock();
	if (--arena->refs == 0) {
		struct arena **at = &open_arenas;

		while (*at != arena)
			at = &(*at)->next;
		*at = arena->next;
		shared_drop(&arena->map);
		free(arena);
	}
	shared_unlock();
}

static unsigned char *at_off(struct arena *arena, uint64_t off)
{
	return (unsigned char *)arena->map.base + off;
}

struct arena_lane *arena_lane(struct arena *arena, int local_rank, int lane)
{
	uint64_t line = (uint64_t)local_rank * (uint64_t)arena->lanes + (uint64_t)lane;

	return (struct arena_lane *)(void *)at_off(arena, arena->lanes_off + line * sizeof(struct arena_lane));
}

unsigned char *arena_slot(struct arena *arena, int local_rank, int lane)
{
	uint64_t slot = (uint64_t)local_rank * (uint64_t)arena->lanes + (uint64_t)lane;

	return at_off(arena, arena->slots_off + slot * arena->slot_bytes);
}

static uint64_t ring_off(const struct arena *arena, int from, int to)
{
	uint64_t pair = (uint64_t)from * (uint64_t)arena->ranks + (uint64_t)to;

	return arena->rings_off + pair * ring_span(arena_ring_bytes(arena));
}

struct ring *arena_ring(struct arena *arena, int from, int to)
{
	if (!arena_has_rings(arena))
		return NULL;
	if (arena->growing &&
	    (atomic_load_explicit(&arena_control(arena, from)->rings, memory_order_acquire) >> to & 1) == 0)
		return NULL;
	return (struct ring *)(void *)at_off(arena, ring_off(arena, from, to));
}

static uint64_t slots_off(const struct arena *arena, int local_rank)
{
	return arena->slots_off + (uint64_t)local_rank * (uint64_t)arena->lanes * arena->slot_bytes;
}

choir_status arena_take_slots(struct arena *arena, int local_rank, uint64_t off, uint64_t bytes)
{
	if (!arena->growing)
		return CHOIR_SUCCESS;
	TRY(shared_fill(&arena->map, arena_name, slots_off(arena, local_rank) + off, bytes));
	if (off == 0)
		atomic_store_explicit(&arena_control(arena, local_rank)->slot_bytes, bytes, memory_order_release);
	return CHOIR_SUCCESS;
}

bool arena_map_slots(struct arena *arena, int local_rank, uint64_t bytes)
{
	uint64_t there = atomic_load_explicit(&arena_control(arena, local_rank)->slot_bytes, memory_order_acquire);

	if (there > 0)
		shared_map_ahead(&arena->map, slots_off(arena, local_rank), there < bytes ? there : bytes);
	return there > 0;
}

choir_status arena_take_ring(struct arena *arena, int from, int to)
{
	if (!arena->growing)
		return CHOIR_SUCCESS;
	TRY(shared_fill(&arena->map, arena_name, ring_off(arena, from, to), ring_span(arena_ring_bytes(arena))));
	atomic_fetch_or_explicit(&arena_control(arena, from)->rings, UINT64_C(1) << to, memory_order_release);
	return CHOIR_SUCCESS;
}

void arena_map_ring(struct arena *arena, int from, int to)
{
	shared_map_ahead(&arena->map, ring_off(arena, from, to), ring_span(arena_ring_bytes(arena)));
}

choir_status arena_take_keys(struct arena *arena, struct key_board **out_p)
{
	if (!arena->growing)
		return error_set(CHOIR_UNSUPPORTED, "this arena has no key board");
	TRY(shared_fill(&arena->map, arena_name, arena->keys_off, keys_bytes(arena)));
	*out_p = (struct key_board *)(void *)at_off(arena, arena->keys_off);
	return CHOIR_SUCCESS;
}

choir_status arena_take_all(struct arena *arena)
{
	return arena->growing ? shared_fill(&arena->map, arena_name, 0, arena->keys_off) : CHOIR_SUCCESS;
}

struct arena_control *arena_control(struct arena *arena, int local_rank)
{
	return (struct arena_control *)(void *)at_off(arena, arena->controls_off +
	                                                         (uint64_t)local_rank * sizeof(struct arena_control));
}

void *arena_base(struct arena *arena)
{
	return arena->map.base;
}

uint64_t arena_bytes(const struct arena *arena)
{
	return arena->keys_off;
}

void arena_poison(struct arena *arena, choir_status status, const char *text)
{
	poison_set(&arena->head->poison, status, text);
}

const struct poison *arena_poison_of(const struct arena *arena)
{
	return &arena->head->poison;
}

choir_status arena_poisoned(struct arena *arena, char *text, size_t bytes)
{
	return poison_get(&arena->head->poison, text, bytes);
}
