/* SPDX-License-Identifier: MIT */
/* topk-sa, gaussiank-sa: the index range cut into equal regions; each pair goes to its region's owner, who adds in rank
 * order; the owners' regions are gathered, as pairs, a bitmap or dense, whichever is the shortest for each.
 * f (2k + 2K) words received for K different indices, f = (P-1)/P; P-1 messages and an allgatherv; any P. */
#include "topk/algorithm.h"
#include "topk/wire.h"

#include "sparse/format.h"

static choir_status region_count(struct topk_run *run, struct script_turn *turn);
static choir_status region_gather(struct topk_run *run, struct script_turn *turn);

static struct index_range region(const struct topk_run *run, int r)
{
	return (struct index_range){ .lo = (int64_t)run->bounds[r], .hi = (int64_t)run->bounds[r + 1] - 1 };
}

static void note_imbalance(struct topk_run *run)
{
	int n = run->env.layout->n;
	uint64_t most = 0, all = 0;

	for (int d = 0; d < n; d++) {
		uint64_t work = 0;

		for (int s = 0; s < n; s++)
			work += run->matrix[s * n + d];
		most = work > most ? work : most;
		all += work;
	}
	run->stats.imbalance = all == 0 ? 1 : (double)most * n / (double)all;
}

static choir_status owners_send(struct topk_run *run, struct script_turn *turn)
{
	int n = run->env.layout->n;
	uint64_t from = 0;

	for (int i = 0; i < n * n; i++)
		run->matrix[i] = run->numbers[i];
	note_imbalance(run);
	for (int d = 0; d < n; d++) {
		run->parts[d] = list_part(&run->selected, &run->types, from, from + run->row[d]);
		from += run->row[d];
	}
	(void)turn;
	return topk_split_start(run);
}

choir_status topk_owners_split(struct topk_run *run, struct script_turn *turn, topk_step then)
{
	int n = run->env.layout->n;
	uint64_t from = 0;

	for (int d = 0; d < n; d++) {
		uint64_t end = list_find(&run->selected, &run->types, run->bounds[d + 1]);

		run->row[d] = end - from;
		from = end;
	}
	run->after_split = then;
	return topk_share(run, turn, run->row, (uint64_t)n, owners_send);
}

choir_status topk_owners_start(struct topk_run *run, struct script_turn *turn)
{
	for (int r = 0; r <= run->env.layout->n; r++)
		run->bounds[r] = topk_region_start(run, r);
	return topk_owners_split(run, turn, region_count);
}

static choir_status region_count(struct topk_run *run, struct script_turn *turn)
{
	TRY(topk_round_sums(run, &run->held));
	return topk_share(run, turn, &run->held.count, 1, region_gather);
}

/* Indices to run->kept, values as they travel to rows. */
static void read_regions(struct topk_run *run, unsigned char *rows)
{
	const struct topk_types *types = &run->types;
	const unsigned char *at = run->in.ptr;

	for (int r = 0; r < run->env.layout->n; r++) {
		uint64_t n = run->counts[r];
		enum format format = format_least(region(run, r), n, types->wire_bytes);

		format_read(format, region(run, r), n, types->wire_bytes, at,
		            (unsigned char *)run->kept.ind.ptr + run->kept.count * types->form.bytes, types->form,
		            rows + run->kept.count * types->wire_bytes);
		run->kept.count += n;
		at += run->block_bytes[r];
	}
}

static choir_status region_read(struct topk_run *run, struct script_turn *turn)
{
	const struct topk_types *types = &run->types;
	uint64_t total = 0;

	(void)turn;
	run->step = run->deliver;
	for (int r = 0; r < run->env.layout->n; r++)
		total += run->counts[r];
	TRY(list_take(&run->kept, types, total));
	if (!wire_is_narrow(types)) {
		read_regions(run, run->kept.val.ptr);
		return CHOIR_SUCCESS;
	}
	pool_give(&run->wide);
	TRY(pool_take(&run->wide, total * types->wire_bytes, "the values that came"));
	read_regions(run, run->wide.ptr);
	wire_read(types, run->kept.val.ptr, run->wide.ptr, total);
	return CHOIR_SUCCESS;
}

/* My sums, in the format of my region. */
static choir_status write_region(struct topk_run *run)
{
	const struct topk_types *types = &run->types;
	struct pairs mine = list_pairs(&run->held, types);
	struct index_range range = region(run, run->env.me);

	pool_give(&run->out);
	TRY(pool_take(&run->out, run->block_bytes[run->env.me], "my region"));
	if (wire_is_narrow(types)) {
		pool_give(&run->wide);
		TRY(pool_take(&run->wide, mine.count * types->wire_bytes, "the values to send"));
		wire_write(types, run->wide.ptr, mine.rows, mine.count);
		mine.rows = run->wide.ptr;
	}
	format_write(format_least(range, mine.count, types->wire_bytes), range, &mine, types->wire_bytes, run->out.ptr);
	return CHOIR_SUCCESS;
}

static choir_status region_gather(struct topk_run *run, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHERV,
		              .elem_bytes = BLOCK_ALIGN,
		              .block_bytes = run->block_bytes };
	uint32_t wire_bytes = run->types.wire_bytes;
	int me = run->env.me;

	for (int r = 0; r < run->env.layout->n; r++) {
		uint64_t n = run->counts[r] = run->numbers[r];

		run->block_bytes[r] =
		    format_bytes(format_least(region(run, r), n, wire_bytes), region(run, r), n, wire_bytes);
		in.bytes += run->block_bytes[r];
		run->stats.pairs_received += r != me ? n : 0;
	}
	pool_give(&run->in);
	TRY(pool_take(&run->in, in.bytes, "the regions"));
	TRY(write_region(run));
	return topk_plan(run, turn, &in, run->out.ptr, run->block_bytes[me], run->in.ptr, in.bytes, region_read);
}
