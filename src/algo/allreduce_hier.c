/* SPDX-License-Identifier: MIT */
/* Hierarchical: reduce-scatter through each node's arena into as many slices as the smallest node has ranks, an
 * exchange of each slice among its owners (one a node), allgather through the arena.  The algorithms hier_... differ in
 * that exchange only.
 *
 * Network bytes of an owner: those of its exchange, for 1/owners of the vector; each node sends the vector over the
 * wire once, not once a rank. Several nodes, any ranks on each.  Chunked by the slot; four exchanges a slice on their
 * way at once.  Each slice is folded in rank order on a node, then in the exchange's order.  Note [slices] says how. */
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/slices.h"

static const char *unfit(const struct algo_in *in, const struct exchange_kind *kind)
{
	const char *why = fit_nodes(in);

	return why ? why : slices_unfit(in, kind);
}

const char *allreduce_hier_ring_unfit(const struct algo_in *in)
{
	return unfit(in, &exchange_ring);
}

choir_status allreduce_hier_ring(const struct algo_in *in, struct plan *plan)
{
	return slices_build(in, plan, &exchange_ring, -1);
}

const char *allreduce_hier_rd_unfit(const struct algo_in *in)
{
	return unfit(in, &exchange_recursive_doubling);
}

choir_status allreduce_hier_rd(const struct algo_in *in, struct plan *plan)
{
	return slices_build(in, plan, &exchange_recursive_doubling, -1);
}

const char *allreduce_hier_halving_doubling_unfit(const struct algo_in *in)
{
	return unfit(in, &exchange_halving_doubling);
}

choir_status allreduce_hier_halving_doubling(const struct algo_in *in, struct plan *plan)
{
	return slices_build(in, plan, &exchange_halving_doubling, -1);
}

const char *allreduce_hier_pairwise_unfit(const struct algo_in *in)
{
	return unfit(in, &exchange_pairwise);
}

choir_status allreduce_hier_pairwise(const struct algo_in *in, struct plan *plan)
{
	return slices_build(in, plan, &exchange_pairwise, -1);
}

const char *allreduce_hier_bidirectional_unfit(const struct algo_in *in)
{
	return unfit(in, &exchange_bidirectional_ring);
}

choir_status allreduce_hier_bidirectional(const struct algo_in *in, struct plan *plan)
{
	return slices_build(in, plan, &exchange_bidirectional_ring, -1);
}
