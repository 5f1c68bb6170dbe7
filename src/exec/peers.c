/* SPDX-License-Identifier: MIT */
#include "exec/peers.h"

#include "base/copy.h"
#include "exec/slot_ring.h"
#include "exec/symmetric.h"

void peers_say(const struct run *run)
{
	struct choir_comm *comm = run->comm;
	size_t bytes = run->bound.send_list.n * sizeof *run->bound.send_list.places;
	unsigned char *slot;

	if (run->bound.lists == NULL || run->bound.send_place == 0 || run->bound.recv_place == 0)
		return;
	slot = slot_ring_at(run, comm->place, 0);
	copy_host_stream(slot, run->bound.send_list.places, bytes);
	copy_host_stream(slot + bytes, run->bound.recv_list.places, bytes);
	copy_host_fence();
}

static void find_buffers(struct run *run, int place, struct run_peer *peer)
{
	struct choir_comm *comm = run->comm;
	const struct arena_lane *lane = comm_lane(comm, place, run->lane);
	uint64_t changes = atomic_load_explicit(&comm->symmetric_changes, memory_order_acquire);

	if (peers_are_known(run, place))
		return;
	run->peer_finds++;
	*peer = (struct run_peer){ .send = symmetric_find(comm, place, lane->send_place), .recv = symmetric_find(comm, place, lane->recv_place),
				   .send_place = lane->send_place, .recv_place = lane->recv_place, .changes = changes };
}

void peers_find(struct run *run, int place)
{
	const uint64_t *places;

	if (run->bound.lists == NULL) {
		find_buffers(run, place, &run->peers[place]);
		return;
	}
	places = (const uint64_t *)(const void *)slot_ring_at(run, place, 0);
	run->peer_finds++;
	run->peers[place] = (struct run_peer){ .send_places = places, .recv_places = places + run->bound.send_list.n };
}

unsigned char *peers_host(struct run *run, int rank, bool sends, uint64_t off, uint64_t *span)
{
	int place = run->comm->layout.place_of[rank];
	const struct run_peer *peer = &run->peers[place];
	struct segments *mine = sends ? &run->bound.send_list : &run->bound.recv_list; /* the peer's segments are as long */
	const uint64_t *places = sends ? peer->send_places : peer->recv_places;
	const struct segment *segment;

	if (mine->n == 0)
		return (sends ? peer->send : peer->recv) + off;
	segment = segments_span(mine, off, span);
	return symmetric_find(run->comm, place, places[segment - mine->items]) + (off - segment->from);
}
