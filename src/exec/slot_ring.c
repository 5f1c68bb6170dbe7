/* SPDX-License-Identifier: MIT */
#include "exec/slot_ring.h"

#include "base/arithmetic.h"
#include "exec/run.h"

/* All rings of a node together are to be larger than the caches of its cores and smaller than the one they share. */
enum {
	NODE_BYTES = 16 << 20,
	RING_MOST = 4 << 20,
	RING_LEAST = 512 << 10,
	TURN_BYTES = 2 << 20,
	SHORT_BYTES = 4 << 10,
	MOST_LOOKS = 8, /* for peers' slots to map */
	LINE_BYTES = 64,
	BY_COMMANDS = 4 /* times as much where these are slower than those caches anyway */
};

struct slot_sizes slot_sizes_of(int node_size, bool by_commands)
{
	uint64_t ring = (uint64_t)NODE_BYTES / (uint64_t)node_size, unit = 4096u * (uint64_t)node_size, part;

	if (node_size == 1) /* nobody reads what is there */
		ring = RING_LEAST;
	ring = ring > RING_MOST ? RING_MOST : ring < RING_LEAST ? RING_LEAST : ring;
	ring *= by_commands && node_size > 1 ? BY_COMMANDS : 1;
	part = round_up(ring / COMM_LANES, unit);
	return (struct slot_sizes){ .lane_bytes = part + SHORT_BYTES,
		                    .slot_bytes = part * COMM_LANES / 2,
		                    .fallback_bytes = part };
}

static uint64_t need_of(const struct run *run)
{
	const struct choir_comm *comm = run->comm;
	uint64_t used;

	/* A script's plans come later, and so does another plan where some buffer is out of its peers' reach or ranks
	 * differ in counts. */
	if (run->plan == NULL || run->bound.become_script != NULL || run->plan->peers)
		return comm->fallback_bytes;
	/* lists are said in the slot; a device plan's slot is device memory of the same size */
	used = run->bound.lists || run->plan->device ? UINT64_MAX : run->plan->slot_used;
	used = used < comm->slot_bytes ? used : comm->slot_bytes;
	return round_up(used, LINE_BYTES);
}

/* The plan accesses the peers' buffers, on all ranks, so most likely no rank uses its range. */
static bool accesses_peers(const struct run *run)
{
	return run->plan != NULL && run->bound.become_script == NULL && run->plan->peers;
}

/* How much of the ring is used: little, so that it shares the cache with the callers' data, but two such calls have
 * places of their own.  A range that is not used is nowhere in the cache: then all, so that none waits for another. */
static uint64_t turn_of(const struct run *run, uint64_t ring_bytes, uint64_t bytes)
{
	uint64_t turn = bytes > TURN_BYTES / 2 ? 2 * bytes : TURN_BYTES;

	return turn < ring_bytes && !accesses_peers(run) ? turn : ring_bytes;
}

/* Does the call begin with a short plan, though it may become a script, which needs the fallback range?  The ranks
 * leave the short range together: once all have seen that they become scripts. */
static bool begins_short(const struct run *run)
{
	return run->plan != NULL && run->bound.become_script != NULL && !run->plan->peers &&
	       run->plan->slot_used < SHORT_BYTES;
}

/* Gives those lines to the lane's call; the lanes whose calls had some of them. */
static uint32_t claim_lines(struct slot_ring *ring, int mine, uint32_t from, uint32_t to)
{
	uint32_t others = 0;

	for (int lane = 0; lane < COMM_LANES; lane++)
		others |= (uint32_t)((ring->from_line[lane] < to) & (from < ring->to_line[lane])) << lane;
	ring->from_line[mine] = from;
	ring->to_line[mine] = to;
	return others;
}

void slot_ring_take(struct run *run)
{
	struct choir_comm *comm = run->comm;
	struct slot_ring *ring = &comm->submission.slots;
	uint64_t bytes = need_of(run), ring_bytes = comm->fallback_bytes * COMM_LANES,
		 short_at = ring_bytes + (uint64_t)run->lane * SHORT_BYTES, turn;

	run->slot.after_lanes = 0;
	ring->from_line[run->lane] = ring->to_line[run->lane] = 0;
	if (bytes < SHORT_BYTES) {
		run->slot.at = run->slot.fallback_at = short_at;
		return;
	}
	turn = turn_of(run, ring_bytes, bytes);
	if (bytes > ring->next || ring->next > turn)
		ring->next = turn;
	ring->next -= bytes;
	run->slot.fallback_at = ring->next;
	run->slot.at = begins_short(run) ? short_at : run->slot.fallback_at;
	run->slot.after_lanes = claim_lines(ring, run->lane, (uint32_t)(ring->next / LINE_BYTES),
	                                    (uint32_t)((ring->next + bytes) / LINE_BYTES));
}

static bool reads_slots(const struct run *run)
{
	return !run->bound.pair && !run->bound.single_rank && !run->plan->device && !run->plan->peers &&
	       run->plan->slot_used > 0;
}

/* The calls after the first one are likely to find that peers have allocated their slots; those of a rank that writes
 * none are not looked for longer. */
static void map_peers(const struct run *run)
{
	struct choir_comm *comm = run->comm;
	struct arena_use *use = &comm->engine.arena;
	int mapped = 0;

	if (!reads_slots(run))
		return;
	for (int r = 0; r < comm->node_size; r++)
		mapped += r != comm->local_rank && arena_map_slots(comm->arena, r, RING_MOST);
	use->slots_looked = mapped == comm->node_size - 1 ? MOST_LOOKS : use->slots_looked + 1;
}

choir_status slot_ring_allocate(struct run *run)
{
	struct choir_comm *comm = run->comm;
	uint64_t ring_bytes = comm->fallback_bytes * COMM_LANES;
	bool writes = !run->plan->device && ((run->plan->writes_slot && !run->slot.in_lane) || run->bound.lists),
	     is_short = run->slot.at >= ring_bytes;
	bool *allocated = is_short ? &comm->engine.arena.has_short_slots : &comm->engine.arena.has_slots;

	if (!is_short && comm->engine.arena.slots_looked < MOST_LOOKS)
		map_peers(run);
	if (*allocated || !writes)
		return CHOIR_SUCCESS;
	TRY(arena_take_slots(comm->arena, comm->local_rank, is_short ? ring_bytes : 0,
	                     is_short ? COMM_LANES * SHORT_BYTES : ring_bytes));
	*allocated = true;
	return CHOIR_SUCCESS;
}

unsigned char *slot_ring_at(const struct run *run, int local_rank, uint64_t off)
{
	return arena_slot(run->comm->arena, local_rank, 0) + run->slot.at + off;
}
