/* SPDX-License-Identifier: MIT */
#include "algo/outcome.h"

#include "algo/blocks.h"

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

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
		end = max_of(end, at + len);
		at += len;
	}
	return end;
}

static uint64_t send_bytes(const struct algo_in *in)
{
	switch (in->collective) {
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_REDUCE_SCATTERV:
		return scatter_off(in, in->layout->n);
	case COLLECTIVE_ALLGATHERV:
		return gather_bytes(in, in->me);
	case COLLECTIVE_ALLTOALL:
	case COLLECTIVE_ALLTOALLV:
		return pairs_extent(in, true);
	case COLLECTIVE_BROADCAST:
		return in->me == in->root ? in->bytes : 0;
	case COLLECTIVE_BARRIER:
	case COLLECTIVE_RECV:
		return 0;
	default:
		return in->bytes;
	}
}

static uint64_t gather_extent(const struct algo_in *in)
{
	uint64_t at = 0, end = 0;

	for (int r = 0; r < in->layout->n; r++) {
		at = in->block_off ? in->block_off[r] : at;
		end = max_of(end, at + gather_bytes(in, r));
		at += gather_bytes(in, r);
	}
	return end;
}

static uint64_t recv_bytes(const struct algo_in *in)
{
	switch (in->collective) {
	case COLLECTIVE_REDUCE_SCATTERV:
		return scatter_bytes(in, in->me);
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLGATHERV:
		return gather_extent(in);
	case COLLECTIVE_ALLTOALL:
	case COLLECTIVE_ALLTOALLV:
		return pairs_extent(in, false);
	case COLLECTIVE_REDUCE:
		return in->me == in->root ? in->bytes : 0;
	case COLLECTIVE_BARRIER:
	case COLLECTIVE_SEND:
		return 0;
	default:
		return in->bytes;
	}
}

static bool scatters(enum collective collective)
{
	return collective == COLLECTIVE_REDUCE_SCATTER || collective == COLLECTIVE_REDUCE_SCATTERV;
}

struct plan_rank outcome_rank(const struct algo_in *in, const struct plan *plan)
{
	struct plan_rank rank = {
		.plan = plan,
		.node = in->layout->node_of[in->me],
		.send_bytes = send_bytes(in),
		.recv_bytes = recv_bytes(in),
		.send_direct = in->send_direct,
		.recv_direct = in->recv_direct,
	};

	if (!in->in_place)
		rank.recv_at = rank.send_bytes;
	else if (scatters(in->collective))
		rank.recv_at = in->in_place_off;
	else
		rank.send_at = in->in_place_off;
	return rank;
}

/* The wanted value of an element of RECV in a collective that moves blocks. */
static struct plan_want moved(const struct algo_in *ins, int rank, uint64_t element)
{
	const struct algo_in *in = &ins[rank];
	bool pairs = in->collective == COLLECTIVE_ALLTOALL || in->collective == COLLECTIVE_ALLTOALLV;
	const uint64_t *off = pairs ? in->recv_off : in->block_off;
	uint64_t at = 0, byte = element * in->elem_bytes;

	for (int r = 0; r < in->layout->n; r++) {
		uint64_t len = pairs ? pair_bytes(in, r, rank) : gather_bytes(in, r);

		at = off ? off[r] : at;
		if (byte >= at && byte < at + len) {
			uint64_t from = pairs ? pair_send_off(in, r, rank) : 0;

			return (struct plan_want){ PLAN_WANT_COPY, r, (byte - at + from) / in->elem_bytes };
		}
		at += len;
	}
	return (struct plan_want){ .kind = PLAN_WANT_NOTHING }; /* a gap between displaced blocks */
}

static struct plan_want want_at(const void *ctx, int rank, uint64_t element)
{
	const struct algo_in *ins = ctx, *in = &ins[rank];

	switch (in->collective) {
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE:
		return (struct plan_want){ PLAN_WANT_SUM, 0, element };
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_REDUCE_SCATTERV:
		return (struct plan_want){ PLAN_WANT_SUM, 0, scatter_off(in, rank) / in->elem_bytes + element };
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_RECV:
		return (struct plan_want){ PLAN_WANT_COPY, in->root, element };
	default:
		return moved(ins, rank, element);
	}
}

struct plan_wants outcome_wants(const struct algo_in *ins)
{
	return (struct plan_wants){ .at = want_at, .ctx = ins, .alike = ins[0].collective == COLLECTIVE_ALLREDUCE };
}
