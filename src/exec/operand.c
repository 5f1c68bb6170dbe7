/* SPDX-License-Identifier: MIT */
#include "exec/operand.h"

#include "base/copy.h"
#include "exec/slot_ring.h"
#include "exec/symmetric.h"

#include <string.h>

/* --- the caller's buffers and those of the peers --- */

static unsigned char *in_callers(const struct dev_access *access, struct segments *segments, uint64_t off,
                                 uint64_t *span)
{
	if (segments->n > 0) {
		struct segment_at at = segments_find(segments, off);

		*span = at.left < *span ? at.left : *span;
		if (at.padded)
			return segments->padding;
		return at.segment->ptr != NULL ? at.segment->ptr + at.off : NULL;
	}
	return access->ptr != NULL ? access->ptr + off : NULL;
}

/* Byte off of that rank's SEND (sends) or RECV. */
static unsigned char *in_peers(struct run *run, int rank, bool sends, uint64_t off, uint64_t *span)
{
	int local_rank = run->comm->layout.local_rank_of[rank];
	const struct run_peer *peer = &run->peers[local_rank];
	/* the peer's segments are as long */
	struct segments *mine = sends ? &run->bound.send_list : &run->bound.recv_list;
	const uint64_t *addresses = sends ? peer->send_addresses : peer->recv_addresses;
	struct segment_at at;

	if (mine->n == 0)
		return (sends ? peer->send : peer->recv) + off;
	at = segments_find(mine, off);
	*span = at.left < *span ? at.left : *span;
	if (at.padded)
		return mine->padding;
	return symmetric_find(run->comm, local_rank, addresses[at.segment - mine->items]) + at.off;
}

static unsigned char *in_slot(const struct run *run, struct plan_ref ref)
{
	const struct choir_comm *comm = run->comm;
	int local_rank = comm->layout.local_rank_of[ref.peer];

	return run->slot.in_lane ? comm_lane(comm, local_rank, run->lane)->bytes + ref.off
	                         : slot_ring_at(run, local_rank, ref.off);
}

unsigned char *operand_span(struct run *run, struct plan_ref ref, uint64_t *span)
{
	switch (ref.buf) {
	case PLAN_SEND:
		return in_callers(&run->bound.send, &run->bound.send_list, ref.off, span);
	case PLAN_RECV:
		return in_callers(&run->bound.recv, &run->bound.recv_list, ref.off, span);
	case PLAN_SCRATCH:
		return (unsigned char *)run->host_scratch.ptr + ref.off;
	case PLAN_SLOT:
		return run->publish_carries_bytes && ref.peer == run->comm->rank ? run->lane_bytes + ref.off
		                                                                 : in_slot(run, ref);
	case PLAN_PEER_SEND:
		return in_peers(run, ref.peer, true, ref.off, span);
	case PLAN_PEER_RECV:
		return in_peers(run, ref.peer, false, ref.off, span);
	}
	return NULL;
}

unsigned char *operand_at(struct run *run, struct plan_ref ref)
{
	uint64_t span = UINT64_MAX;

	return operand_span(run, ref, &span);
}

void operand_say_segments(const struct run *run)
{
	size_t bytes = run->bound.send_list.n * sizeof *run->bound.send_list.addresses;
	unsigned char *slot;

	if (!run->bound.lists || run->plan->device || run->bound.send_address == 0 || run->bound.recv_address == 0)
		return;
	slot = slot_ring_at(run, run->comm->local_rank, 0);
	copy_host_nt(slot, run->bound.send_list.addresses, bytes);
	copy_host_nt(slot + bytes, run->bound.recv_list.addresses, bytes);
	copy_host_fence();
}

static struct run_peer find_segments(const struct run *run, int local_rank)
{
	const uint64_t *addresses = (const uint64_t *)(const void *)slot_ring_at(run, local_rank, 0);

	return (struct run_peer){ .send_addresses = addresses, .recv_addresses = addresses + run->bound.send_list.n };
}

void operand_find_peer(struct run *run, int local_rank)
{
	struct choir_comm *comm = run->comm;
	const struct arena_lane *lane = comm_lane(comm, local_rank, run->lane);
	uint64_t changes = comm_symmetric_changes(comm);

	if (!run->bound.lists && operand_knows_peer(run, local_rank))
		return;
	run->peers_changed = true;
	if (run->bound.lists)
		run->peers[local_rank] = find_segments(run, local_rank);
	else
		run->peers[local_rank] =
		    (struct run_peer){ .send = symmetric_find(comm, local_rank, lane->send_address),
			               .recv = symmetric_find(comm, local_rank, lane->recv_address),
			               .send_address = lane->send_address,
			               .recv_address = lane->recv_address,
			               .changes = changes };
}

/* --- what a step computes --- */

/* Is that destination written by non-temporal stores?  Where peers read it, Note [nt stores] in base/nt.h decides; the
 * caller's own buffers where they do not fit the shared cache. */
static bool is_nt(const struct run *run, const struct plan_step *step, struct plan_ref dst)
{
	if (step->len < NT_LEAST_BYTES)
		return false;
	if (dst.buf == PLAN_SLOT)
		return run->nt.on;
	if (dst.buf == PLAN_PEER_RECV)
		return run->nt.on || run->plan->nt;
	return dst.buf == PLAN_RECV && run->plan->nt;
}

uint32_t operand_refs(const struct run *run, const struct plan_step *step, struct plan_ref *refs)
{
	const struct plan_ref *more = &run->plan->refs[step->more_first], *source = &run->plan->refs[step->src_first];
	uint32_t n_dst = step->n_more + 1, nt_from = n_dst;

	for (uint32_t i = 0, next = 0; i < n_dst; i++) {
		struct plan_ref ref = i > 0 ? more[i - 1] : step->dst;

		refs[is_nt(run, step, ref) ? --nt_from : next++] = ref;
	}
	memcpy(refs + n_dst, source, step->n_src * sizeof *source);
	return nt_from;
}

void operand_reduce_call(const struct run *run, const struct plan_step *step, uint64_t len, struct reduce_call *call)
{
	*call = (struct reduce_call){
		.dtype = run->bound.dtype,
		.op = run->bound.op,
		.n_src = step->n_src,
		.raw_from = step->raw == PLAN_RAW_ALL    ? 0
		            : step->raw == PLAN_RAW_REST ? 1
		                                         : step->n_src,
		.final = step->final,
		.n_ranks = run->comm->n,
		.factor = run->bound.factor,
		.n_dst = 1,
		.nt_from = 1,
		.count = len / run->plan->elem_bytes,
		.user = run->bound.user,
	};
}
