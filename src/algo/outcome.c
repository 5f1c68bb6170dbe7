/* SPDX-License-Identifier: MIT */
#include "algo/outcome.h"

#include "algo/blocks.h"
#include "algo/prefix.h"
#include "base/arithmetic.h"

/* alltoall(v): the offset of the end of the last block. */
static uint64_t pairs_extent(const struct algo_in *in, bool sending)
{
	const uint64_t *off = !sending       ? in->recv_off
	                      : in->send_off ? in->send_off + (size_t)in->me * (size_t)in->layout->n
	                                     : NULL;
	uint64_t at = 0, end = 0;

	for (int r = 0; r < in->layout->n; r++) {
		uint64_t len = sending ? pair_bytes(in, in->me, r) : pair_bytes(in, r, in->me);

		at = off ? off[r] : at;
		end = max_u64(end, at + len);
		at += len;
	}
	return end;
}

/* A buffer of a block for each rank, which need not lie packed. */
static uint64_t blocks_extent(const struct algo_in *in)
{
	uint64_t at = 0, end = 0;

	for (int r = 0; r < in->layout->n; r++) {
		at = in->block_off ? in->block_off[r] : at;
		end = max_u64(end, at + rank_block_bytes(in, r));
		at += rank_block_bytes(in, r);
	}
	return end;
}

/* SEND (sending) or RECV of this rank. */
static uint64_t buffer_bytes(const struct algo_in *in, bool sending)
{
	const struct collective_traits *traits = &collective_table[in->collective];
	uint64_t times = collective_holds(sending ? traits->send : traits->recv, in->layout->n, in->me == in->root);

	if (times == 0 || collective_of_pairs(in->collective))
		return times == 0 ? 0 : pairs_extent(in, sending);
	if (sending ? collective_sends_blocks(in->collective) : collective_recvs_blocks(in->collective))
		return blocks_extent(in);
	return rank_block_bytes(in, in->me);
}

struct plan_rank outcome_rank(const struct algo_in *in, const struct plan *plan)
{
	struct plan_rank rank = {
		.plan = plan,
		.node = in->layout->node_of[in->me],
		.send_bytes = buffer_bytes(in, true),
		.recv_bytes = buffer_bytes(in, false),
		.send_direct = in->send_direct,
		.owns_copied = in->owns_copied,
		.owns_reduced = in->owns_reduced,
		.recv_direct = in->recv_direct,
		.lists = in->lists > 0,
	};

	if (!in->in_place)
		rank.recv_at = rank.send_bytes;
	else if (collective_recv_is_inner(in->collective))
		rank.recv_at = in->in_place_off;
	else
		rank.send_at = in->in_place_off;
	return rank;
}

/* The wanted value of an element of RECV in a collective that moves blocks. */
static struct plan_want moved(const struct algo_in *ins, int rank, uint64_t element)
{
	const struct algo_in *in = &ins[rank];
	bool pairs = collective_of_pairs(in->collective);
	const uint64_t *off = pairs ? in->recv_off : in->block_off;
	uint64_t at = 0, byte = element * in->elem_bytes;

	for (int r = 0; r < in->layout->n; r++) {
		uint64_t len = pairs ? pair_bytes(in, r, rank) : rank_block_bytes(in, r);

		at = off ? off[r] : at;
		if (byte >= at && byte < at + len) {
			uint64_t from = pairs ? pair_send_off(in, r, rank) : 0;

			return (struct plan_want){ PLAN_WANT_COPY, r, (byte - at + from) / in->elem_bytes };
		}
		at += len;
	}
	return (struct plan_want){ .kind = PLAN_WANT_NOTHING }; /* a gap between displaced blocks */
}

/* Of a rank that has no prefix RECV stays as it was; in place it is SEND. */
static struct plan_want prefix(const struct algo_in *in, int rank, uint64_t element)
{
	if (prefix_end(in, rank) > 0)
		return (struct plan_want){ PLAN_WANT_PREFIX, prefix_end(in, rank), element };
	return (struct plan_want){ in->in_place ? PLAN_WANT_COPY : PLAN_WANT_NOTHING, rank, element };
}

static struct plan_want want_at(const void *ctx, int rank, uint64_t element)
{
	const struct algo_in *ins = ctx, *in = &ins[rank];
	/* of a scatterv the root's offsets hold */
	const struct algo_in *sender = collective_has(in->collective, TRAIT_ROOTED) ? &ins[in->root] : in;
	uint64_t from = collective_recv_is_inner(in->collective) ? rank_block_off(sender, rank) / in->elem_bytes : 0;

	if (collective_has(in->collective, TRAIT_PREFIX))
		return prefix(in, rank, element);
	if (collective_has(in->collective, TRAIT_REDUCES))
		return (struct plan_want){ PLAN_WANT_SUM, 0, from + element };
	if (collective_recvs_blocks(in->collective))
		return moved(ins, rank, element);
	return (struct plan_want){ PLAN_WANT_COPY, in->root, from + element };
}

struct plan_wants outcome_wants(const struct algo_in *ins, enum plan_order order)
{
	return (struct plan_wants){
		.at = want_at, .ctx = ins, .alike = ins[0].collective == COLLECTIVE_ALLREDUCE, .order = order
	};
}
