/* SPDX-License-Identifier: MIT */
/* allgather and allgatherv by a ring over all ranks, node after node: at each step a rank passes on the block that it
 * received last.
 *
 * n - 1 rounds; a rank sends and receives all blocks but one.  Blocks travel in pieces of at most message_bytes, each
 * passed on as it comes.  Any n > 1, any lengths, also zero. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/window.h"

struct gather_ring {
	const struct algo_in *in;
	struct plan *plan;
	struct group group;
	struct window window;
	int next, before;       /* comm ranks */
	uint64_t message;
	uint32_t n_sent, n_got; /* messages so far: their tags */
	plan_id got;            /* the last receive; receives are chained: the engine expects one message at a time */
};

static void send_piece(struct gather_ring *r, const struct piece *piece, uint64_t len, const char *label)
{
	plan_send(r->plan, r->next, r->n_sent++, piece->ref, len, &piece->ready, 1, label);
}

/* Sends this rank's block and copies it to its RECV. */
static void add_own(struct gather_ring *r)
{
	const struct algo_in *in = r->in;
	uint64_t bytes = rank_block_bytes(in, in->me), off = rank_block_off(in, in->me);
	bool both_direct = in->send_direct && in->recv_direct;

	for (uint64_t at = 0; at < bytes; at += r->message) {
		uint64_t len = min_u64(r->message, bytes - at);
		struct piece piece = piece_of_send(in, r->plan, &r->window, at, len, !both_direct);

		send_piece(r, &piece, len, "my block");
		if (!in->in_place)
			piece_to_recv(&piece, r->plan, off + at, len);
		piece_end(&piece, r->plan, &r->window);
	}
	if (both_direct && !in->in_place && bytes)
		plan_copy(r->plan, plan_at(PLAN_RECV, off), plan_at(PLAN_SEND, 0), bytes, NULL, 0, "own");
}

static void add_step(struct gather_ring *r, int s)
{
	int n = r->group.n, rank = group_rank(&r->group, ring_gather_recv_block(r->group.me, s, n, 0));
	uint64_t bytes = rank_block_bytes(r->in, rank), off = rank_block_off(r->in, rank);

	for (uint64_t at = 0; at < bytes; at += r->message) {
		uint64_t len = min_u64(r->message, bytes - at);
		struct piece piece = piece_for_recv(r->in, r->plan, &r->window, off + at);

		piece.ready = r->got =
		    plan_recv(r->plan, r->before, r->n_got++, piece.ref, len, &r->got, 1, "block in");
		if (s < n - 2)
			send_piece(r, &piece, len, "block on");
		piece_to_recv(&piece, r->plan, off + at, len);
		piece_end(&piece, r->plan, &r->window);
	}
}

choir_status allgather_ring(const struct algo_in *in, struct plan *plan)
{
	struct gather_ring r = { .in = in, .plan = plan, .group = group_all(in), .got = PLAN_NO_STEP };

	r.message = message_limit(in, block_unit(in->elem_bytes));
	r.next = group_rank(&r.group, ring_next(r.group.me, r.group.n));
	r.before = group_rank(&r.group, ring_before(r.group.me, r.group.n));
	window_init(&r.window, plan, in->send_direct && in->recv_direct ? 0 : r.message);
	add_own(&r);
	for (int s = 0; s < r.group.n - 1; s++)
		add_step(&r, s);
	return plan_finish(plan);
}
