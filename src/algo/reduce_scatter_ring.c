/* SPDX-License-Identifier: MIT */
/* reduce_scatter and reduce_scatterv by a ring over all ranks, node after node: block b starts at the rank after its
 * owner and is summed along the ring until it reaches the owner.
 *
 * n - 1 rounds for each message_bytes of the longest block, several in flight; a rank sends all blocks but its own.
 * Any n > 1, any lengths, also zero.  Each block has one owner, which adds last; one fixed order. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/window.h"

struct scatter_ring {
	const struct algo_in *in;
	struct plan *plan;
	struct group group;
	struct window own, partial;
	int next, before; /* comm ranks */
	struct chunks chunks; /* of the longest block */
	uint32_t tag;
	/* the last step that reads SEND: in place RECV may be any block of SEND, and the round's last step writes it */
	plan_id last;
};

static uint64_t send_off(const struct scatter_ring *r, int block, uint64_t off)
{
	return rank_block_off(r->in, group_rank(&r->group, block)) + off;
}

/* The length of a block's chunk k; 0 if only longer blocks have one. */
static uint64_t len_of(const struct scatter_ring *r, int block, uint64_t k)
{
	uint64_t bytes = rank_block_bytes(r->in, group_rank(&r->group, block)), off = chunk_off(r->chunks, k);

	return off < bytes ? min_u64(r->chunks.each, bytes - off) : 0;
}

/* Sends the first block of the round unchanged. */
static void start_round(struct scatter_ring *r, uint64_t k)
{
	int block = ring_reduce_send_block(r->group.me, 0, r->group.n, 0);
	uint64_t len = len_of(r, block, k);
	struct piece piece;

	if (len == 0)
		return;
	piece = piece_of_send(r->in, r->plan, &r->own, send_off(r, block, chunk_off(r->chunks, k)), len, false);
	r->last =
	    plan_send(r->plan, r->next, r->tag, piece.ref, len, (plan_id[]){ piece.ready, r->last }, 2, "ring: first");
	piece_end(&piece, r->plan, &r->own);
}

/* Receives a partial sum and adds this rank's part; passes it on, or stores it in RECV in the last step. */
static void add_step(struct scatter_ring *r, int s, uint64_t k)
{
	const struct algo_in *in = r->in;
	int block = ring_reduce_recv_block(r->group.me, s, r->group.n, 0);
	uint64_t off = chunk_off(r->chunks, k), len = len_of(r, block, k);
	bool final = s == r->group.n - 2;
	struct plan_ref partial, out;
	struct piece mine;
	plan_id from, got;
	uint32_t taken;

	if (len == 0)
		return;
	mine = piece_of_send(in, r->plan, &r->own, send_off(r, block, off), len, false);
	from = r->plan->n_steps;
	partial = window_take(&r->partial, r->plan, &taken);
	out = final && in->recv_direct ? plan_at(PLAN_RECV, off) : partial;
	got = plan_recv(r->plan, r->before, r->tag + (uint32_t)s, partial, len, NULL, 0, "ring: partial in");
	r->last = plan_reduce(r->plan, out, (struct plan_ref[]){ partial, mine.ref }, 2,
	                      s == 0 ? PLAN_RAW_ALL : PLAN_RAW_REST, final, len,
	                      (plan_id[]){ got, mine.ready, r->last }, 3, "ring: add mine");
	piece_end(&mine, r->plan, &r->own);
	if (!final)
		plan_send(r->plan, r->next, r->tag + (uint32_t)s + 1, partial, len, &r->last, 1, "ring: partial on");
	else if (!in->recv_direct)
		plan_copy(r->plan, plan_at(PLAN_RECV, off), out, len, &r->last, 1, "stage out");
	window_busy(&r->partial, r->plan, taken, from);
}

choir_status reduce_scatter_ring(const struct algo_in *in, struct plan *plan)
{
	struct scatter_ring r = { .in = in, .plan = plan, .group = group_all(in), .last = PLAN_NO_STEP };
	uint64_t unit = block_unit(in->elem_bytes);

	r.chunks = chunks_of(rank_block_longest(in), message_limit(in, unit), unit);
	r.next = group_rank(&r.group, ring_next(r.group.me, r.group.n));
	r.before = group_rank(&r.group, ring_before(r.group.me, r.group.n));
	window_init(&r.own, plan, in->send_direct || !r.chunks.n ? 0 : r.chunks.each);
	window_init(&r.partial, plan, r.chunks.n ? r.chunks.each : 0);
	for (uint64_t k = 0; k < r.chunks.n; k++, r.tag += (uint32_t)r.group.n - 1) {
		start_round(&r, k);
		for (int s = 0; s < r.group.n - 1; s++)
			add_step(&r, s, k);
	}
	return plan_finish(plan);
}
