/* SPDX-License-Identifier: MIT */
#include "exec/slot_ring.h"

#include "exec/run.h"

/* All rings of a node together are to be larger than the caches of its cores and smaller than the one they share. */
enum { NODE_BYTES = 16 << 20, RING_MOST = 4 << 20, RING_LEAST = 512 << 10, CLOSE_BYTES = 2 << 20, SHORT_BYTES = 4 << 10, LINE_BYTES = 64 };

struct slot_sizes slot_sizes_of(int node_size)
{
	uint64_t ring = (uint64_t)NODE_BYTES / (uint64_t)node_size, unit = 4096u * (uint64_t)node_size, part;

	if (node_size == 1) /* nobody reads what is there */
		ring = RING_LEAST;
	ring = ring > RING_MOST ? RING_MOST : ring < RING_LEAST ? RING_LEAST : ring;
	part = (ring / COMM_LANES + unit - 1) / unit * unit;
	return (struct slot_sizes){ .lane_bytes = part + SHORT_BYTES, .slot_bytes = part * COMM_LANES / 2, .part_bytes = part };
}

static uint64_t need_of(const struct run *run)
{
	const struct choir_comm *comm = run->comm;
	uint64_t used;

	/* A script's plans come later, and so does another plan where some buffer is out of its peers' reach or ranks differ in counts. */
	if (run->plan == NULL || run->disagree != NULL || run->plan->peers)
		return comm->part_bytes;
	used = run->plan->slot_used < comm->slot_bytes ? run->plan->slot_used : comm->slot_bytes;
	return (used + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Where the ring turns: soon, so that it shares the cache with the callers' data, but two such calls have places of their own. */
static uint64_t turn_of(uint64_t ring_bytes, uint64_t bytes)
{
	uint64_t turn = bytes > CLOSE_BYTES / 2 ? 2 * bytes : CLOSE_BYTES;

	return turn < ring_bytes ? turn : ring_bytes;
}

/* The plan at hand is a short one, and where another one may take its place that is after all ranks have seen that it will. */
static bool begins_short(const struct run *run)
{
	return run->plan != NULL && run->disagree != NULL && !run->plan->peers && run->plan->slot_used < SHORT_BYTES;
}

void slot_ring_take(struct run *run)
{
	struct choir_comm *comm = run->comm;
	struct slot_ring *ring = &comm->engine.ring;
	uint64_t bytes = need_of(run), ring_bytes = comm->part_bytes * COMM_LANES, close = ring_bytes + (uint64_t)run->lane * SHORT_BYTES;
	struct slot_range *mine = &ring->held[run->lane];

	run->slot_behind = 0;
	if (bytes < SHORT_BYTES) {
		*mine = (struct slot_range){ 0 };
		run->slot_at = run->slot_part = close;
		return;
	}
	if (ring->next + bytes > turn_of(ring_bytes, bytes))
		ring->next = 0;
	*mine = (struct slot_range){ .from = ring->next, .to = ring->next + bytes };
	run->slot_part = ring->next;
	run->slot_at = begins_short(run) ? close : run->slot_part;
	ring->next += bytes;
	for (uint64_t back = 1; back < COMM_LANES && back <= run->seq; back++) {
		const struct slot_range *other = &ring->held[(run->seq - back) % COMM_LANES];

		if (other->from < mine->to && mine->from < other->to)
			run->slot_behind |= UINT32_C(1) << back;
	}
}

unsigned char *slot_ring_at(const struct run *run, int place, uint64_t off)
{
	return arena_slot(run->comm->arena, place, 0) + run->slot_at + off;
}
