/* SPDX-License-Identifier: MIT */
/* oktopk: pairs above a reused threshold go to the owners of regions that hold about as many of them; owners add, keep
 * the sums above a global threshold, even out what they have if that pays, and gather it.  Entries that are not in the
 * result stay in the residuals.  2kf words received by the split, 2kf at most by the balance, 2kf by the gather, f =
 * (P-1)/P: 6kf, but in the calls that find the global threshold anew, which gather all sums.  Any P.  Li and Hoefler
 * 2022, arXiv:2201.07598. */
#include "topk/algorithm.h"
#include "topk/cut.h"
#include "topk/magnitude.h"

#include <math.h>

/* Evening out pays when the busiest rank has so many bytes a rank of the comm more than the mean. */
#define BALANCE_BYTES 16384

static choir_status vote(struct topk_run *run, struct script_turn *turn);
static choir_status all_sums(struct topk_run *run, struct script_turn *turn);
static choir_status all_counted(struct topk_run *run, struct script_turn *turn);
static choir_status kept_counted(struct topk_run *run, struct script_turn *turn);
static choir_status gather_kept(struct topk_run *run, struct script_turn *turn, const uint64_t *counts);

static const struct topk_preset *preset(const struct topk_run *run)
{
	return run->state->settings.preset;
}

static bool is_due(const struct topk_run *run, uint64_t period)
{
	return run->sparse_call % period == 0;
}

static choir_status owners_have_sums(struct topk_run *run, struct script_turn *turn)
{
	const struct topk_preset *p = preset(run);
	double global = run->tracking.global;
	uint64_t key;

	TRY(topk_round_sums(run, &run->held));
	if (is_due(run, p->global_period) || !isfinite(global) || global < 0)
		return topk_share(run, turn, &run->held.count, 1, all_counted);
	key = magnitude_key(run->types.work, global);
	list_keep(&run->held, &run->types, (struct select_limit){ .key = key > 0 ? key : 1, .ties = UINT64_MAX });
	return topk_share(run, turn, &run->held.count, 1, kept_counted);
}

/* Regions of about equal work: each rank votes for the cuts of its own entries, and the votes are averaged. */
static choir_status votes_counted(struct topk_run *run, struct script_turn *turn)
{
	cut_average(run->numbers, (uint64_t)run->env.layout->n, run->types.n, run->bounds);
	run->tracking.cut = true;
	return topk_owners_split(run, turn, owners_have_sums);
}

static choir_status vote(struct topk_run *run, struct script_turn *turn)
{
	uint64_t n = (uint64_t)run->env.layout->n, count = run->selected.count;

	run->row[0] = 0;
	for (uint64_t j = 1; j < n; j++)
		run->row[j] = count > 0 ? (uint64_t)index_at(run->selected.ind.ptr, run->types.form,
		                                             (uint64_t)((__uint128_t)j * count / n))
		                        : topk_region_start(run, (int)j);
	return topk_share(run, turn, run->row, n, votes_counted);
}

choir_status topk_oktopk_start(struct topk_run *run, struct script_turn *turn)
{
	if (is_due(run, preset(run)->cut_period) || !run->tracking.cut)
		return vote(run, turn);
	return topk_owners_split(run, turn, owners_have_sums);
}

static choir_status all_counted(struct topk_run *run, struct script_turn *turn)
{
	return topk_gather(run, turn, list_pairs(&run->held, &run->types), run->numbers, false, all_sums);
}

/* Everyone has all sums, and so finds the same threshold. */
static choir_status all_sums(struct topk_run *run, struct script_turn *turn)
{
	struct select_limit limit;

	(void)turn;
	TRY(topk_join(run, &run->kept));
	TRY(list_top(&run->kept, &run->types, run->k, &limit));
	run->tracking.global = magnitude_value(run->types.work, limit.key);
	list_keep(&run->kept, &run->types, limit);
	run->step = run->deliver;
	return CHOIR_SUCCESS;
}

static choir_status kept_arrived(struct topk_run *run, struct script_turn *turn)
{
	const struct topk_preset *p = preset(run);

	(void)turn;
	TRY(topk_join(run, &run->kept));
	if ((double)run->above < p->global_low * (double)run->k)
		run->tracking.global /= p->global_down;
	else if (run->above > topk_band_top(p->global_high, run->k))
		run->tracking.global *= p->global_up;
	run->step = run->deliver;
	return CHOIR_SUCCESS;
}

static choir_status gather_kept(struct topk_run *run, struct script_turn *turn, const uint64_t *counts)
{
	return topk_gather(run, turn, list_pairs(&run->held, &run->types), counts, false, kept_arrived);
}

static choir_status evened_out(struct topk_run *run, struct script_turn *turn)
{
	uint64_t n = (uint64_t)run->env.layout->n, all = 0;

	TRY(topk_join(run, &run->held));
	for (uint64_t r = 0; r < n; r++)
		all += run->numbers[r];
	for (uint64_t r = 0; r < n; r++)
		run->row[r] = cut_even(all, r + 1, n) - cut_even(all, r, n);
	return gather_kept(run, turn, run->row);
}

static uint64_t overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	uint64_t from = a > b ? a : b, end = a_end < b_end ? a_end : b_end;

	return from < end ? end - from : 0;
}

/* Each rank's kept sums are a span of all; the even parts of all are other spans. */
static choir_status even_out(struct topk_run *run, struct script_turn *turn, uint64_t all)
{
	uint64_t n = (uint64_t)run->env.layout->n, me = (uint64_t)run->env.me, start = 0, from = 0;

	for (uint64_t s = 0; s < n; s++) {
		uint64_t end = start + run->numbers[s];

		for (uint64_t d = 0; d < n; d++)
			run->matrix[s * n + d] = overlap(start, end, cut_even(all, d, n), cut_even(all, d + 1, n));
		start = end;
	}
	for (uint64_t d = 0; d < n; d++) {
		uint64_t count = run->matrix[me * n + d];

		run->parts[d] = list_part(&run->held, &run->types, from, from + count);
		from += count;
	}
	return topk_exchange(run, turn, run->parts, evened_out);
}

/* Of run->above sums each owner keeps its largest, of all together no more than the band's top; the others stay with
 * those that sent them. */
static choir_status keep_band(struct topk_run *run, uint64_t top)
{
	uint64_t n = (uint64_t)run->env.layout->n, counted = 0, kept = 0;
	struct select_limit limit;

	for (uint64_t r = 0; r < n; r++) {
		uint64_t end;

		counted += run->numbers[r];
		end = (uint64_t)((__uint128_t)counted * top / run->above);
		run->numbers[r] = end - kept;
		kept = end;
	}
	TRY(list_top(&run->held, &run->types, run->numbers[run->env.me], &limit));
	list_keep(&run->held, &run->types, limit);
	return CHOIR_SUCCESS;
}

static choir_status kept_counted(struct topk_run *run, struct script_turn *turn)
{
	uint64_t n = (uint64_t)run->env.layout->n, most = 0, all = 0,
		 pair = run->types.form.bytes + run->types.wire_bytes,
		 top = topk_band_top(preset(run)->global_high, run->k);

	run->above = 0;
	for (uint64_t r = 0; r < n; r++)
		run->above += run->numbers[r];
	if (run->above > top)
		TRY(keep_band(run, top));
	for (uint64_t r = 0; r < n; r++) {
		most = run->numbers[r] > most ? run->numbers[r] : most;
		all += run->numbers[r];
	}
	if ((most - all / n) * pair > n * BALANCE_BYTES)
		return even_out(run, turn, all);
	return gather_kept(run, turn, run->numbers);
}
