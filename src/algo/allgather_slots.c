/* SPDX-License-Identifier: MIT */
/* allgather and allgatherv through the arena: each rank copies its block chunk by chunk to its slot and the others'
 * chunks from theirs.
 *
 * One wait for each chunk of the longest block.  A rank writes its own block once more than a direct copy would and
 * reads each other block once.  One node.  Any lengths, also zero.  Note [streams] has the order. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/streams.h"

static struct stream block_stream(const struct algo_in *in, int rank)
{
	uint64_t bytes = rank_block_bytes(in, rank);

	return (struct stream){ .bytes = bytes, .from = 0, .to = bytes, .recv_off = rank_block_off(in, rank) };
}

static const struct stream_view view = { .of = block_stream };

const char *allgather_slots_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	return why ? why : streams_unfit(in, &view);
}

choir_status allgather_slots(const struct algo_in *in, struct plan *plan)
{
	return streams_build(in, plan, &view);
}
