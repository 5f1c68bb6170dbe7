/* SPDX-License-Identifier: MIT */
/* The members of an exchange: all ranks, sorted by node so that a ring crosses each node boundary once, or by rank; or
 * of every node the rank with the same local_rank. */
#ifndef ALGO_GROUP_H
#define ALGO_GROUP_H

#include "algo/algo.h"
#include "algo/pattern_order.h"
#include "algo/pattern_ring.h"

struct group {
	const struct layout *layout;
	int n, me;      /* number of members; this rank's index among them */
	int local_rank; /* the local_rank of the members; -1: all ranks */
	bool reversed;  /* the members are counted from the last */
	bool mirrored;  /* the members are in the order LINE of the order below, so that other links are used */
	enum ring_order order;
	bool by_rank; /* with local_rank -1: member i is rank i, whatever its node */
};

static inline int group_index_of(const struct layout *layout, int rank)
{
	return layout->node_first[layout->node_of[rank]] + layout->local_rank_of[rank];
}

static inline struct group group_all(const struct algo_in *in)
{
	return (struct group){
		.layout = in->layout, .n = in->layout->n, .me = group_index_of(in->layout, in->me), .local_rank = -1
	};
}

/* All ranks in the order that the call asks for. */
static inline struct group group_ring(const struct algo_in *in)
{
	struct group group = group_all(in);

	group.order = (enum ring_order)in->order;
	group.me = order_position(group.order, group.me, group.n);
	return group;
}

/* Two ranks of a node: rings in all directions are one there. */
static inline bool ring_is_one_link(const struct algo_in *in)
{
	return in->layout->n == 2 && in->layout->n_nodes == 1;
}

static inline struct group group_by_rank(const struct algo_in *in)
{
	return (
	    struct group){ .layout = in->layout, .n = in->layout->n, .me = in->me, .local_rank = -1, .by_rank = true };
}

static inline struct group group_across(const struct algo_in *in, int local_rank)
{
	return (struct group){ .layout = in->layout,
		               .n = in->layout->n_nodes,
		               .me = in->layout->node_of[in->me],
		               .local_rank = local_rank };
}

/* The same members in reverse order. */
static inline struct group group_reversed(struct group group)
{
	group.reversed = !group.reversed;
	group.me = group.n - 1 - group.me;
	return group;
}

/* The same members on a ring of other neighbours; of a group that is not reversed. */
static inline struct group group_mirrored(struct group group)
{
	group.mirrored = true;
	group.me = order_position(ORDER_LINE, group.me, group.n);
	return group;
}

/* The comm rank of member i. */
static inline int group_rank(const struct group *group, int i)
{
	if (group->reversed)
		i = group->n - 1 - i;
	if (group->by_rank)
		return i;
	if (group->mirrored)
		i = order_member(ORDER_LINE, i, group->n);
	i = order_member(group->order, i, group->n);
	return group->layout->node_ranks[group->local_rank < 0 ? i : group->layout->node_first[i] + group->local_rank];
}

/* The comm rank of the v-th member behind member root. */
static inline int group_rank_from(const struct group *group, int root, int v)
{
	return group_rank(group, ring_at(v + root, group->n));
}

/* The ranks of this rank's node, ascending, and their number. */
static inline const int *node_ranks_of(const struct algo_in *in)
{
	return in->layout->node_ranks + in->layout->node_first[in->layout->node_of[in->me]];
}

static inline int node_size_of(const struct algo_in *in)
{
	return in->layout->node_size[in->layout->node_of[in->me]];
}

#endif
