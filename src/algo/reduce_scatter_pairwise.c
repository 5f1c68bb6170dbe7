/* SPDX-License-Identifier: MIT */
/* reduce_scatter and reduce_scatterv pair by pair: a rank sends the ranks after it, the next one first, its parts of
 * their blocks, and receives parts of its own block from those before it; then it reduces all parts at once.
 *
 * n - 1 messages for each chunk of the longest block, which do not wait for each other; a rank sends all blocks but its
 * own.  Parts of blocks that have ended are sent as empty messages, so that no rank runs ahead of the others.  Any
 * n > 1, any lengths, also zero.
 * Scratch: n chunks, twice.  Each block has one owner, which folds in rank order, so f16 and bf16 are rounded once. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/window.h"

#define AREAS         2
#define MOST_MESSAGES 8 /* in an area: bounds the scratch of large comms */

struct pairwise {
	const struct algo_in *in;
	struct plan *plan;
	struct chunks chunks; /* of the longest block */
	struct window window; /* for sends from a SEND that is not direct */
	uint64_t base;        /* offset of AREAS times n parts in scratch */
	plan_id done[AREAS];
	plan_id sent, got; /* the last send and receive; both are chained */
};

static struct plan_ref part_of(const struct pairwise *p, uint64_t k, int rank)
{
	uint64_t i = k % AREAS * (uint64_t)p->in->layout->n + (uint64_t)rank;

	return plan_at(PLAN_SCRATCH, p->base + i * round_up(p->chunks.each, 64));
}

/* The length of chunk k of a rank's block; 0 if only longer blocks have one. */
static uint64_t len_of(const struct pairwise *p, int rank, uint64_t k)
{
	uint64_t bytes = rank_block_bytes(p->in, rank), off = chunk_off(p->chunks, k);

	return off < bytes ? min_u64(p->chunks.each, bytes - off) : 0;
}

static void send_part(struct pairwise *p, uint64_t k, int to)
{
	uint64_t len = len_of(p, to, k), off = len ? rank_block_off(p->in, to) + chunk_off(p->chunks, k) : 0;
	struct piece piece = piece_of_send(p->in, p->plan, &p->window, off, len, false);

	/* After the area's previous chunk is done, so that a rank is at most AREAS chunks ahead of the others. */
	p->sent = plan_send(p->plan, to, (uint32_t)k, piece.ref, len,
	                    (plan_id[]){ piece.ready, p->sent, p->done[k % AREAS] }, 3, "part out");
	piece_end(&piece, p->plan, &p->window);
}

/* Reduces all parts in rank order.  In place RECV may be any block of SEND, so it is written after all sends. */
static plan_id reduce_parts(struct pairwise *p, uint64_t k)
{
	const struct algo_in *in = p->in;
	uint64_t off = chunk_off(p->chunks, k), len = len_of(p, in->me, k);
	struct plan_ref send = plan_at(PLAN_SEND, rank_block_off(in, in->me) + off), staged = part_of(p, k, in->me);
	plan_id own = PLAN_NO_STEP, reduced;

	if (len == 0)
		return plan_join(p->plan, (plan_id[]){ p->sent, p->got }, 2, "parts of others");
	if (!in->send_direct)
		own = plan_copy(p->plan, staged, send, len, &p->done[k % AREAS], 1, "stage in");
	for (int r = 0; r < in->layout->n; r++)
		plan_source(p->plan, r == in->me && in->send_direct ? send : part_of(p, k, r));
	reduced = plan_reduce(p->plan, in->recv_direct ? plan_at(PLAN_RECV, off) : staged, NULL, 0, PLAN_RAW_ALL, true,
	                      len, (plan_id[]){ own, p->sent, p->got }, 3, "reduce all parts");
	if (in->recv_direct)
		return reduced;
	return plan_copy(p->plan, plan_at(PLAN_RECV, off), staged, len, &reduced, 1, "stage out");
}

static void add_chunk(struct pairwise *p, uint64_t k)
{
	int n = p->in->layout->n, me = p->in->me;

	for (int s = 1; s < n; s++)
		send_part(p, k, ring_at(me + s, n));
	for (int s = 1; s < n; s++) {
		int from = ring_at(me - s, n);

		p->got = plan_recv(p->plan, from, (uint32_t)k, part_of(p, k, from), len_of(p, p->in->me, k),
		                   (plan_id[]){ p->got, p->done[k % AREAS] }, 2, "part in");
	}
	p->done[k % AREAS] = reduce_parts(p, k);
}

choir_status reduce_scatter_pairwise(const struct algo_in *in, struct plan *plan)
{
	uint64_t unit = block_unit(in->elem_bytes), n = (uint64_t)in->layout->n, message = message_limit(in, unit);
	uint64_t limit = round_down(min_u64(message, MOST_MESSAGES * message / n), unit);
	struct pairwise p = { .in = in,
		              .plan = plan,
		              .done = { PLAN_NO_STEP, PLAN_NO_STEP },
		              .sent = PLAN_NO_STEP,
		              .got = PLAN_NO_STEP };

	p.chunks = chunks_of(rank_block_longest(in), limit > 0 ? limit : unit, unit);
	window_init(&p.window, plan, in->send_direct || !p.chunks.n ? 0 : p.chunks.each);
	p.base = plan_scratch(plan, p.chunks.n ? min_u64(p.chunks.n, AREAS) * n * round_up(p.chunks.each, 64) : 0);
	for (uint64_t k = 0; k < p.chunks.n; k++)
		add_chunk(&p, k);
	return plan_finish(plan);
}
