/* SPDX-License-Identifier: MIT */
/* A comm of one rank: the reduction of one operand (square_add squares it), or a copy; no step for a copy in place. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

/* One REDUCE if both buffers are direct or the device reduces them, else pieces of the window's length. */
static choir_status reduce_alone(const struct algo_in *in, struct plan *plan, bool final)
{
	uint64_t piece_bytes = round_up(in->message_bytes, block_unit(in->elem_bytes)),
		 bytes = in->block_bytes ? in->block_bytes[0] : in->bytes;
	struct window window;

	if (bytes && ((in->send_direct && in->recv_direct) || in->owns_reduced)) {
		struct plan_ref send = plan_at(PLAN_SEND, 0);

		plan_reduce(plan, plan_at(PLAN_RECV, 0), &send, 1, PLAN_RAW_ALL, final, bytes, NULL, 0, "my own");
		return plan_finish(plan);
	}
	window_init(&window, plan, min_u64(piece_bytes, bytes));
	for (uint64_t at = 0; at < bytes; at += piece_bytes) {
		uint64_t len = min_u64(piece_bytes, bytes - at);
		struct piece piece = piece_of_send(in, plan, &window, at, len, true);

		piece.ready =
		    plan_reduce(plan, piece.ref, &piece.ref, 1, PLAN_RAW_ALL, final, len, &piece.ready, 1, "my own");
		piece_to_recv(&piece, plan, at, len);
		piece_end(&piece, plan, &window);
	}
	return plan_finish(plan);
}

choir_status single_reduce(const struct algo_in *in, struct plan *plan)
{
	return reduce_alone(in, plan, true);
}

/* An exscan leaves RECV as it is. */
choir_status single_prefix(const struct algo_in *in, struct plan *plan)
{
	return in->collective == COLLECTIVE_SCAN ? reduce_alone(in, plan, false) : plan_finish(plan);
}

choir_status single_copy(const struct algo_in *in, struct plan *plan)
{
	bool blocks = collective_sends_blocks(in->collective) || collective_recvs_blocks(in->collective);
	bool pairs = collective_of_pairs(in->collective);
	uint64_t len = pairs ? pair_bytes(in, 0, 0) : rank_block_bytes(in, 0);
	uint64_t to = blocks ? pair_recv_off(in, 0) : 0, from = blocks ? pair_send_off(in, 0, 0) : 0;
	struct window window;

	if (in->in_place)
		return plan_finish(plan);
	window_init(&window, plan, one_step_copies_own(in) ? 0 : min_u64(in->message_bytes, len));
	copy_own(in, plan, &window, to, from, len);
	return plan_finish(plan);
}

choir_status single_nothing(const struct algo_in *in, struct plan *plan)
{
	(void)in;
	return plan_finish(plan);
}
