/* SPDX-License-Identifier: MIT */
/* reduce up a binomial tree over all ranks, node after node, rooted at the root.
 *
 * log2(n) rounds of all bytes, in pieces of at most message_bytes that follow each other up the tree.  Any n > 1.  A rank folds its own
 * input, then its children's sums, nearest child first: one fixed order.  The first child, if there is one, is a leaf, so own and its data
 * are both raw; each later one is raw only where it is a leaf too. */
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/pattern_tree.h"
#include "algo/window.h"

struct tree_reduce {
	const struct algo_in *in;
	struct plan *plan;
	struct group group;
	struct window sums, arrivals;
	int n, v, root; /* my virtual rank; the root's place in the group */
};

static int rank_of(const struct tree_reduce *t, int v)
{
	return group_rank(&t->group, ring_at(v + t->root, t->n));
}

static bool is_last_child(const struct tree_reduce *t, int bit)
{
	return !tree_has_child(t->v, bit * 2, t->n);
}

/* sum = acc + the child's data; acc is my raw input for the first child. */
static plan_id add_child(struct tree_reduce *t, int bit, uint32_t tag, struct plan_ref sum, struct plan_ref acc, plan_id ready, uint64_t len)
{
	bool final = t->v == 0 && is_last_child(t, bit), leaf = tree_is_leaf(t->v + bit, t->n);
	enum plan_raw raw = bit == 1 ? PLAN_RAW_ALL : leaf ? PLAN_RAW_REST : PLAN_RAW_NONE;
	plan_id from = t->plan->n_steps, got;
	uint32_t taken;
	struct plan_ref theirs = window_take(&t->arrivals, t->plan, &taken);

	got = plan_recv(t->plan, rank_of(t, t->v + bit), tag, theirs, len, NULL, 0, "from child");
	got = plan_reduce(t->plan, sum, (struct plan_ref[]){ acc, theirs }, 2, raw, final, len, (plan_id[]){ ready, got }, 2, "add child");
	window_busy(&t->arrivals, t->plan, taken, from);
	return got;
}

static void add_piece(struct tree_reduce *t, uint32_t tag, uint64_t off, uint64_t len)
{
	const struct algo_in *in = t->in;
	bool is_root = t->v == 0, leaf = tree_is_leaf(t->v, t->n), in_recv = is_root && in->recv_direct;
	/* A leaf sends its input as it is; others need memory for the sum: the root's RECV, or a buffer that the input may as well be staged in. */
	struct piece piece = piece_of_send(in, t->plan, &t->sums, off, len, false);
	struct plan_ref sum = in_recv ? plan_at(PLAN_RECV, off) : piece.ref, acc = piece.ref;

	if (!leaf && !in_recv && !piece.in_window) {
		sum = window_take(&t->sums, t->plan, &piece.taken);
		piece.in_window = true;
	}
	for (int bit = 1; tree_has_child(t->v, bit, t->n); bit *= 2) {
		piece.ready = add_child(t, bit, tag, sum, acc, piece.ready, len);
		acc = sum;
	}
	piece.ref = acc;
	if (!is_root)
		plan_send(t->plan, rank_of(t, tree_parent(t->v)), tag, piece.ref, len, &piece.ready, 1, "to parent");
	else if (!in_recv)
		plan_copy(t->plan, plan_at(PLAN_RECV, off), piece.ref, len, &piece.ready, 1, "stage out");
	piece_end(&piece, t->plan, &t->sums);
}

choir_status reduce_binomial(const struct algo_in *in, struct plan *plan)
{
	struct tree_reduce t = { .in = in, .plan = plan, .group = group_all(in), .n = in->layout->n };
	uint64_t unit = block_unit(in->elem_bytes);
	struct chunks chunks = chunks_of(in->bytes, message_limit(in, unit), unit);

	t.root = group_index_of(in->layout, in->root);
	t.v = ring_at(t.group.me - t.root, t.n);
	window_init(&t.sums, plan, chunks.n ? chunks.each : 0);
	window_init(&t.arrivals, plan, chunks.n ? chunks.each : 0);
	for (uint64_t k = 0; k < chunks.n; k++)
		add_piece(&t, (uint32_t)k, chunk_off(chunks, k), chunk_len(chunks, k));
	return plan_finish(plan);
}
