/* SPDX-License-Identifier: MIT */
/* Where the buffers of a run's peers on the node are: what each rank says in its lane, and the addresses that follow.  The place of a buffer stands beside the
 * record; of a list of segments, the places of all stand at the beginning of the slot, which a plan that touches peers' buffers has no other use for. */
#ifndef EXEC_PEERS_H
#define EXEC_PEERS_H

#include "exec/run.h"

/* peers_say: where my segments are, if the run has them and peers reach them; before its flag is raised.  The places of single buffers are announced with the record. */
void peers_say(const struct run *run);

/* peers_find: fills run->peers[place]: where the buffers of the rank at that place of the node are.  It has raised its flag, and all ranks' buffers are within reach.
 * run->peer_finds grows if that may be elsewhere than it was for the run's last call. */
void peers_find(struct run *run, int place);

/* peers_are_known: would peers_find find the same as for the run's last call? */
static inline bool peers_are_known(const struct run *run, int place)
{
	const struct arena_lane *lane = comm_lane(run->comm, place, run->lane);
	const struct run_peer *peer = &run->peers[place];

	return peer->send_place == lane->send_place && peer->recv_place == lane->recv_place &&
	       peer->changes == atomic_load_explicit(&run->comm->symmetric_changes, memory_order_acquire);
}

/* peers_host: the address of byte off of that rank's SEND (sends) or RECV.  *span becomes no more than what lies together from there on. */
unsigned char *peers_host(struct run *run, int rank, bool sends, uint64_t off, uint64_t *span);

#endif
