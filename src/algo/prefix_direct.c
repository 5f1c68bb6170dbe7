/* SPDX-License-Identifier: MIT */
/* scan and exscan in shared buffers: each rank folds its slice for all ranks, from rank 0 on, and writes each prefix to
 * the RECV of the rank it belongs to.
 *
 * Two waits; each input is read once and each result written once.  One node, any length.  The folds are left folds in
 * rank order.  An exscan keeps the running prefix in scratch, since in place RECV holds the input that comes next.
 * Note [direct] says how. */
#include "algo/build.h"
#include "algo/direct.h"
#include "algo/pattern_block.h"
#include "algo/prefix.h"

/* A piece is short, so that a prefix is still in the cache when the next one is made of it; but not so short that a
 * plan has many steps. */
enum { PIECE_BYTES = 32 * 1024, MOST_PIECES = 64 };

static struct plan_ref at_rank(const struct algo_in *in, bool recv, int rank, uint64_t off)
{
	if (rank == in->me)
		return plan_at(recv ? PLAN_RECV : PLAN_SEND, off);
	return plan_peer(recv ? PLAN_PEER_RECV : PLAN_PEER_SEND, rank, off);
}

/* out = prefix (none at rank 0) op the rank's input. */
static plan_id add(const struct algo_in *in, struct plan *plan, struct plan_ref out, const struct plan_ref *prefix,
                   int rank, uint64_t off, uint64_t len, plan_id after)
{
	if (prefix != NULL)
		plan_source(plan, *prefix);
	plan_source(plan, at_rank(in, false, rank, off));
	return plan_reduce(plan, out, NULL, 0, prefix != NULL ? PLAN_RAW_REST : PLAN_RAW_ALL, false, len, &after, 1,
	                   "add input");
}

static plan_id scan_piece(const struct algo_in *in, struct plan *plan, uint64_t off, uint64_t len)
{
	struct plan_ref before, out;
	plan_id done = PLAN_NO_STEP;

	for (int rank = 0; rank < in->layout->n; rank++) {
		out = at_rank(in, true, rank, off);
		done = add(in, plan, out, rank > 0 ? &before : NULL, rank, off, len, done);
		before = out;
	}
	return done;
}

/* scratch: two buffers, which take turns. */
static plan_id exscan_piece(const struct algo_in *in, struct plan *plan, uint64_t scratch, uint64_t stride,
                            uint64_t off, uint64_t len, plan_id after)
{
	struct plan_ref prefix = plan_at(PLAN_SCRATCH, scratch), next;
	plan_id done = add(in, plan, prefix, NULL, 0, off, len, after);

	for (int rank = 1; rank < in->layout->n; rank++) {
		next = plan_at(PLAN_SCRATCH, scratch + (uint64_t)(rank % 2) * stride);
		if (rank + 1 < in->layout->n)
			done = add(in, plan, next, &prefix, rank, off, len, done);
		done = plan_copy(plan, at_rank(in, true, rank, off), prefix, len, &done, 1, "give prefix");
		prefix = next;
	}
	return done;
}

choir_status prefix_direct(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n;
	uint64_t unit = block_unit(in->elem_bytes), off = block_off(in->bytes, n, unit, in->me),
		 len = block_len(in->bytes, n, unit, in->me), piece = round_up(len / MOST_PIECES, unit), scratch = 0;
	plan_id done = PLAN_NO_STEP;

	if (in->bytes == 0)
		return plan_finish(plan);
	piece = min_u64(piece > PIECE_BYTES ? piece : round_up(PIECE_BYTES, unit), round_up(len, unit));
	if (in->collective == COLLECTIVE_EXSCAN && len > 0)
		scratch = plan_scratch(plan, 2 * piece);
	for (uint64_t at = 0; at < len; at += piece) {
		uint64_t part = min_u64(piece, len - at);

		if (in->collective == COLLECTIVE_SCAN)
			(void)scan_piece(in, plan, off + at, part);
		else
			done = exscan_piece(in, plan, scratch, piece, off + at, part, done);
	}
	return direct_end(in, plan, true);
}
