/* SPDX-License-Identifier: MIT */
/* Partners whose numbers differ in one bit swap their lists and merge them, bit after bit.
 * log2 P exchanges, and two more for a P that is no power of two (the ranks too many are folded in first and served
 * last), with a gather of counts between two; received: the union of 1, 2, 4 ... ranks' lists.  Any P.  Best for tiny
 * lists that overlap.
 * The lists of neighbours are merged first, lower ranks on the left, so the rows of an index keep rank order, but sums
 * are grouped in pairs: of floats they round differently from the other algorithms (alike on all ranks, and every
 * time), and 16-bit rows are rounded in every merge.  Thakur, Rabenseifner & Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 19, 2005. */
#include "algo/pattern_hypercube.h"
#include "sparse/state.h"

/* Rounds (sparse->bit) beside 1, 2, 4 ... */
#define FOLD  0  /* the first: extra ranks send their lists to the others */
#define SERVE -1 /* the last: they receive the result */

static choir_status swap_lists(struct sparse *sparse, struct script_turn *turn);
static choir_status merge_swapped(struct sparse *sparse, struct script_turn *turn);
static choir_status counts_gathered(struct sparse *sparse, struct script_turn *turn);

struct work recursive_cost(const struct cost *cost)
{
	double pair = cost->index + cost->row;
	int core = hypercube_core(cost->n);
	struct work work = { 0 };

	if (core < cost->n) {
		work.messages = 3;
		work.received = (cost->most + cost->distinct) * pair;
	}
	for (int had = 1; had < core; had *= 2) {
		double even = cost_union(cost, had), list = even > cost->most ? even : cost->most;

		work.messages += had == 1 ? 1 : 1 + cost->rounds;
		work.received += list * pair;
		work.merged += 2 * list;
		work.folded += 2 * list * cost->row;
	}
	return work;
}

/* The rank with which rank r swaps in this round, -1 = none.  *to: does r send?  *from: does r receive? */
static int partner_of(int r, int n, int bit, bool *to, bool *from)
{
	bool extra = hypercube_is_extra(r, n);
	int id = hypercube_id(r, n);

	*to = *from = bit > 0;
	if (bit > 0)
		return extra ? -1 : hypercube_member(id ^ bit, n);
	if (!extra && !hypercube_has_folded(id, n))
		return -1;
	*to = extra == (bit == FOLD);
	*from = !*to;
	return extra ? r - 1 : r + 1;
}

static uint64_t list_bytes(const struct sparse *sparse, uint64_t count)
{
	return block_bytes(sparse_form(sparse), count, sparse->row_bytes);
}

/* Writes the rank's list in the form that all ranks use; then comes the first round. */
choir_status recursive_start(struct sparse *sparse, struct script_turn *turn)
{
	struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	int n = sparse->env.layout->n;

	if (script_defers(sparse, turn, script_pair_bytes(sparse, own.count)))
		return CHOIR_SUCCESS;
	TRY(sparse_table(sparse, &sparse->counts));
	TRY(sparse_table(sparse, &sparse->block_bytes));
	TRY(sparse_table(sparse, &sparse->to_bytes));
	TRY(pool_take(&sparse->region, list_bytes(sparse, own.count), "the merged pairs"));
	block_write(sparse->region.ptr, sparse_form(sparse), &own, 0, own.count, sparse->row_bytes);
	for (int r = 0; r < n; r++)
		sparse->counts[r] = sparse->headers[r].pairs;
	sparse->bit = hypercube_core(n) < n ? FOLD : 1;
	sparse->step = n == 1 ? merge_swapped : swap_lists;
	return CHOIR_SUCCESS;
}

static choir_status swap_lists(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLTOALLV,
		              .elem_bytes = BLOCK_ALIGN,
		              .to_bytes = sparse->to_bytes,
		              .from_bytes = sparse->block_bytes };
	int n = sparse->env.layout->n, me = sparse->env.me, partner;
	uint64_t send = 0, recv = 0;
	bool to, from;

	memset(sparse->to_bytes, 0, (size_t)n * sizeof *sparse->to_bytes);
	memset(sparse->block_bytes, 0, (size_t)n * sizeof *sparse->block_bytes);
	partner = partner_of(me, n, sparse->bit, &to, &from);
	if (partner >= 0 && to)
		sparse->to_bytes[partner] = send = list_bytes(sparse, sparse->counts[me]);
	if (partner >= 0 && from)
		sparse->block_bytes[partner] = recv = list_bytes(sparse, sparse->counts[partner]);
	TRY(pool_take(&sparse->in, recv, "a partner's pairs"));
	return script_plan(sparse, turn, &in, sparse->region.ptr, send, sparse->in.ptr, recv, merge_swapped);
}

/* Lists that this rank merges, the lower rank's first; returns how many. */
static uint32_t put_lists(struct sparse *sparse, int partner)
{
	int me = sparse->env.me;
	struct pairs mine = block_pairs(sparse->region.ptr, sparse_form(sparse), sparse->counts[me]), theirs;

	sparse->lists[0].pairs = mine;
	if (partner < 0)
		return 1;
	theirs = block_pairs(sparse->in.ptr, sparse_form(sparse), sparse->counts[partner]);
	sparse->lists[0].pairs = partner < me ? theirs : mine;
	sparse->lists[1].pairs = partner < me ? mine : theirs;
	return 2;
}

static choir_status merge_into_out(struct sparse *sparse, uint32_t n_lists, bool last)
{
	struct index_form form = sparse_form(sparse);
	unsigned char *to;
	bool done; /* on the host at once */

	TRY(sparse_merge_host(sparse, n_lists, sparse->facts.range, last));
	TRY(coalesce_count(&sparse->job, &done));
	TRY(pool_take(&sparse->out, list_bytes(sparse, sparse->job.count), "the merged pairs"));
	to = sparse->out.ptr;
	TRY(coalesce_fill(&sparse->job, to, form, to + block_rows_off(form, sparse->job.count), &done));
	sparse->own_count = sparse->job.count;
	coalesce_fini(&sparse->job);
	return CHOIR_SUCCESS;
}

static choir_status merge_swapped(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = 8, .bytes = sizeof sparse->own_count };
	int n = sparse->env.layout->n, me = sparse->env.me, core = hypercube_core(n);
	bool to = false, from = false, last = sparse->bit > 0 && sparse->bit * 2 >= core;
	int partner = n == 1 ? -1 : partner_of(me, n, sparse->bit, &to, &from);

	if (script_defers(sparse, turn,
	                  script_pair_bytes(sparse, sparse->counts[me] + (partner < 0 ? 0 : sparse->counts[partner]))))
		return CHOIR_SUCCESS;
	sparse->own_count = sparse->counts[me];
	if (sparse->bit == SERVE && partner >= 0 && from) {
		struct pool_block mine = sparse->region;

		sparse->region = sparse->in;
		sparse->in = mine;
		sparse->own_count = sparse->counts[partner];
	} else if (sparse->bit != SERVE && (n == 1 || (partner >= 0 && from))) {
		struct pool_block before = sparse->region;

		TRY(merge_into_out(sparse, put_lists(sparse, partner), last));
		sparse->region = sparse->out;
		sparse->out = before;
	}
	pool_give(&sparse->in);
	pool_give(&sparse->out);
	return script_plan(sparse, turn, &in, &sparse->own_count, sizeof sparse->own_count, sparse->counts,
	                   sizeof sparse->own_count * (uint64_t)n, counts_gathered);
}

static choir_status counts_gathered(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n, core = hypercube_core(n);
	bool folded = core < n;

	(void)turn;
	sparse->step = swap_lists;
	if (sparse->bit == FOLD)
		sparse->bit = 1;
	else if (sparse->bit != SERVE && sparse->bit * 2 < core)
		sparse->bit *= 2;
	else if (sparse->bit != SERVE && folded)
		sparse->bit = SERVE;
	else
		deliver_start(sparse, sparse->counts[sparse->env.me]);
	return CHOIR_SUCCESS;
}

choir_status recursive_fill(struct sparse *sparse, struct script_turn *turn)
{
	struct pairs pairs = block_pairs(sparse->region.ptr, sparse_form(sparse), sparse->count);

	if (script_defers(sparse, turn, script_pair_bytes(sparse, sparse->count)))
		return CHOIR_SUCCESS;
	index_convert(sparse->target_ind, (struct index_form){ .bytes = sparse->ind_bytes }, pairs.ind, pairs.form,
	              pairs.count);
	memcpy(sparse->target_val, pairs.rows, pairs.count * sparse->row_bytes);
	sparse->step = deliver_flush;
	return CHOIR_SUCCESS;
}
