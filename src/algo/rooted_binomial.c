/* SPDX-License-Identifier: MIT */
/* gather and scatter along a binomial tree over all ranks, node after node, rooted at the root: a link carries the
 * blocks of a whole subtree, packed in the order of virtual ranks.
 *
 * log2(n) rounds (rounded up) instead of n - 1 messages at the root; a block travels up to log2(n) times, so for short
 * blocks.  Equal blocks, any n > 1.  Scratch: the blocks of the rank's subtree, PACKED_AREAS times.  Note [credit]
 * bounds what is under way. */
#include "algo/build.h"
#include "algo/credit.h"
#include "algo/exchange.h"
#include "algo/fit.h"
#include "algo/group.h"
#include "algo/packed.h"
#include "algo/pattern_ring.h"
#include "algo/pattern_tree.h"

#define BINOMIAL 2

struct rooted {
	struct packed packed;
	struct plan *plan;
	struct group group;
	int n, v, root;                     /* v: this rank's virtual rank; root: the root's index in the group */
	plan_id credit[TREE_MOST_CHILDREN]; /* with each child, or with the parent in [0] */
	plan_id got[TREE_MOST_CHILDREN];    /* the last receive from each */
};

static int most_in_message(const struct algo_in *in)
{
	int most = 1;

	while (most * 2 < in->layout->n)
		most *= 2;
	return most;
}

/* The root's blocks between the user's memory and the area.  Neighbours in both go together. */
static plan_id root_blocks(struct rooted *b, uint64_t k, bool out, plan_id ready)
{
	struct plan_ref area = packed_area(&b->packed, k);
	uint64_t len = packed_len(&b->packed, k);
	int run;

	for (int v = b->packed.in->in_place ? 1 : 0; v < b->n; v += run) {
		struct plan_ref at = ref_plus(area, (uint64_t)v * len);
		int rank = group_rank_from(&b->group, b->root, v);

		for (run = 1; v + run < b->n && group_rank_from(&b->group, b->root, v + run) == rank + run;)
			run++;
		ready = out ? packed_out(&b->packed, k, at, rank, run, ready)
		            : packed_in(&b->packed, k, at, rank, run, ready);
	}
	return ready;
}

static void recv_blocks(struct rooted *b, uint64_t k, int peer, int slot, struct plan_ref ref, uint64_t bytes)
{
	plan_id after[] = { b->packed.done[k % PACKED_AREAS], b->got[slot] };

	b->got[slot] = plan_recv(b->plan, peer, (uint32_t)k, ref, bytes, after, 2, "subtree in");
	credit_give(b->plan, peer, k, CREDIT_STEP, b->packed.chunks.n, b->got[slot]);
}

static plan_id send_blocks(struct rooted *b, uint64_t k, int peer, int slot, struct plan_ref ref, uint64_t bytes,
                           plan_id ready)
{
	b->credit[slot] = credit_await(b->plan, peer, k, CREDIT_STEP, b->credit[slot]);
	return plan_send(b->plan, peer, (uint32_t)k, ref, bytes, (plan_id[]){ ready, b->credit[slot] }, 2,
	                 "subtree on");
}

static void gather_chunk(struct rooted *b, uint64_t k)
{
	struct plan_ref area = packed_area(&b->packed, k);
	uint64_t len = packed_len(&b->packed, k);
	plan_id *done = &b->packed.done[k % PACKED_AREAS], ready = *done;

	if (b->v != 0 || !b->packed.in->in_place)
		ready = packed_in(&b->packed, k, area, 0, 1, ready);
	for (int i = 0, child; (child = tree_child(b->v, i, BINOMIAL, b->n)) >= 0; i++) {
		recv_blocks(b, k, group_rank_from(&b->group, b->root, child), i,
		            ref_plus(area, (uint64_t)(child - b->v) * len), (uint64_t)tree_size(child, b->n) * len);
		ready = plan_join(b->plan, (plan_id[]){ ready, b->got[i] }, 2, "subtree here");
	}
	*done = b->v == 0 ? root_blocks(b, k, true, ready)
	                  : send_blocks(b, k, group_rank_from(&b->group, b->root, tree_parent(b->v, BINOMIAL)), 0, area,
	                                (uint64_t)tree_size(b->v, b->n) * len, ready);
}

/* The farthest child first: its subtree is the largest. */
static void scatter_chunk(struct rooted *b, uint64_t k)
{
	struct plan_ref area = packed_area(&b->packed, k);
	uint64_t len = packed_len(&b->packed, k);
	plan_id *done = &b->packed.done[k % PACKED_AREAS], ready = *done, last;

	if (b->v == 0) {
		ready = root_blocks(b, k, false, ready);
	} else {
		recv_blocks(b, k, group_rank_from(&b->group, b->root, tree_parent(b->v, BINOMIAL)),
		            TREE_MOST_CHILDREN - 1, area, (uint64_t)tree_size(b->v, b->n) * len);
		ready = b->got[TREE_MOST_CHILDREN - 1];
	}
	last = ready;
	for (int i = tree_children(b->v, BINOMIAL, b->n) - 1; i >= 0; i--) {
		int child = tree_child(b->v, i, BINOMIAL, b->n);
		plan_id sent = send_blocks(b, k, group_rank_from(&b->group, b->root, child), i,
		                           ref_plus(area, (uint64_t)(child - b->v) * len),
		                           (uint64_t)tree_size(child, b->n) * len, ready);

		last = plan_join(b->plan, (plan_id[]){ last, sent }, 2, "subtree gone");
	}
	if (b->v != 0 || !b->packed.in->in_place)
		last = packed_out(&b->packed, k, area, 0, 1, last);
	*done = last;
}

const char *rooted_binomial_unfit(const struct algo_in *in)
{
	const char *why = fit_network(in);

	return why ? why : packed_unfit(in, most_in_message(in));
}

choir_status rooted_binomial(const struct algo_in *in, struct plan *plan)
{
	struct rooted b = { .plan = plan, .group = group_all(in), .n = in->layout->n };

	b.root = group_index_of(in->layout, in->root);
	b.v = ring_at(b.group.me - b.root, b.n);
	packed_init(&b.packed, in, plan, most_in_message(in), tree_size(b.v, b.n));
	for (int i = 0; i < TREE_MOST_CHILDREN; i++)
		b.credit[i] = b.got[i] = PLAN_NO_STEP;
	for (uint64_t k = 0; k < b.packed.chunks.n; k++)
		if (in->collective == COLLECTIVE_GATHER)
			gather_chunk(&b, k);
		else
			scatter_chunk(&b, k);
	return plan_finish(plan);
}
