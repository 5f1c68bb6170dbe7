/* SPDX-License-Identifier: MIT */
/* A comm of one rank: the reduction of one operand (square_add squares it), or a copy; no step for a copy in place. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

/* One REDUCE if both buffers are direct, else pieces of the window's length. */
choir_status single_reduce(const struct algo_in *in, struct plan *plan)
{
	uint64_t piece_bytes = round_up(in->message_bytes, block_unit(in->elem_bytes)),
		 bytes = in->block_bytes ? in->block_bytes[0] : in->bytes;
	struct window window;

	if (bytes && in->send_direct && in->recv_direct) {
		struct plan_ref send = plan_at(PLAN_SEND, 0);

		plan_reduce(plan, plan_at(PLAN_RECV, 0), &send, 1, PLAN_RAW_ALL, true, bytes, NULL, 0, "my own");
		return plan_finish(plan);
	}
	window_init(&window, plan, min_u64(piece_bytes, bytes));
	for (uint64_t at = 0; at < bytes; at += piece_bytes) {
		uint64_t len = min_u64(piece_bytes, bytes - at);
		struct piece piece = piece_of_send(in, plan, &window, at, len, true);

		piece.ready =
		    plan_reduce(plan, piece.ref, &piece.ref, 1, PLAN_RAW_ALL, true, len, &piece.ready, 1, "my own");
		piece_to_recv(&piece, plan, at, len);
		piece_end(&piece, plan, &window);
	}
	return plan_finish(plan);
}

choir_status single_copy(const struct algo_in *in, struct plan *plan)
{
	bool pair = in->collective == COLLECTIVE_ALLTOALLV;
	uint64_t len = pair ? pair_bytes(in, 0, 0) : in->block_bytes ? in->block_bytes[0] : in->bytes;
	uint64_t to = pair            ? pair_recv_off(in, 0)
	              : in->block_off ? in->block_off[0]
	                              : 0,
		 from = pair ? pair_send_off(in, 0, 0) : 0;
	struct window window;

	if (in->in_place)
		return plan_finish(plan);
	window_init(&window, plan, in->send_direct && in->recv_direct ? 0 : min_u64(in->message_bytes, len));
	copy_own(in, plan, &window, to, from, len);
	return plan_finish(plan);
}

choir_status single_nothing(const struct algo_in *in, struct plan *plan)
{
	(void)in;
	return plan_finish(plan);
}
