/* SPDX-License-Identifier: MIT */
/* Which entries of acc a rank sends.  The way with a threshold selects all magnitudes from it on, but no zeros: of
 * exact selections only, exactly k come out. */
#include "topk/algorithm.h"
#include "topk/cut.h"
#include "topk/magnitude.h"

#include "sparse/moments.h"

#include <math.h>

enum { PROBES = 5, STEPS = 20, BISECTIONS = 100 };

#define LOWER 1.2 /* the next threshold of gaussiank is hardly further down */

/* What is worth collecting beside a threshold that lets about k pass. */
static uint64_t room_for(const struct topk_run *run)
{
	uint64_t room = 4 * run->k + 1024;

	return room < run->types.n ? room : run->types.n;
}

static struct select_limit limit_of(const struct topk_run *run, double threshold)
{
	uint64_t key = magnitude_key(run->types.work, threshold);

	return (struct select_limit){ .key = key > 0 ? key : 1, .ties = UINT64_MAX };
}

static choir_status accumulate_above(struct topk_run *run, double threshold)
{
	return topk_accumulate_above(run, limit_of(run, threshold).key, room_for(run));
}

/* Of the candidates, if all that the limit selects are there; else of acc. */
static bool candidates_have(const struct topk_run *run, uint64_t key)
{
	return run->candidates.complete && key >= run->candidates.least;
}

static struct select_input candidate_input(const struct topk_run *run)
{
	return (struct select_input){ .val = run->candidates.list.val.ptr,
		                      .elem_bytes = run->types.elem_bytes,
		                      .n = run->candidates.list.count };
}

static uint64_t count_above(const struct topk_run *run, double threshold)
{
	struct select_limit limit = limit_of(run, threshold);
	struct select_input in = { .val = run->acc.ptr, .elem_bytes = run->types.elem_bytes, .n = run->types.n };
	struct select_output nowhere = { .form = run->types.form };

	if (candidates_have(run, limit.key))
		in = candidate_input(run);
	return in.n > 0 ? select_host(&in, limit, &nowhere) : 0;
}

static choir_status select_above(struct topk_run *run, double threshold)
{
	struct select_limit limit = limit_of(run, threshold);

	run->tracking.local = threshold;
	if (candidates_have(run, limit.key))
		return list_filter(&run->selected, &run->types, &run->candidates.list, limit,
		                   count_above(run, threshold));
	return list_select_limit(&run->selected, &run->types, run->acc.ptr, limit);
}

/* The k largest of acc, which is made. */
static choir_status take_top(struct topk_run *run)
{
	const struct topk_candidates *from = &run->candidates;
	struct select_input in = candidate_input(run);
	struct select_limit limit = { .key = 0 };

	if (from->complete && from->list.count >= run->k && run->k > 0) {
		limit = select_radix(&in, run->k);
		TRY(list_filter(&run->selected, &run->types, &from->list, limit, run->k));
	} else {
		TRY(list_select_top(&run->selected, &run->types, run->acc.ptr, run->k, &limit));
	}
	run->tracking.local = run->k > 0 ? magnitude_value(run->types.work, limit.key) : 0;
	return CHOIR_SUCCESS;
}

choir_status topk_select_top(struct topk_run *run)
{
	TRY(topk_accumulate_top(run, run->k));
	return take_top(run);
}

/* Is an exact selection due?  A threshold that is NaN, infinite or unknown is none. */
static bool is_exact(const struct topk_run *run)
{
	double local = run->tracking.local;

	return run->sparse_call % run->state->settings.preset->local_period == 0 || !isfinite(local) || local < 0;
}

choir_status topk_select_reuse(struct topk_run *run)
{
	if (is_exact(run))
		return topk_select_top(run);
	TRY(accumulate_above(run, run->tracking.local));
	return select_above(run, run->tracking.local);
}

/* Far too many pass: the threshold is raised before anything is sent; from zero it cannot be. */
choir_status topk_select_adapt(struct topk_run *run)
{
	const struct topk_preset *preset = run->state->settings.preset;
	double threshold = run->tracking.local, most = preset->probe * (double)run->k;

	if (is_exact(run))
		return topk_select_top(run);
	TRY(accumulate_above(run, threshold));
	for (int i = 0; i < PROBES && preset->probe > 0 && (double)count_above(run, threshold) > most; i++)
		threshold *= 1.03;
	if (threshold == 0 && count_above(run, threshold) > run->k)
		return take_top(run);
	return select_above(run, threshold);
}

/* The mass of a normal distribution beyond -t and t. */
static double mass_beyond(const struct moments *m, double t)
{
	double scale = m->deviation * sqrt(2);

	return 0.5 * erfc((t - m->mean) / scale) + 0.5 * erfc((t + m->mean) / scale);
}

static double gaussian_threshold(const struct moments *m, double density)
{
	double low = 0, high = fabs(m->mean) + 40 * m->deviation;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = low + (high - low) / 2;

		if (mass_beyond(m, middle) > density)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* What passes the last call's threshold, and a little more, is collected; thresholds that fall below it count acc. */
choir_status topk_select_gaussian(struct topk_run *run)
{
	double k = (double)run->k, threshold, lowest = run->tracking.local / LOWER;
	struct moments moments;

	if (isfinite(lowest) && lowest > 0)
		TRY(accumulate_above(run, lowest));
	else
		TRY(topk_accumulate(run));
	moments_host(run->types.work, run->acc.ptr, run->types.n, &moments);
	if (run->types.n == 0 || !isfinite(moments.mean) || !isfinite(moments.deviation) || moments.deviation == 0)
		return take_top(run); /* no normal distribution at all */
	threshold = gaussian_threshold(&moments, k / (double)run->types.n);
	for (int i = 0; i < STEPS && (double)count_above(run, threshold) < 0.75 * k; i++)
		threshold /= 1.02;
	for (int i = 0; i < STEPS && (double)count_above(run, threshold) > 1.25 * k; i++)
		threshold *= 1.02;
	return select_above(run, threshold);
}

uint64_t topk_region_start(const struct topk_run *run, int c)
{
	return cut_even(run->types.n, (uint64_t)c, (uint64_t)run->env.layout->n);
}

/* k entries dealt to the chunks; who gets one more changes from call to call, so that no chunk is left out for ever. */
uint64_t topk_chunk_room(const struct topk_run *run, int c)
{
	uint64_t ranks = (uint64_t)run->env.layout->n;

	return run->k / ranks + (((uint64_t)c + run->tracking.calls) % ranks < run->k % ranks);
}

/* The largest of chunk c, behind what is selected; of the candidates if enough of them are of that chunk. */
static choir_status append_chunk(struct topk_run *run, int c)
{
	const struct topk_types *types = &run->types;
	const struct topk_list *found = &run->candidates.list;
	uint64_t from = topk_region_start(run, c), n = topk_region_start(run, c + 1) - from, first = 0, end = 0,
		 room = topk_chunk_room(run, c);

	room = room < n ? room : n;
	if (run->candidates.complete) {
		first = list_find(found, types, from);
		end = list_find(found, types, from + n);
	}
	if (end - first < room || room == 0)
		return list_append_top(&run->selected, types, run->acc.ptr, from, n, room);
	list_append_largest(&run->selected, types, list_part(found, types, first, end), room);
	return CHOIR_SUCCESS;
}

choir_status topk_select_chunks(struct topk_run *run)
{
	TRY(topk_accumulate_top(run, run->k));
	TRY(list_take(&run->selected, &run->types, run->k));
	run->tracking.local = 0;
	for (int c = 0; c < run->env.layout->n; c++)
		TRY(append_chunk(run, c));
	return CHOIR_SUCCESS;
}
