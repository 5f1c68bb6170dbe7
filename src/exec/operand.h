/* SPDX-License-Identifier: MIT */
/* Operands: where the bytes are that a plan's references name.  SEND and RECV are the caller's buffers, one each or
 * many segments; SCRATCH is the run's; SLOT is a rank's part of the arena; PEER_SEND and PEER_RECV are the buffers of
 * the node's other ranks, found by the symmetric addresses in their lanes. */
#ifndef EXEC_OPERAND_H
#define EXEC_OPERAND_H

#include "exec/run.h"
#include "kern/reduce.h"

/* operand_at: the host address of a reference, NULL if the host cannot reach it.  operand_span: the same; *span is
 * lowered to the bytes that lie together from there on. */
unsigned char *operand_at(struct run *run, struct plan_ref ref);
unsigned char *operand_span(struct run *run, struct plan_ref ref, uint64_t *span);

/* operand_refs: the destinations of a copy or a reduction, then its sources, into refs.  Destinations from the returned
 * number on are written by non-temporal stores. */
uint32_t operand_refs(const struct run *run, const struct plan_step *step, struct plan_ref *refs);

/* operand_reduce_call: the arguments of a REDUCE of len bytes, but for the operands' addresses. */
void operand_reduce_call(const struct run *run, const struct plan_step *step, uint64_t len, struct reduce_call *call);

/* operand_say_segments: writes the symmetric addresses of my segments to the beginning of my slot, if the run has
 * segments that peers reach; before its flag is raised. */
void operand_say_segments(const struct run *run);

/* operand_find_peer: fills run->peers[local_rank] from that rank's lane.  It has raised its flag, and its buffers are
 * within reach.
 * operand_knows_peer: has its lane the addresses from which run->peers[local_rank] was filled? */
void operand_find_peer(struct run *run, int local_rank);
static inline bool operand_knows_peer(const struct run *run, int local_rank)
{
	const struct arena_lane *lane = comm_lane(run->comm, local_rank, run->lane);
	const struct run_peer *peer = &run->peers[local_rank];

	return peer->send_address == lane->send_address && peer->recv_address == lane->recv_address &&
	       peer->changes == comm_symmetric_changes(run->comm);
}

#endif
