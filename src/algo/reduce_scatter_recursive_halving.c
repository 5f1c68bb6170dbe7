/* SPDX-License-Identifier: MIT */
/* reduce_scatter by recursive halving: partners swap halves of the blocks they still hold and reduce the half they
 * keep, farthest first.
 *
 * Rounds log2(n), and two more for an n that is no power of two (the ranks too many are folded in first and get their
 * block last); a core member sends (core-1)/core of the bytes, where core is the largest power of two within n; folding
 * costs all the bytes once more.  Short
 * blocks: they are packed.  Any n > 1; ranks in comm order.  Scratch: all blocks once and a half, twice if n is no
 * power of two.  Each block has one owner, which folds in fold_order.  Thakur, Rabenseifner & Gropp, "Optimization of
 * collective communication operations in MPICH", IJHPCA 19, 2005. */
#include "algo/build.h"
#include "algo/exchange_fold.h"
#include "algo/fit.h"
#include "algo/packed.h"
#include "algo/pattern_halving.h"
#include "algo/pattern_hypercube.h"

#define MAX_ROUNDS 30
#define TAG_FOLD   0
#define TAG_RESULT 1
#define TAG_ROUND  2
#define TAGS       (TAG_ROUND + MAX_ROUNDS)

struct halving {
	struct packed packed;
	int n, me, core, id;
	/* of the chunk being built */
	uint32_t tag;
	uint64_t len;
	struct plan_ref area, theirs; /* memory of the sums, and of arriving blocks */
	struct plan_ref mine;         /* this rank's blocks: at first possibly SEND */
};

/* The block of an extra goes with its neighbour's, so the blocks of a range of ids are those of a range of ranks. */
static struct plan_ref part(const struct halving *h, struct plan_ref from, int id)
{
	return ref_plus(from, (uint64_t)hypercube_member(id, h->n) * h->len);
}

static uint64_t part_bytes(const struct halving *h, int id, int bit)
{
	return (uint64_t)(hypercube_member(id + bit, h->n) - hypercube_member(id, h->n)) * h->len;
}

static plan_id fold(struct halving *h, plan_id ready)
{
	uint64_t bytes = (uint64_t)h->n * h->len;

	ready = plan_recv(h->packed.plan, h->me + 1, h->tag + TAG_FOLD, h->theirs, bytes, &ready, 1, "fold: theirs");
	ready = plan_reduce(h->packed.plan, h->area, (struct plan_ref[]){ h->mine, h->theirs }, 2, PLAN_RAW_ALL, false,
	                    bytes, &ready, 1, "fold: in");
	h->mine = h->area;
	return ready;
}

static plan_id halve(struct halving *h, int bit, uint32_t tag, plan_id ready)
{
	int partner = hypercube_member(h->id ^ bit, h->n), keep = halving_first(h->id, bit),
	    give = halving_first(h->id ^ bit, bit);
	struct plan_ref kept = part(h, h->mine, keep);
	bool mine_first;
	enum plan_raw raw = fold_order(h->n, true, bit * 2 == h->core, h->id, h->id ^ bit, &mine_first);

	ready = plan_send(h->packed.plan, partner, tag, part(h, h->mine, give), part_bytes(h, give, bit), &ready, 1,
	                  "halving: give");
	ready = plan_recv(h->packed.plan, partner, tag, h->theirs, part_bytes(h, keep, bit), &ready, 1, "halving: get");
	ready =
	    plan_reduce(h->packed.plan, part(h, h->area, keep),
	                mine_first ? (struct plan_ref[]){ kept, h->theirs } : (struct plan_ref[]){ h->theirs, kept }, 2,
	                raw, bit == 1, part_bytes(h, keep, bit), &ready, 1, "halving: add");
	h->mine = h->area;
	return ready;
}

static plan_id build_extra(struct halving *h, plan_id ready)
{
	ready = plan_send(h->packed.plan, h->me - 1, h->tag + TAG_FOLD, h->mine, (uint64_t)h->n * h->len, &ready, 1,
	                  "fold: mine");
	return plan_recv(h->packed.plan, h->me - 1, h->tag + TAG_RESULT, ref_plus(h->area, (uint64_t)h->me * h->len),
	                 h->len, &ready, 1, "fold: result");
}

static plan_id build_core(struct halving *h, plan_id ready)
{
	uint32_t tag = h->tag + TAG_ROUND;
	bool folds = hypercube_has_folded(h->id, h->n);

	if (folds)
		ready = fold(h, ready);
	for (int bit = h->core / 2; bit > 0; bit /= 2)
		ready = halve(h, bit, tag++, ready);
	if (!folds)
		return ready;
	return plan_send(h->packed.plan, h->me + 1, h->tag + TAG_RESULT,
	                 ref_plus(h->area, (uint64_t)(h->me + 1) * h->len), h->len, &ready, 1, "fold: out");
}

static void add_chunk(struct halving *h, uint64_t k)
{
	struct packed *p = &h->packed;
	const struct algo_in *in = p->in;
	plan_id *done = &p->done[k % PACKED_AREAS];

	h->tag = (uint32_t)k * TAGS;
	h->len = packed_len(p, k);
	h->area = packed_area(p, k);
	h->theirs = ref_plus(h->area, (uint64_t)h->n * h->len);
	h->mine = h->area;
	if (in->send_direct && p->chunks.n == 1)
		h->mine = plan_at(PLAN_SEND, 0);
	else
		*done = packed_in(p, k, h->area, 0, h->n, *done);
	*done = hypercube_is_extra(h->me, h->n) ? build_extra(h, *done) : build_core(h, *done);
	*done = plan_copy(p->plan, plan_at(PLAN_RECV, chunk_off(p->chunks, k)),
	                  ref_plus(h->area, (uint64_t)h->me * h->len), h->len, done, 1, "my block");
}

/* The blocks in the longest message: half of all blocks, or all if there are extras. */
static int most_blocks(int n)
{
	return hypercube_core(n) == n ? n / 2 : n;
}

const char *reduce_scatter_recursive_halving_unfit(const struct algo_in *in)
{
	const char *why = fit_network(in);

	return why ? why : packed_unfit(in, most_blocks(in->layout->n));
}

choir_status reduce_scatter_recursive_halving(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n;
	struct halving h = { .n = n, .me = in->me, .core = hypercube_core(n), .id = hypercube_id(in->me, n) };

	packed_init(&h.packed, in, plan, most_blocks(n), n + most_blocks(n));
	for (uint64_t k = 0; k < h.packed.chunks.n; k++)
		add_chunk(&h, k);
	return plan_finish(plan);
}
