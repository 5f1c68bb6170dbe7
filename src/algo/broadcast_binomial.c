/* SPDX-License-Identifier: MIT */
/* broadcast down a binomial tree over all ranks, node after node, rooted at the root; the largest subtree is served first.
 *
 * log2(n) rounds of all bytes, in pieces of at most message_bytes that follow each other down the tree.  Any n > 1. */
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/pattern_tree.h"
#include "algo/window.h"

struct tree_broadcast {
	const struct algo_in *in;
	struct plan *plan;
	struct group group;
	struct window window;
	int n, v, root; /* my virtual rank; the root's place in the group */
	plan_id got;    /* the last receive: they are chained, so an engine looks for one message at a time */
};

static int rank_of(const struct tree_broadcast *t, int v)
{
	return group_rank(&t->group, ring_at(v + t->root, t->n));
}

static void add_piece(struct tree_broadcast *t, uint32_t tag, uint64_t off, uint64_t len)
{
	const struct algo_in *in = t->in;
	bool is_root = t->v == 0, both_direct = in->send_direct && in->recv_direct;
	struct piece piece;

	if (is_root) {
		piece = piece_of_send(in, t->plan, &t->window, off, len, !both_direct);
	} else {
		piece = piece_for_recv(in, t->plan, &t->window, off);
		piece.ready = t->got = plan_recv(t->plan, rank_of(t, tree_parent(t->v)), tag, piece.ref, len, &t->got, 1, "from parent");
	}
	for (int bit = tree_top(t->n); bit > 0; bit /= 2)
		if (tree_has_child(t->v, bit, t->n))
			plan_send(t->plan, rank_of(t, t->v + bit), tag, piece.ref, len, &piece.ready, 1, "to child");
	if (!is_root || !in->in_place)
		piece_to_recv(&piece, t->plan, off, len);
	piece_end(&piece, t->plan, &t->window);
}

choir_status broadcast_binomial(const struct algo_in *in, struct plan *plan)
{
	struct tree_broadcast t = { .in = in, .plan = plan, .group = group_all(in), .n = in->layout->n, .got = PLAN_NO_STEP };
	uint64_t unit = block_unit(in->elem_bytes);
	struct chunks chunks = chunks_of(in->bytes, message_limit(in, unit), unit);

	t.root = group_index_of(in->layout, in->root);
	t.v = ring_at(t.group.me - t.root, t.n);
	window_init(&t.window, plan, in->send_direct && in->recv_direct ? 0 : chunks.each);
	for (uint64_t k = 0; k < chunks.n; k++)
		add_piece(&t, (uint32_t)k, chunk_off(chunks, k), chunk_len(chunks, k));
	if (t.v == 0 && in->send_direct && in->recv_direct && !in->in_place && in->bytes)
		plan_copy(plan, plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "own");
	return plan_finish(plan);
}
