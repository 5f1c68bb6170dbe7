/* SPDX-License-Identifier: MIT */
/* Design notes.  A rank folds its own input and its children's sums, nearest child first, in one fixed order.  Its
 * input and the inputs of leaves are raw, and raw values come after partial sums, so a first child that is no leaf (in
 * a chain) comes before the own input.  At most 2 * CREDIT_STEP pieces are in flight to a parent. */
#include "algo/credit.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/pattern_tree.h"
#include "algo/tree.h"
#include "algo/window.h"

struct tree_reduce {
	const struct algo_in *in;
	struct plan *plan;
	struct group group;
	struct window sums, arrivals;
	struct chunks chunks;
	int n, v, root, radix; /* v: this rank's virtual rank; root: the root's index in the group */
	plan_id credit;
};

/* sum = acc op the i-th child's data; acc is this rank's raw input for the first child. */
static plan_id add_child(struct tree_reduce *t, int i, uint64_t k, struct plan_ref sum, struct plan_ref acc,
                         plan_id ready)
{
	int child = tree_child(t->v, i, t->radix, t->n), rank = group_rank_from(&t->group, t->root, child);
	bool leaf = tree_is_leaf(child, t->radix, t->n), theirs_first = i == 0 && !leaf;
	bool final = t->v == 0 && tree_child(t->v, i + 1, t->radix, t->n) < 0;
	enum plan_raw raw = i == 0 && leaf ? PLAN_RAW_ALL : i == 0 || leaf ? PLAN_RAW_REST : PLAN_RAW_NONE;
	uint64_t len = chunk_len(t->chunks, k);
	plan_id from = t->plan->n_steps, got;
	uint32_t taken;
	struct plan_ref theirs = window_take(&t->arrivals, t->plan, &taken);

	got = plan_recv(t->plan, rank, (uint32_t)k, theirs, len, NULL, 0, "from child");
	credit_give(t->plan, rank, k, CREDIT_STEP, t->chunks.n, got);
	got = plan_reduce(t->plan, sum,
	                  theirs_first ? (struct plan_ref[]){ theirs, acc } : (struct plan_ref[]){ acc, theirs }, 2,
	                  raw, final, len, (plan_id[]){ ready, got }, 2, "add child");
	window_busy(&t->arrivals, t->plan, taken, from);
	return got;
}

static void send_up(struct tree_reduce *t, const struct piece *piece, uint64_t k)
{
	int parent = group_rank_from(&t->group, t->root, tree_parent(t->v, t->radix));

	t->credit = credit_await(t->plan, parent, k, CREDIT_STEP, t->credit);
	plan_send(t->plan, parent, (uint32_t)k, piece->ref, chunk_len(t->chunks, k),
	          (plan_id[]){ piece->ready, t->credit }, 2, "to parent");
}

static void add_piece(struct tree_reduce *t, uint64_t k)
{
	const struct algo_in *in = t->in;
	uint64_t off = chunk_off(t->chunks, k), len = chunk_len(t->chunks, k);
	int children = tree_children(t->v, t->radix, t->n);
	bool is_root = t->v == 0, in_recv = is_root && in->recv_direct;
	/* A leaf sends its input itself.  Other ranks need memory for the sum: the root its RECV, else a window buffer,
	 * which may be the one that the input is staged in. */
	struct piece piece = piece_of_send(in, t->plan, &t->sums, off, len, false);
	struct plan_ref sum = in_recv ? plan_at(PLAN_RECV, off) : piece.ref, acc = piece.ref;

	if (children > 0 && !in_recv && !piece.in_window) {
		sum = window_take(&t->sums, t->plan, &piece.taken);
		piece.in_window = true;
	}
	for (int i = 0; i < children; i++) {
		piece.ready = add_child(t, i, k, sum, acc, piece.ready);
		acc = sum;
	}
	piece.ref = acc;
	if (!is_root)
		send_up(t, &piece, k);
	else if (!in_recv)
		plan_copy(t->plan, plan_at(PLAN_RECV, off), piece.ref, len, &piece.ready, 1, "stage out");
	piece_end(&piece, t->plan, &t->sums);
}

choir_status tree_reduce(const struct algo_in *in, struct plan *plan, int radix)
{
	struct tree_reduce t = { .in = in,
		                 .plan = plan,
		                 .group = group_all(in),
		                 .n = in->layout->n,
		                 .radix = radix,
		                 .credit = PLAN_NO_STEP };
	uint64_t unit = block_unit(in->elem_bytes);

	t.chunks = chunks_of(in->bytes, message_limit(in, unit), unit);
	t.root = group_index_of(in->layout, in->root);
	t.v = ring_at(t.group.me - t.root, t.n);
	window_init(&t.sums, plan, t.chunks.n ? t.chunks.each : 0);
	window_init(&t.arrivals, plan, t.chunks.n ? t.chunks.each : 0);
	for (uint64_t k = 0; k < t.chunks.n; k++)
		add_piece(&t, k);
	return plan_finish(plan);
}
