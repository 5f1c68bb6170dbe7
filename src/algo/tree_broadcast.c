/* SPDX-License-Identifier: MIT */
/* A rank sends to its farthest child first, which has the largest subtree.  At most 2 * CREDIT_STEP pieces are in
 * flight to each child. */
#include "algo/credit.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/pattern_tree.h"
#include "algo/tree.h"
#include "algo/window.h"

struct tree_broadcast {
	const struct algo_in *in;
	struct plan *plan;
	struct group group;
	struct window window;
	struct chunks chunks;
	int n, v, root, radix; /* v: this rank's virtual rank; root: the root's index in the group */
	plan_id got;           /* the last receive; receives are chained: the engine expects one message at a time */
	plan_id credit[TREE_MOST_CHILDREN];
};

static struct piece piece_in(struct tree_broadcast *t, uint64_t k)
{
	const struct algo_in *in = t->in;
	uint64_t off = chunk_off(t->chunks, k), len = chunk_len(t->chunks, k);
	struct piece piece;
	int parent;

	if (t->v == 0)
		return piece_of_send(in, t->plan, &t->window, off, len, !in->send_direct || !in->recv_direct);
	parent = group_rank_from(&t->group, t->root, tree_parent(t->v, t->radix));
	piece = piece_for_recv(in, t->plan, &t->window, off);
	piece.ready = t->got = plan_recv(t->plan, parent, (uint32_t)k, piece.ref, len, &t->got, 1, "from parent");
	credit_give(t->plan, parent, k, CREDIT_STEP, t->chunks.n, t->got);
	return piece;
}

static void add_piece(struct tree_broadcast *t, uint64_t k)
{
	uint64_t off = chunk_off(t->chunks, k), len = chunk_len(t->chunks, k);
	struct piece piece = piece_in(t, k);

	for (int i = tree_children(t->v, t->radix, t->n) - 1; i >= 0; i--) {
		int child = group_rank_from(&t->group, t->root, tree_child(t->v, i, t->radix, t->n));

		t->credit[i] = credit_await(t->plan, child, k, CREDIT_STEP, t->credit[i]);
		plan_send(t->plan, child, (uint32_t)k, piece.ref, len, (plan_id[]){ piece.ready, t->credit[i] }, 2,
		          "to child");
	}
	if (t->v != 0 || !t->in->in_place)
		piece_to_recv(&piece, t->plan, off, len);
	piece_end(&piece, t->plan, &t->window);
}

choir_status tree_broadcast(const struct algo_in *in, struct plan *plan, int radix)
{
	struct tree_broadcast t = {
		.in = in, .plan = plan, .group = group_all(in), .n = in->layout->n, .radix = radix, .got = PLAN_NO_STEP
	};
	uint64_t unit = block_unit(in->elem_bytes);
	bool both_direct = in->send_direct && in->recv_direct;

	t.chunks = chunks_of(in->bytes, message_limit(in, unit), unit);
	t.root = group_index_of(in->layout, in->root);
	t.v = ring_at(t.group.me - t.root, t.n);
	for (int i = 0; i < TREE_MOST_CHILDREN; i++)
		t.credit[i] = PLAN_NO_STEP;
	window_init(&t.window, plan, both_direct ? 0 : t.chunks.each);
	for (uint64_t k = 0; k < t.chunks.n; k++)
		add_piece(&t, k);
	if (t.v == 0 && both_direct && !in->in_place && in->bytes)
		plan_copy(plan, plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "own");
	return plan_finish(plan);
}
