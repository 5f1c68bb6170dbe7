/* SPDX-License-Identifier: MIT */
/* alltoall and alltoallv through the arena: each rank puts all blocks for other ranks into its slot as one stream, and
 * takes its part of each other stream.
 *
 * One wait a chunk of the longest stream.  A rank writes each block that it sends once and reads each block that it
 * receives once.  One node.  Any lengths, also zero.  Note [streams] has the order.
 * A stream is not in rank order but in the turns of algo/pattern_pairs.h, so each rank finds a part of every chunk to
 * take.  alltoall in place is safe for the same reason: a received block replaces the block of its own turn, at the
 * same offset of the stream, after that block was put.  So where the number of ranks is odd, the stream has a gap for
 * the turn in which a rank would meet itself. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/pattern_pairs.h"
#include "algo/streams.h"

/* The part of a rank's stream for one turn. */
static uint64_t turn_bytes(const struct algo_in *in, int rank, int turn)
{
	int n = in->layout->n, to = pairs_partner(rank, turn, n);
	bool in_stream = to != rank || (n % 2 != 0 && in->collective == COLLECTIVE_ALLTOALL);

	return in_stream ? pair_bytes(in, rank, to) : 0;
}

static uint64_t turn_off(const struct algo_in *in, int rank, int turn)
{
	uint64_t off = 0;

	for (int t = 0; t < turn; t++)
		off += turn_bytes(in, rank, t);
	return off;
}

static struct stream pair_stream(const struct algo_in *in, int rank)
{
	int n = in->layout->n;
	uint64_t from = turn_off(in, rank, pairs_turn(rank, in->me, n));

	return (struct stream){ .bytes = turn_off(in, rank, n),
		                .from = from,
		                .to = from + pair_bytes(in, rank, in->me),
		                .recv_off = pair_recv_off(in, rank) };
}

static uint64_t own_bytes(const struct algo_in *in, int rank)
{
	return pair_bytes(in, rank, rank);
}

static uint64_t send_at(const struct algo_in *in, uint64_t at, uint64_t *len)
{
	int turn = 0, to;

	while (at >= turn_bytes(in, in->me, turn))
		at -= turn_bytes(in, in->me, turn++);
	if (*len > turn_bytes(in, in->me, turn) - at)
		*len = turn_bytes(in, in->me, turn) - at;
	to = pairs_partner(in->me, turn, in->layout->n);
	return to == in->me ? STREAM_GAP : pair_send_off(in, in->me, to) + at;
}

static uint64_t own_at(const struct algo_in *in)
{
	return pair_send_off(in, in->me, in->me);
}

static const struct stream_view view = {
	.of = pair_stream, .own_bytes = own_bytes, .own_at = own_at, .send_at = send_at
};

const char *alltoall_slots_unfit(const struct algo_in *in)
{
	const char *why = in->to_bytes ? "needs the blocks of all pairs" : fit_node(in);

	return why ? why : streams_unfit(in, &view);
}

choir_status alltoall_slots(const struct algo_in *in, struct plan *plan)
{
	return streams_build(in, plan, &view);
}
