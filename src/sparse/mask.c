/* SPDX-License-Identifier: MIT */
/* The ranks gather all indices; then they reduce the rows of the union like a dense tensor, without indices.  A rank
 * that lacks a row sends what changes no bit (identity.h).
 * 1. allgatherv of the indices; 2. each rank owns an equal part of the union: alltoallv of the rows; 3. the owner folds
 * them in rank order; 4. allgatherv of the parts.  (P-1) k indices and 2 (P-1)/P K rows received; any P.  Best for wide
 * rows that most ranks have.
 * The dense sum is done in rank order by owners rather than by an allreduce plan, so that its bits are those of the
 * other algorithms. */
#include "kern/reduce.h"
#include "sparse/identity.h"
#include "sparse/state.h"

static choir_status mask_union(struct sparse *sparse, struct script_turn *turn);
static choir_status mask_fold(struct sparse *sparse, struct script_turn *turn);
static choir_status mask_gathered(struct sparse *sparse, struct script_turn *turn);

struct work mask_cost(const struct cost *cost)
{
	double rows = cost->distinct * cost->row;

	return (struct work){ .messages = 3 * cost->rounds,
		              .received = cost_gathered(cost) * cost->index + 2 * cost->share * rows,
		              .copied = 3 * rows,
		              .merged = cost->pairs };
}

/* Phase 1. */
choir_status mask_start(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHERV, .elem_bytes = BLOCK_ALIGN };
	int n = sparse->env.layout->n, me = sparse->env.me;
	uint64_t total = 0;

	if (script_defers(sparse, turn, sparse->own_count * sparse_form(sparse).bytes))
		return CHOIR_SUCCESS;
	TRY(sparse_table(sparse, &sparse->block_bytes));
	TRY(sparse_table(sparse, &sparse->to_bytes));
	in.block_bytes = sparse->block_bytes;
	for (int r = 0; r < n; r++) {
		sparse->block_bytes[r] = block_rows_off(sparse_form(sparse), sparse->headers[r].pairs);
		total += sparse->block_bytes[r];
	}
	TRY(pool_take(&sparse->out, sparse->block_bytes[me], "my indices"));
	TRY(pool_take(&sparse->in, total, "the indices of all ranks"));
	index_convert(sparse->out.ptr, sparse_form(sparse), sparse->own_ptr, sparse->own_form, sparse->own_count);
	return script_plan(sparse, turn, &in, sparse->out.ptr, sparse->block_bytes[me], sparse->in.ptr, total,
	                   mask_union);
}

/* Writes the union of all indices to sparse->region, by coalescing pairs whose rows are empty. */
static choir_status unite(struct sparse *sparse)
{
	int n = sparse->env.layout->n;
	const unsigned char *block = sparse->in.ptr;
	struct coalesce_call todo = { .dtype = CHOIR_U8,
		                      .op = CHOIR_OP_MAX,
		                      .width = 0,
		                      .n_ranks = n,
		                      .src = sparse->lists,
		                      .n_src = (uint32_t)n,
		                      .range = sparse->facts.range };
	unsigned char no_row;
	bool done; /* on the host at once */

	for (int r = 0; r < n; r++) {
		sparse->lists[r].pairs = (struct pairs){
			.ind = block, .rows = &no_row, .count = sparse->headers[r].pairs, .form = sparse_form(sparse)
		};
		block += sparse->block_bytes[r];
	}
	TRY(coalesce_init(&sparse->job, &todo, NULL));
	TRY(coalesce_count(&sparse->job, &done));
	sparse->merged = sparse->job.count;
	TRY(pool_take(&sparse->region, sparse->merged * sparse_form(sparse).bytes, "the union of the indices"));
	TRY(coalesce_fill(&sparse->job, sparse->region.ptr, sparse_form(sparse), &no_row, &done));
	coalesce_fini(&sparse->job);
	return CHOIR_SUCCESS;
}

/* Writes a row for each index of the union: the rank's own, or what changes no bit. */
static void fill_rows(const struct sparse *sparse, unsigned char *to)
{
	struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	struct index_form form = sparse_form(sparse);

	identity_fill(sparse->wire_dtype, sparse->call.op, to, sparse->merged * sparse->facts.width);
	for (uint64_t i = 0, at = 0; i < own.count; i++, at++) {
		int64_t index = index_at(own.ind, own.form, i);

		while (index_at(sparse->region.ptr, form, at) != index)
			at++;
		memcpy(to + at * sparse->row_bytes, own.rows + i * sparse->row_bytes, sparse->row_bytes);
	}
}

/* Rows of the union that rank r owns. */
static uint64_t part(const struct sparse *sparse, int r)
{
	uint64_t n = (uint64_t)sparse->env.layout->n;

	return sparse->merged / n + ((uint64_t)r < sparse->merged % n);
}

/* Words of the bits of one rank in sparse->senders. */
static uint64_t sender_words(const struct sparse *sparse)
{
	return part(sparse, sparse->env.me) / 64 + 1;
}

/* Notes who has the rows of my part, which no message says. */
static choir_status note_senders(struct sparse *sparse)
{
	uint64_t rows = part(sparse, sparse->env.me), stride = sender_words(sparse), first = 0;
	size_t bytes = (size_t)sparse->env.layout->n * stride * sizeof(uint64_t);
	struct index_form form = sparse_form(sparse);
	uint64_t *words;

	TRY(pool_take(&sparse->senders, bytes, "the senders of my part"));
	words = sparse->senders.ptr;
	memset(words, 0, bytes);
	for (int r = 0; r < sparse->env.me; r++)
		first += part(sparse, r);
	for (int r = 0; r < sparse->env.layout->n; r++, words += stride) {
		const struct pairs *pairs = &sparse->lists[r].pairs;

		for (uint64_t i = 0, row = 0; i < pairs->count && row < rows;) {
			int64_t here = index_at(pairs->ind, pairs->form, i);
			int64_t wanted = index_at(sparse->region.ptr, form, first + row);

			if (here == wanted)
				words[row / 64] |= UINT64_C(1) << row % 64;
			i += here <= wanted;
			row += here >= wanted;
		}
	}
	return CHOIR_SUCCESS;
}

/* Phase 2. */
static choir_status mask_union(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLTOALLV,
		              .elem_bytes = sparse->elem_bytes,
		              .to_bytes = sparse->to_bytes,
		              .from_bytes = sparse->block_bytes };
	int n = sparse->env.layout->n, me = sparse->env.me;
	uint64_t send, recv;

	if (script_defers(sparse, turn, script_pair_bytes(sparse, sparse->facts.pairs)))
		return CHOIR_SUCCESS;
	TRY(unite(sparse));
	if (sparse->user != NULL)
		TRY(note_senders(sparse));
	send = sparse->merged * sparse->row_bytes;
	recv = part(sparse, me) * sparse->row_bytes * (uint64_t)n;
	for (int r = 0; r < n; r++) {
		sparse->to_bytes[r] = part(sparse, r) * sparse->row_bytes;
		sparse->block_bytes[r] = part(sparse, me) * sparse->row_bytes;
	}
	pool_give(&sparse->in);
	pool_give(&sparse->out);
	TRY(pool_take(&sparse->out, send, "the rows of the union"));
	TRY(pool_take(&sparse->in, recv, "the rows of my part"));
	fill_rows(sparse, sparse->out.ptr);
	return script_plan(sparse, turn, &in, sparse->out.ptr, send, sparse->in.ptr, recv, mask_fold);
}

/* Phases 3 and 4. */
static choir_status mask_fold(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHERV,
		              .elem_bytes = sparse->elem_bytes,
		              .block_bytes = sparse->block_bytes };
	int n = sparse->env.layout->n, me = sparse->env.me;
	uint64_t mine = part(sparse, me) * sparse->row_bytes, total = sparse->merged * sparse->row_bytes;
	struct sparse_senders senders = { .words = sparse->senders.ptr, .stride = sender_words(sparse) };

	if (script_defers(sparse, turn, mine * (uint64_t)n))
		return CHOIR_SUCCESS;
	TRY(sparse_fold(sparse, sparse->in.ptr, mine, 0, part(sparse, me), &senders, sparse->out.ptr));
	for (int r = 0; r < n; r++)
		sparse->block_bytes[r] = part(sparse, r) * sparse->row_bytes;
	pool_give(&sparse->in);
	TRY(pool_take(&sparse->in, total, "the rows of the result"));
	return script_plan(sparse, turn, &in, sparse->out.ptr, mine, sparse->in.ptr, total, mask_gathered);
}

static choir_status mask_gathered(struct sparse *sparse, struct script_turn *turn)
{
	(void)turn;
	deliver_start(sparse, sparse->merged);
	return CHOIR_SUCCESS;
}

choir_status mask_fill(struct sparse *sparse, struct script_turn *turn)
{
	if (script_defers(sparse, turn, script_pair_bytes(sparse, sparse->count)))
		return CHOIR_SUCCESS;
	index_convert(sparse->target_ind, (struct index_form){ .bytes = sparse->ind_bytes }, sparse->region.ptr,
	              sparse_form(sparse), sparse->count);
	memcpy(sparse->target_val, sparse->in.ptr, sparse->count * sparse->row_bytes);
	sparse->step = deliver_flush;
	return CHOIR_SUCCESS;
}
