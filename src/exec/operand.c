/* SPDX-License-Identifier: MIT */
#include "exec/operand.h"

#include "base/copy.h"
#include "exec/slot_ring.h"
#include "exec/symmetric.h"

#include <stdlib.h>
#include <string.h>

/* --- the caller's buffers and those of the peers --- */

static unsigned char *in_callers(const struct dev_access *access, struct segments *segments, uint64_t off,
                                 uint64_t *span)
{
	if (segments->n > 0) {
		struct segment_at at = segments_find(segments, off);

		*span = at.left < *span ? at.left : *span;
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
		return (unsigned char *)run->scratch.ptr + ref.off;
	case PLAN_SLOT:
		return run->publish_carries_bytes && ref.peer == run->comm->rank ? run->line + ref.off
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

	if (!run->bound.lists || run->bound.send_address == 0 || run->bound.recv_address == 0)
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
	uint64_t changes = atomic_load_explicit(&comm->symmetric.changes, memory_order_acquire);

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

/* Is that destination written by non-temporal stores?  Where peers read it, Note [nt stores] decides; the caller's own
 * buffers where they do not fit the shared cache. */
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
		.raw_from = step->raw == PLAN_RAW_ALL ? 0 : step->raw == PLAN_RAW_REST ? 1 : step->n_src,
		.final = step->final,
		.n_ranks = run->comm->n,
		.factor = run->bound.factor,
		.n_dst = 1,
		.nt_from = 1,
		.count = len / run->plan->elem_bytes,
	};
}

/* --- the table --- */

/* What an operand's address is counted from: a call's slot and lane are others than those of the call before. */
enum operand_base { ABSOLUTE, IN_SLOT, IN_LANE, N_BASES };

static enum operand_base base_of(const struct run *run, struct plan_ref ref)
{
	if (ref.buf != PLAN_SLOT || (run->publish_carries_bytes && ref.peer == run->comm->rank))
		return ABSOLUTE;
	return run->slot.in_lane ? IN_LANE : IN_SLOT;
}

static void find_bases(const struct run *run, uint64_t bases[N_BASES])
{
	bases[ABSOLUTE] = 0;
	bases[IN_SLOT] = run->slot.at;
	bases[IN_LANE] = (uint64_t)run->lane * sizeof(struct arena_lane);
}

static void bind_step(struct table_step *to, struct run *run, const struct plan_step *step, const uint64_t *bases)
{
	struct plan_ref refs[TABLE_OPERANDS];
	uint32_t n = step->n_more + 1 + step->n_src;

	to->n = 0;
	if ((step->kind != PLAN_COPY && step->kind != PLAN_REDUCE) || n > TABLE_OPERANDS || step->len == 0)
		return;
	to->copies = step->kind == PLAN_COPY;
	to->len = step->len;
	to->n_dst = step->n_more + 1;
	operand_reduce_call(run, step, step->len, &to->call);
	to->call.n_dst = to->n_dst;
	to->call.nt_from = operand_refs(run, step, refs);
	for (uint32_t i = 0; i < n; i++) {
		to->base[i] = (unsigned char)base_of(run, refs[i]);
		to->at[i] = operand_at(run, refs[i]) - bases[to->base[i]];
	}
	to->n = n;
}

choir_status operand_table_create(struct operand_table **out_p)
{
	*out_p = calloc(1, sizeof **out_p);
	return *out_p != NULL ? CHOIR_SUCCESS : error_no_memory("the operands of a call", sizeof **out_p);
}

/* False: without memory the table stays empty, and each call looks its addresses up. */
static bool keep_peers(struct operand_table *table, const struct run *run)
{
	size_t bytes = (size_t)run->comm->node_size * sizeof *run->peers;

	if (!run->plan->peers)
		return true;
	if (table->peers == NULL && (table->peers = malloc(bytes)) == NULL)
		return false;
	memcpy(table->peers, run->peers, bytes);
	return true;
}

void operand_table_bind(struct operand_table *table, struct run *run)
{
	uint64_t bases[N_BASES];

	if (table->plan == run->plan && table->nt == run->nt.on && table->scratch == run->scratch.ptr &&
	    !run->peers_changed)
		return;
	table->plan = NULL;
	for (uint32_t i = 0; i < TABLE_STEPS; i++)
		table->steps[i].n = 0;
	if (!keep_peers(table, run))
		return;
	find_bases(run, bases);
	for (uint32_t i = 0; i < run->plan->n_steps && i < TABLE_STEPS; i++)
		bind_step(&table->steps[i], run, &run->plan->steps[i], bases);
	table->plan = run->plan;
	table->nt = run->nt.on;
	table->scratch = run->scratch.ptr;
	run->peers_changed = false;
}

void operand_table_load(const struct operand_table *table, struct run *run)
{
	run->peers_changed = table->plan == NULL || (table->peers != NULL && run->peers == NULL);
	if (!run->peers_changed && table->peers != NULL)
		memcpy(run->peers, table->peers, (size_t)run->comm->node_size * sizeof *run->peers);
}

static void copy(const struct table_step *step, void *const *at)
{
	if (step->call.nt_from == 0)
		copy_host(at[0], at[1], step->len, true);
	else if (at[0] != at[1])
		copy_host_plain(at[0], at[1], step->len);
}

void operand_table_do_step(const struct table_step *step, const struct run *run)
{
	uint64_t bases[N_BASES];
	void *at[TABLE_OPERANDS];

	find_bases(run, bases);
	for (uint32_t i = 0; i < step->n; i++)
		at[i] = step->at[i] + bases[step->base[i]];
	if (step->copies)
		copy(step, at);
	else
		reduce_host(&step->call, at, (const void *const *)(at + step->n_dst));
}

void operand_table_free(struct operand_table *table)
{
	if (table != NULL)
		free(table->peers);
	free(table);
}
