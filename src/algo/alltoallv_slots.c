/* SPDX-License-Identifier: MIT */
/* alltoallv through the arena: everybody puts all it sends as one stream, and takes its own part of each other stream.
 *
 * One wait a chunk of the longest stream.  A rank writes what it sends once and reads what it receives once.  One node.  Any lengths, also
 * zero. Note [streams] says how. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/streams.h"

static struct stream pair_stream(const struct algo_in *in, int rank)
{
	uint64_t from = pair_send_off(in, rank, in->me);

	return (struct stream){ .bytes = pair_send_off(in, rank, in->layout->n), .from = from, .to = from + pair_bytes(in, rank, in->me),
		                .recv_off = pair_recv_off(in, rank, in->me) };
}

static const struct stream_view view = { .of = pair_stream, .own_is_shared = false };

const char *alltoallv_slots_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	return why ? why : streams_unfit(in, &view);
}

choir_status alltoallv_slots(const struct algo_in *in, struct plan *plan)
{
	return streams_build(in, plan, &view);
}
