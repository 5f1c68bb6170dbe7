/* SPDX-License-Identifier: MIT */
/* "dense": each rank makes a row for every index of the range, with what changes no bit where it has no pair, and a bit
 * for every index: does it have one?
 * 1. alltoallv of the equal regions; 2. the owner of a region folds its rows in rank order and joins the bits; 3.
 * allgatherv of the regions; 4. the rows whose bits are set are the result.  2 (P-1)/P n (v + 1/8) bytes received,
 * whatever the lists; two exchanges; any P.  Best where most indices occur, or for small ranges.  The bits make a sum
 * of zero a row of the result, and an index that nobody sent none. */
#include "sparse/bits.h"
#include "sparse/identity.h"
#include "sparse/region.h"
#include "sparse/state.h"

static choir_status densify_fold(struct sparse *sparse, struct script_turn *turn);
static choir_status densify_gathered(struct sparse *sparse, struct script_turn *turn);

struct work densify_cost(const struct cost *cost)
{
	double bytes = cost->span * (cost->row + 0.125);

	return (struct work){ .messages = 2 * cost->rounds,
		              .received = 2 * cost->share * bytes,
		              .copied = 4 * bytes,
		              .merged = cost->pairs / 6 };
}

static struct index_range region(const struct sparse *sparse, int r)
{
	return region_of(sparse->facts.range, r, sparse->env.layout->n);
}

static uint64_t region_bytes(const struct sparse *sparse, int r)
{
	return format_bits_bytes(region(sparse, r)) +
	       block_round(index_range_span(region(sparse, r)) * sparse->row_bytes);
}

/* Writes the rank's pairs [from, end) of a region as bits and rows. */
static void write_region(const struct sparse *sparse, struct index_range range, const struct pairs *own, uint64_t from,
                         uint64_t end, unsigned char *to)
{
	struct pairs part = { .ind = (const unsigned char *)own->ind + from * own->form.bytes,
		              .rows = own->rows + from * sparse->row_bytes,
		              .count = end - from,
		              .form = own->form };
	uint64_t bits = format_bits_bytes(range), *words = (uint64_t *)(void *)to;

	memset(to, 0, bits);
	identity_fill(sparse->wire_dtype, sparse->call.op, to + bits, index_range_span(range) * sparse->facts.width);
	for (uint64_t i = 0; i < part.count; i++) {
		uint64_t x = (uint64_t)(index_at(part.ind, part.form, i) - range.lo);

		words[x / 64] |= UINT64_C(1) << (x % 64);
		memcpy(to + bits + x * sparse->row_bytes, part.rows + i * sparse->row_bytes, sparse->row_bytes);
	}
}

/* Phase 1. */
choir_status densify_start(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLTOALLV, .elem_bytes = BLOCK_ALIGN };
	struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	int n = sparse->env.layout->n, me = sparse->env.me;
	uint64_t send = 0, recv = region_bytes(sparse, me) * (uint64_t)n, from = 0;
	unsigned char *to;

	for (int d = 0; d < n; d++)
		send += region_bytes(sparse, d);
	if (script_defers(sparse, turn, send > recv ? send : recv))
		return CHOIR_SUCCESS;
	TRY(sparse_table(sparse, &sparse->counts));
	TRY(sparse_table(sparse, &sparse->block_bytes));
	TRY(sparse_table(sparse, &sparse->to_bytes));
	in.to_bytes = sparse->to_bytes;
	in.from_bytes = sparse->block_bytes;
	for (int d = 0; d < n; d++) {
		sparse->to_bytes[d] = region_bytes(sparse, d);
		sparse->block_bytes[d] = region_bytes(sparse, me);
	}
	TRY(pool_take(&sparse->out, send, "the dense rows"));
	TRY(pool_take(&sparse->in, recv, "the dense rows of my region"));
	to = sparse->out.ptr;
	for (int d = 0; d < n; d++) {
		uint64_t end = region_end(&own, from, region(sparse, d));

		if (region_bytes(sparse, d) > 0)
			write_region(sparse, region(sparse, d), &own, from, end, to);
		from = end;
		to += region_bytes(sparse, d);
	}
	return script_plan(sparse, turn, &in, sparse->out.ptr, send, sparse->in.ptr, recv, densify_fold);
}

/* Phases 2 and 3. */
static choir_status densify_fold(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHERV,
		              .elem_bytes = BLOCK_ALIGN,
		              .block_bytes = sparse->block_bytes };
	int n = sparse->env.layout->n, me = sparse->env.me;
	struct index_range mine = region(sparse, me);
	uint64_t bytes = region_bytes(sparse, me), bits = format_bits_bytes(mine), total = 0;
	const unsigned char *blocks = sparse->in.ptr;
	struct sparse_senders senders = { .words = (const uint64_t *)(const void *)blocks, .stride = bytes / 8 };
	uint64_t *words;

	if (script_defers(sparse, turn, bytes * (uint64_t)n))
		return CHOIR_SUCCESS;
	TRY(pool_take(&sparse->region, bytes, "my summed region"));
	words = sparse->region.ptr;
	memset(words, 0, bits);
	for (int r = 0; r < n; r++)
		for (uint64_t w = 0; w < bits / 8; w++)
			words[w] |= ((const uint64_t *)(const void *)(blocks + (uint64_t)r * bytes))[w];
	TRY(sparse_fold(sparse, blocks, bytes, bits, index_range_span(mine), &senders,
	                (unsigned char *)sparse->region.ptr + bits));
	for (int r = 0; r < n; r++) {
		sparse->block_bytes[r] = region_bytes(sparse, r);
		total += sparse->block_bytes[r];
	}
	pool_give(&sparse->in);
	TRY(pool_take(&sparse->in, total, "the summed regions"));
	return script_plan(sparse, turn, &in, sparse->region.ptr, bytes, sparse->in.ptr, total, densify_gathered);
}

static choir_status densify_gathered(struct sparse *sparse, struct script_turn *turn)
{
	const unsigned char *block = sparse->in.ptr;
	uint64_t count = 0;

	if (script_defers(sparse, turn, format_bits_bytes(sparse->facts.range)))
		return CHOIR_SUCCESS;
	for (int r = 0; r < sparse->env.layout->n; r++) {
		sparse->counts[r] =
		    bits_count((const uint64_t *)(const void *)block, format_bits_bytes(region(sparse, r)) / 8);
		count += sparse->counts[r];
		block += sparse->block_bytes[r];
	}
	deliver_start(sparse, count);
	return CHOIR_SUCCESS;
}

/* Phase 4. */
choir_status densify_fill(struct sparse *sparse, struct script_turn *turn)
{
	struct index_form form = { .bytes = sparse->ind_bytes };
	const unsigned char *block = sparse->in.ptr;
	unsigned char *ind = sparse->target_ind, *rows = sparse->target_val;

	if (script_defers(sparse, turn,
	                  script_pair_bytes(sparse, sparse->count) + format_bits_bytes(sparse->facts.range)))
		return CHOIR_SUCCESS;
	for (int r = 0; r < sparse->env.layout->n; r++) {
		struct index_range range = region(sparse, r);

		format_read_dense((const uint64_t *)(const void *)block, block + format_bits_bytes(range), range,
		                  sparse->row_bytes, ind, form, rows);
		ind += sparse->counts[r] * form.bytes;
		rows += sparse->counts[r] * sparse->row_bytes;
		block += sparse->block_bytes[r];
	}
	sparse->step = deliver_flush;
	return CHOIR_SUCCESS;
}
