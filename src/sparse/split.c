/* SPDX-License-Identifier: MIT */
/* The range of indices is cut into P regions; each rank reduces the region it owns, in rank order, and all gather the
 * regions.
 * 1. allgather of the counts per region; 2. alltoallv of the pairs; 3. allgather of the reduced counts; 4. allgatherv
 * of the reduced regions. (P-1)/P (k + K) pairs received and k pairs merged on each rank, for k pairs a rank and K
 * distinct ones; any P; P > range leaves ranks without region.  Best for long lists.  Indices travel relative to their
 * region where that is shorter (index_form_of).  Regions are cut so that each gets about as many pairs (region_cut).
 * In phase 4 a region travels in the format that is the shortest for its count, which all ranks know by then;
 * split_bitmap and split_dense are the same with one format for all. */
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

/* The work if the gathered regions have so many bytes in all. */
static struct work cost_with(const struct cost *cost, double gathered)
{
	double each = cost->pairs / cost->n, pair = cost->index + cost->row;

	return (struct work){ .messages = 4 * cost->rounds,
		              .received = cost_scattered(cost) * pair + cost->gathers * gathered,
		              .copied = (each + cost->distinct) * pair,
		              .merged = each,
		              .folded = each * cost->row };
}

static double pairs_bytes(const struct cost *cost)
{
	return cost->distinct * (cost->index + cost->row);
}

static double bitmap_bytes(const struct cost *cost)
{
	return cost->distinct * cost->row + cost->span / 8;
}

static double dense_bytes(const struct cost *cost)
{
	return cost->span * cost->row + (cost->distinct < cost->span ? cost->span / 8 : 0);
}

struct work split_cost(const struct cost *cost)
{
	double pairs = pairs_bytes(cost), bitmap = bitmap_bytes(cost), dense = dense_bytes(cost);
	double least = pairs < bitmap ? pairs : bitmap;

	return cost_with(cost, least < dense ? least : dense);
}

struct work split_bitmap_cost(const struct cost *cost)
{
	return cost_with(cost, bitmap_bytes(cost));
}

struct work split_dense_cost(const struct cost *cost)
{
	return cost_with(cost, dense_bytes(cost));
}

static struct index_range region(const struct sparse *sparse, int r)
{
	return region_between(sparse->bounds, r);
}

static enum format format_of(const struct sparse *sparse, int r)
{
	enum format forced = sparse->method->format;

	return forced != FORMAT_LEAST ? forced : format_least(region(sparse, r), sparse->counts[r], sparse->row_bytes);
}

static uint64_t region_block(const struct sparse *sparse, int r, uint64_t count)
{
	return block_bytes(index_form_of(region(sparse, r)), count, sparse->row_bytes);
}

/* Phase 1: to_bytes gets the pairs that this rank has for each region, counts those that each rank has for its own. */
choir_status split_start(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n;
	uint64_t bytes = (uint64_t)n * sizeof *sparse->counts, from = 0;
	struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	struct algo_in in = { .collective = COLLECTIVE_ALLTOALL, .elem_bytes = 8, .bytes = sizeof *sparse->counts };

	TRY(sparse_table(sparse, &sparse->counts));
	TRY(sparse_table(sparse, &sparse->block_bytes));
	TRY(sparse_table(sparse, &sparse->to_bytes));
	for (int r = 0; r < n; r++) {
		uint64_t end = region_end(&own, from, region(sparse, r));

		sparse->to_bytes[r] = end - from;
		from = end;
	}
	return script_plan(sparse, turn, &in, sparse->to_bytes, bytes, sparse->counts, bytes, split_exchange);
}

/* Phase 2: this rank sends each rank a block with its pairs in that rank's region. */
static choir_status split_exchange(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n, me = sparse->env.me;
	struct algo_in in = { .collective = COLLECTIVE_ALLTOALLV,
		              .elem_bytes = BLOCK_ALIGN,
		              .to_bytes = sparse->to_bytes,
		              .from_bytes = sparse->block_bytes };
	struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	uint64_t send = 0, recv = 0, from = 0;
	unsigned char *out;

	if (script_defers(sparse, turn, script_pair_bytes(sparse, own.count)))
		return CHOIR_SUCCESS;
	for (int r = 0; r < n; r++) {
		sparse->block_bytes[r] = region_block(sparse, me, sparse->counts[r]);
		send += region_block(sparse, r, sparse->to_bytes[r]);
		recv += sparse->block_bytes[r];
	}
	TRY(pool_take(&sparse->out, send, "the pairs to send"));
	TRY(pool_take(&sparse->in, recv, "the pairs of my region"));
	out = sparse->out.ptr;
	for (int r = 0; r < n; r++) {
		uint64_t count = sparse->to_bytes[r];

		block_write(out, index_form_of(region(sparse, r)), &own, from, count, sparse->row_bytes);
		from += count;
		sparse->to_bytes[r] = region_block(sparse, r, count);
		out += sparse->to_bytes[r];
	}
	return script_plan(sparse, turn, &in, sparse->out.ptr, send, sparse->in.ptr, recv, split_merge);
}

static choir_status split_merge(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n;
	const unsigned char *block = sparse->in.ptr;
	struct index_range mine = region(sparse, sparse->env.me);

	(void)turn;
	for (int r = 0; r < n; r++) {
		sparse->lists[r].pairs = block_pairs(block, index_form_of(mine), sparse->counts[r]);
		block += sparse->block_bytes[r];
		sparse->note.work += sparse->counts[r];
	}
	sparse->step = split_count;
	return sparse_merge_region(sparse, mine);
}

static choir_status split_count(struct sparse *sparse, struct script_turn *turn)
{
	bool counted;

	TRY(script_count_job(sparse, turn, &counted));
	if (!counted)
		return CHOIR_SUCCESS;
	sparse->step = split_reduce;
	return pool_take(&sparse->region, region_block(sparse, sparse->env.me, sparse->job.count), "my reduced region");
}

static choir_status split_reduce(struct sparse *sparse, struct script_turn *turn)
{
	struct index_form form = index_form_of(region(sparse, sparse->env.me));
	unsigned char *block = sparse->region.ptr;
	bool done;

	if (script_defers_job(sparse, turn, sparse->job.pairs))
		return CHOIR_SUCCESS;
	TRY(coalesce_fill(&sparse->job, block, form, block + block_rows_off(form, sparse->job.count), &done));
	if (!done)
		return script_wait_job(sparse, turn);
	sparse->note.count = sparse->job.count;
	coalesce_fini(&sparse->job);
	sparse->step = split_sizes;
	return CHOIR_SUCCESS;
}

/* Phase 3. */
static choir_status split_sizes(struct sparse *sparse, struct script_turn *turn)
{
	return script_gather_notes(sparse, turn, split_gather);
}

/* The bytes of rank r's region as it travels. */
static uint64_t travels(const struct sparse *sparse, int r)
{
	return format_bytes(format_of(sparse, r), region(sparse, r), sparse->counts[r], sparse->row_bytes);
}

/* Writes the reduced region in the format in which it travels. */
static choir_status write_region(struct sparse *sparse, const void **out_p)
{
	int me = sparse->env.me;
	enum format format = format_of(sparse, me);
	struct pairs pairs = block_pairs(sparse->region.ptr, index_form_of(region(sparse, me)), sparse->note.count);

	*out_p = sparse->region.ptr;
	if (format == FORMAT_PAIRS)
		return CHOIR_SUCCESS;
	pool_give(&sparse->out);
	TRY(pool_take(&sparse->out, sparse->block_bytes[me], "my reduced region"));
	format_write(format, region(sparse, me), &pairs, sparse->row_bytes, sparse->out.ptr);
	*out_p = sparse->out.ptr;
	return CHOIR_SUCCESS;
}

/* Phase 4. */
static choir_status split_gather(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHERV,
		              .elem_bytes = BLOCK_ALIGN,
		              .block_bytes = sparse->block_bytes };
	int n = sparse->env.layout->n;
	uint64_t total = 0;
	const void *mine;

	for (int r = 0; r < n; r++)
		sparse->counts[r] = sparse->notes[r].count;
	if (script_defers(sparse, turn, travels(sparse, sparse->env.me)))
		return CHOIR_SUCCESS;
	sparse_set_imbalance(sparse);
	for (int r = 0; r < n; r++) {
		sparse->block_bytes[r] = travels(sparse, r);
		total += sparse->block_bytes[r];
	}
	pool_give(&sparse->in);
	TRY(pool_take(&sparse->in, total, "the reduced regions"));
	TRY(write_region(sparse, &mine));
	return script_plan(sparse, turn, &in, mine, sparse->block_bytes[sparse->env.me], sparse->in.ptr, total,
	                   split_done);
}

static choir_status split_done(struct sparse *sparse, struct script_turn *turn)
{
	uint64_t count = 0;

	(void)turn;
	sparse->failure_is_local = true;
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
	unsigned char *ind = sparse->target_ind, *rows = sparse->target_val;

	if (script_defers(sparse, turn, script_pair_bytes(sparse, sparse->count)))
		return CHOIR_SUCCESS;
	for (int r = 0; r < sparse->env.layout->n; r++) {
		format_read(format_of(sparse, r), region(sparse, r), sparse->counts[r], sparse->row_bytes, block, ind,
		            form, rows);
		ind += sparse->counts[r] * form.bytes;
		rows += sparse->counts[r] * sparse->row_bytes;
		block += sparse->block_bytes[r];
	}
	sparse->step = deliver_flush;
	return CHOIR_SUCCESS;
}
