/* SPDX-License-Identifier: MIT */
/* send and recv between two ranks (in->root is the peer), in pieces of at most message_bytes, tags 0, 1, 2 ...
 *
 * Between ranks of a node the pieces are smaller, so that in shared memory one is written while the one before is read.
 * bytes / message_bytes messages; the sender is at most CREDIT_WINDOW of them ahead of the receiver. */
#include "algo/build.h"
#include "algo/credit.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

enum { NODE_PIECE_BYTES = 64 * 1024 };

static struct chunks pieces_of(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes), limit = message_limit(in, unit);
	bool on_node = in->layout->node_of[in->root] == in->layout->node_of[in->me];

	return chunks_of(in->bytes, on_node && limit > NODE_PIECE_BYTES ? NODE_PIECE_BYTES / unit * unit : limit, unit);
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

		credit = credit_await(plan, in->root, k, credit);
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
		credit_give(plan, in->root, k, chunks.n, got);
		piece_to_recv(&piece, plan, chunk_off(chunks, k), chunk_len(chunks, k));
		piece_end(&piece, plan, &window);
	}
	return plan_finish(plan);
}
