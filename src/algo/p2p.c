/* SPDX-License-Identifier: MIT */
/* send and recv between two ranks (in->root is the peer), in pieces of at most message_bytes, tags 0, 1, 2 ...
 *
 * Between ranks of a node the pieces are smaller, so that in shared memory one is written while the one before is read.
 * bytes / message_bytes messages; the sender is at most 16 of them ahead of the receiver, of the short
 * pieces that the ring of two ranks holds (node/arena.h) 32. */
#include "algo/build.h"
#include "algo/credit.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

enum { NODE_PIECE_BYTES = 64 * 1024, PAIR_CREDIT_STEP = 16 };

static bool on_node(const struct algo_in *in)
{
	return in->layout->node_of[in->root] == in->layout->node_of[in->me];
}

static uint64_t credit_step(const struct algo_in *in)
{
	return on_node(in) && in->layout->node_size[in->layout->node_of[in->me]] == 2 ? PAIR_CREDIT_STEP : CREDIT_STEP;
}

static struct chunks pieces_of(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes), limit = message_limit(in, unit);

	return chunks_of(in->bytes, on_node(in) && limit > NODE_PIECE_BYTES ? NODE_PIECE_BYTES / unit * unit : limit,
	                 unit);
}

choir_status p2p_send(const struct algo_in *in, struct plan *plan)
{
	struct chunks chunks = pieces_of(in);
	plan_id credit = PLAN_NO_STEP;
	struct window window;

	window_init(&window, plan, in->send_direct ? 0 : chunks.each);
	for (uint64_t k = 0; k < chunks.n; k++) {
		struct piece piece =
		    piece_of_send(in, plan, &window, chunk_off(chunks, k), chunk_len(chunks, k), false);

		credit = credit_await(plan, in->root, k, credit_step(in), credit);
		plan_send(plan, in->root, (uint32_t)k, piece.ref, chunk_len(chunks, k),
		          (plan_id[]){ piece.ready, credit }, 2, "send");
		piece_end(&piece, plan, &window);
	}
	return plan_finish(plan);
}

choir_status p2p_recv(const struct algo_in *in, struct plan *plan)
{
	struct chunks chunks = pieces_of(in);
	plan_id got = PLAN_NO_STEP;
	struct window window;

	window_init(&window, plan, in->recv_direct ? 0 : chunks.each);
	for (uint64_t k = 0; k < chunks.n; k++) {
		struct piece piece = piece_for_recv(in, plan, &window, chunk_off(chunks, k));

		/* Receives are chained: the engine expects one message at a time. */
		piece.ready = got =
		    plan_recv(plan, in->root, (uint32_t)k, piece.ref, chunk_len(chunks, k), &got, 1, "recv");
		credit_give(plan, in->root, k, credit_step(in), chunks.n, got);
		piece_to_recv(&piece, plan, chunk_off(chunks, k), chunk_len(chunks, k));
		piece_end(&piece, plan, &window);
	}
	return plan_finish(plan);
}
