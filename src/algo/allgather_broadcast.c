/* SPDX-License-Identifier: MIT */
/* allgather and allgatherv by broadcasts: each rank sends its block to every other rank.
 *
 * One round of n - 1 messages for each message_bytes of a block; a rank sends its block n - 1 times, so (n - 1) times
 * the bytes of SEND: short blocks.  Any n > 1, any lengths, also zero. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/window.h"

struct broadcasts {
	const struct algo_in *in;
	struct plan *plan;
	struct window own, others;
	uint64_t message;
	plan_id sent, got;
	bool both_direct;
};

/* Of the piece at `at` of a rank's block; 0 if only longer blocks have one. */
static uint64_t piece_len(const struct broadcasts *b, int rank, uint64_t at)
{
	uint64_t bytes = rank_block_bytes(b->in, rank);

	return at < bytes ? min_u64(b->message, bytes - at) : 0;
}

static void send_mine(struct broadcasts *b, uint64_t at, uint32_t tag)
{
	const struct algo_in *in = b->in;
	uint64_t len = piece_len(b, in->me, at);
	struct piece piece;

	if (len == 0)
		return;
	piece = piece_of_send(in, b->plan, &b->own, at, len, !b->both_direct);
	for (int s = 1; s < in->layout->n; s++)
		b->sent = plan_send(b->plan, ring_at(in->me + s, in->layout->n), tag, piece.ref, len,
		                    (plan_id[]){ piece.ready, b->sent }, 2, "my block");
	if (!in->in_place)
		piece_to_recv(&piece, b->plan, rank_block_off(in, in->me) + at, len);
	piece_end(&piece, b->plan, &b->own);
}

static void recv_theirs(struct broadcasts *b, int from, uint64_t at, uint32_t tag)
{
	uint64_t len = piece_len(b, from, at), to = rank_block_off(b->in, from) + at;
	struct piece piece;

	if (len == 0)
		return;
	piece = piece_for_recv(b->in, b->plan, &b->others, to);
	piece.ready = b->got = plan_recv(b->plan, from, tag, piece.ref, len, &b->got, 1, "block in");
	piece_to_recv(&piece, b->plan, to, len);
	piece_end(&piece, b->plan, &b->others);
}

choir_status allgather_broadcast(const struct algo_in *in, struct plan *plan)
{
	struct broadcasts b = { .in = in, .plan = plan, .sent = PLAN_NO_STEP, .got = PLAN_NO_STEP };
	uint64_t own = rank_block_bytes(in, in->me), longest = rank_block_longest(in);
	int n = in->layout->n;
	uint32_t tag = 0;

	b.message = message_limit(in, block_unit(in->elem_bytes));
	b.both_direct = in->send_direct && in->recv_direct;
	window_init(&b.own, plan, b.both_direct ? 0 : b.message);
	window_init(&b.others, plan, in->recv_direct ? 0 : b.message);
	for (uint64_t at = 0; at < longest; at += b.message, tag++) {
		send_mine(&b, at, tag);
		for (int s = 1; s < n; s++)
			recv_theirs(&b, ring_at(in->me - s, n), at, tag);
	}
	if (b.both_direct && !in->in_place && own > 0)
		plan_copy(plan, plan_at(PLAN_RECV, rank_block_off(in, in->me)), plan_at(PLAN_SEND, 0), own, NULL, 0,
		          "own");
	return plan_finish(plan);
}
