/* SPDX-License-Identifier: MIT */
/* allgather by broadcasts: each rank sends its block to every other rank.
 *
 * One round of n - 1 messages for each message_bytes of a block; a rank sends its block n - 1 times, so (n - 1) times
 * the bytes of SEND: short blocks.  Any n > 1. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/window.h"

choir_status allgather_broadcast(const struct algo_in *in, struct plan *plan)
{
	uint64_t message = message_limit(in, block_unit(in->elem_bytes)), off = rank_block_off(in, in->me);
	bool both_direct = in->send_direct && in->recv_direct;
	int n = in->layout->n;
	struct window own, others;
	plan_id got = PLAN_NO_STEP, sent = PLAN_NO_STEP;
	uint32_t tag = 0;

	window_init(&own, plan, both_direct ? 0 : message);
	window_init(&others, plan, in->recv_direct ? 0 : message);
	for (uint64_t at = 0; at < in->bytes; at += message, tag++) {
		uint64_t len = min_u64(message, in->bytes - at);
		struct piece piece = piece_of_send(in, plan, &own, at, len, !both_direct);

		for (int s = 1; s < n; s++)
			sent = plan_send(plan, ring_at(in->me + s, n), tag, piece.ref, len,
			                 (plan_id[]){ piece.ready, sent }, 2, "my block");
		if (!in->in_place)
			piece_to_recv(&piece, plan, off + at, len);
		piece_end(&piece, plan, &own);
		for (int s = 1; s < n; s++) {
			int from = ring_at(in->me - s, n);
			uint64_t to = rank_block_off(in, from) + at;
			struct piece block = piece_for_recv(in, plan, &others, to);

			block.ready = got = plan_recv(plan, from, tag, block.ref, len, &got, 1, "block in");
			piece_to_recv(&block, plan, to, len);
			piece_end(&block, plan, &others);
		}
	}
	if (both_direct && !in->in_place && in->bytes)
		plan_copy(plan, plan_at(PLAN_RECV, off), plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "own");
	return plan_finish(plan);
}
