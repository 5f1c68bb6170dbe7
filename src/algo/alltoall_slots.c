/* SPDX-License-Identifier: MIT */
/* alltoall and alltoallv through the arena: everybody puts all it sends as one stream, and takes its own part of each other stream.
 *
 * One wait a chunk of the longest stream.  A rank writes what it sends once and reads what it receives once.  One node.  Any lengths, also
 * zero.  Note [streams] says how.
 * A stream is not in rank order but in n turns: in turn t rank r sends to rank t - r, which sends to r in the same turn, so everybody has
 * something to take of every chunk.  alltoall in place is safe for the same reason: a block is overwritten by the one of its own turn, at
 * the same place of the stream, so after it was put. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/pattern_ring.h"
#include "algo/streams.h"

/* Whom a rank sends to in a turn; also, in which turn it sends to that one. */
static int partner(const struct algo_in *in, int rank, int turn)
{
	return ring_at(turn - rank, in->layout->n);
}

static int turn_of(const struct algo_in *in, int from, int to)
{
	return ring_at(from + to, in->layout->n);
}

static uint64_t turn_off(const struct algo_in *in, int rank, int turn)
{
	uint64_t off = 0;

	for (int t = 0; t < turn; t++)
		off += pair_bytes(in, rank, partner(in, rank, t));
	return off;
}

static struct stream pair_stream(const struct algo_in *in, int rank)
{
	uint64_t from = turn_off(in, rank, turn_of(in, rank, in->me));

	return (struct stream){ .bytes = turn_off(in, rank, in->layout->n), .from = from, .to = from + pair_bytes(in, rank, in->me),
		                .recv_off = pair_recv_off(in, rank) };
}

static uint64_t send_at(const struct algo_in *in, uint64_t at, uint64_t *len)
{
	int turn = 0, to = partner(in, in->me, 0);

	while (at >= pair_bytes(in, in->me, to)) {
		at -= pair_bytes(in, in->me, to);
		to = partner(in, in->me, ++turn);
	}
	if (*len > pair_bytes(in, in->me, to) - at)
		*len = pair_bytes(in, in->me, to) - at;
	return pair_send_off(in, in->me, to) + at;
}

static const struct stream_view view = { .of = pair_stream, .own_is_shared = false, .send_at = send_at };

const char *alltoall_slots_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	return why ? why : streams_unfit(in, &view);
}

choir_status alltoall_slots(const struct algo_in *in, struct plan *plan)
{
	return streams_build(in, plan, &view);
}
