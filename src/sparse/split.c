/* SPDX-License-Identifier: MIT */
/* The range of indices is cut into P regions; each rank reduces the region it owns, in rank order, and all gather the regions.
 * 1. allgather of the counts per region; 2. alltoallv of the pairs; 3. allgather of the reduced counts; 4. allgatherv of the reduced regions.
 * (P-1)/P (k + K) pairs received and k pairs merged on each rank, for k pairs a rank and K distinct ones; any P; P > range leaves ranks without region.
 * Best for long lists.  Indices travel relative to their region where that is shorter (index_form_of). */
#include "sparse/block.h"
#include "sparse/region.h"
#include "sparse/state.h"

static choir_status split_exchange(struct sparse *sparse, struct script_turn *turn);
static choir_status split_merge(struct sparse *sparse, struct script_turn *turn);
static choir_status split_count(struct sparse *sparse, struct script_turn *turn);
static choir_status split_reduce(struct sparse *sparse, struct script_turn *turn);
static choir_status split_sizes(struct sparse *sparse, struct script_turn *turn);
static choir_status split_gather(struct sparse *sparse, struct script_turn *turn);
static choir_status split_done(struct sparse *sparse, struct script_turn *turn);

/* Distinct pairs are guessed as all of them, at most the range: the gathered numbers do not tell more. */
double split_cost(const struct sparse_facts *facts, int n_ranks, uint64_t pair_bytes)
{
	double pairs = (double)facts->pairs, span = (double)facts->range.hi - (double)facts->range.lo + 1;
	double distinct = pairs < span ? pairs : span;

	return 4 * COST_ROUND_NS + pairs / n_ranks * ((double)pair_bytes * COST_BYTE_NS * 3 + COST_PAIR_NS)
	       + distinct * (double)pair_bytes * COST_BYTE_NS * 2;
}

static struct index_range region(const struct sparse *sparse, int r)
{
	return region_of(sparse->facts.range, r, sparse->env.layout->n);
}

static uint64_t region_block(const struct sparse *sparse, int r, uint64_t count)
{
	return block_bytes(index_form_of(region(sparse, r)), count, sparse->row_bytes);
}

/* Phase 1. */
choir_status split_start(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n;
	uint64_t bytes = (uint64_t)n * sizeof *sparse->counts, from = 0;
	struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = 8, .bytes = bytes };
	uint64_t *mine;

	TRY(pool_take(&sparse->out, bytes, "the counts of the regions"));
	mine = sparse->out.ptr;
	for (int r = 0; r < n; r++) {
		uint64_t end = region_end(&own, from, region(sparse, r));

		mine[r] = end - from;
		from = end;
	}
	return script_plan(sparse, turn, &in, mine, bytes, sparse->counts, bytes * (uint64_t)n, split_exchange);
}

/* Phase 2: block (s, d) holds the pairs of rank s in the region of rank d. */
static choir_status split_exchange(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n, me = sparse->env.me;
	const uint64_t *counts = sparse->counts;
	struct algo_in in = { .collective = COLLECTIVE_ALLTOALLV, .elem_bytes = BLOCK_ALIGN, .block_bytes = sparse->block_bytes };
	struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	uint64_t send = 0, recv = 0, from = 0;
	unsigned char *out;

	for (int s = 0; s < n; s++)
		for (int d = 0; d < n; d++)
			sparse->block_bytes[s * n + d] = region_block(sparse, d, counts[s * n + d]);
	for (int r = 0; r < n; r++) {
		send += sparse->block_bytes[me * n + r];
		recv += sparse->block_bytes[r * n + me];
	}
	pool_give(&sparse->out);
	TRY(pool_take(&sparse->out, send, "the pairs to send"));
	TRY(pool_take(&sparse->in, recv, "the pairs of my region"));
	out = sparse->out.ptr;
	for (int r = 0; r < n; r++) {
		block_write(out, index_form_of(region(sparse, r)), &own, from, counts[me * n + r], sparse->row_bytes);
		from += counts[me * n + r];
		out += sparse->block_bytes[me * n + r];
	}
	return script_plan(sparse, turn, &in, sparse->out.ptr, send, sparse->in.ptr, recv, split_merge);
}

static choir_status split_merge(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n, me = sparse->env.me;
	const unsigned char *block = sparse->in.ptr;
	struct index_range mine = region(sparse, me);
	struct coalesce_call todo = { .dtype = sparse->call.val_dtype, .op = sparse->call.op, .width = sparse->facts.width, .final = true,
				      .n_ranks = n, .src = sparse->lists, .n_src = (uint32_t)n, .range = mine };
	uint64_t pairs = 0;

	(void)turn;
	for (int r = 0; r < n; r++) {
		uint64_t count = sparse->counts[r * n + me];

		sparse->lists[r].pairs = block_pairs(block, index_form_of(mine), count);
		block += sparse->block_bytes[r * n + me];
		pairs += count;
	}
	sparse->step = split_count;
	return coalesce_init(&sparse->job, &todo, sparse->kernels && pairs <= UINT32_MAX ? sparse->env.device : NULL);
}

static choir_status job_wait(struct sparse *sparse, struct script_turn *turn)
{
	script_wait(turn);
	return coalesce_watch(&sparse->job, sparse->env.ring, sparse->env.ring_ctx);
}

static choir_status split_count(struct sparse *sparse, struct script_turn *turn)
{
	bool done;

	TRY(coalesce_count(&sparse->job, &done));
	if (!done)
		return job_wait(sparse, turn);
	sparse->step = split_reduce;
	return pool_take(&sparse->region, region_block(sparse, sparse->env.me, sparse->job.count), "my reduced region");
}

static choir_status split_reduce(struct sparse *sparse, struct script_turn *turn)
{
	struct index_form form = index_form_of(region(sparse, sparse->env.me));
	unsigned char *block = sparse->region.ptr;
	bool done;

	TRY(coalesce_fill(&sparse->job, block, form, block + block_rows_off(form, sparse->job.count), &done));
	if (!done)
		return job_wait(sparse, turn);
	sparse->own_count = sparse->job.count;
	coalesce_fini(&sparse->job);
	sparse->step = split_sizes;
	return CHOIR_SUCCESS;
}

/* Phase 3. */
static choir_status split_sizes(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = 8, .bytes = sizeof sparse->own_count };

	return script_plan(sparse, turn, &in, &sparse->own_count, sizeof sparse->own_count, sparse->counts,
			   sizeof sparse->own_count * (uint64_t)sparse->env.layout->n, split_gather);
}

/* Phase 4. */
static choir_status split_gather(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHERV, .elem_bytes = BLOCK_ALIGN, .block_bytes = sparse->block_bytes };
	int n = sparse->env.layout->n;
	uint64_t total = 0;

	for (int r = 0; r < n; r++) {
		sparse->block_bytes[r] = region_block(sparse, r, sparse->counts[r]);
		total += sparse->block_bytes[r];
	}
	pool_give(&sparse->in);
	TRY(pool_take(&sparse->in, total, "the reduced regions"));
	return script_plan(sparse, turn, &in, sparse->region.ptr, sparse->block_bytes[sparse->env.me], sparse->in.ptr, total, split_done);
}

static choir_status split_done(struct sparse *sparse, struct script_turn *turn)
{
	uint64_t count = 0;

	(void)turn;
	sparse->only_mine = true;
	for (int r = 0; r < sparse->env.layout->n; r++)
		count += sparse->counts[r];
	deliver_start(sparse, count);
	return CHOIR_SUCCESS;
}

/* The regions one after the other are the result. */
choir_status split_fill(struct sparse *sparse, struct script_turn *turn)
{
	const unsigned char *block = sparse->in.ptr;
	struct index_form form = { .bytes = sparse->ind_bytes };
	uint64_t at = 0;

	(void)turn;
	for (int r = 0; r < sparse->env.layout->n; r++) {
		struct pairs pairs = block_pairs(block, index_form_of(region(sparse, r)), sparse->counts[r]);

		index_convert((unsigned char *)sparse->target_ind + at * form.bytes, form, pairs.ind, pairs.form, pairs.count);
		if (pairs.count > 0)
			memcpy((unsigned char *)sparse->target_val + at * sparse->row_bytes, pairs.rows, pairs.count * sparse->row_bytes);
		at += pairs.count;
		block += sparse->block_bytes[r];
	}
	sparse->step = deliver_flush;
	return CHOIR_SUCCESS;
}
