/* SPDX-License-Identifier: MIT */
/* Which entries of acc a rank sends.  The way with a threshold selects all magnitudes from it on, but no zeros: of
 * exact selections only, exactly k come out. */
#include "topk/algorithm.h"
#include "topk/cut.h"
#include "topk/magnitude.h"

#include "sparse/moments.h"

#include <math.h>

enum { PROBES = 5, STEPS = 20, BISECTIONS = 100 };

choir_status topk_select_top(struct topk_run *run)
{
	struct select_limit limit = { .key = 0 };

	TRY(list_select_top(&run->selected, &run->types, run->acc.ptr, run->k, &limit));
	run->tracking.local = run->k > 0 ? magnitude_value(run->types.work, limit.key) : 0;
	return CHOIR_SUCCESS;
}

static struct select_limit limit_of(const struct topk_run *run, double threshold)
{
	uint64_t key = magnitude_key(run->types.work, threshold);

	return (struct select_limit){ .key = key > 0 ? key : 1, .ties = UINT64_MAX };
}

static uint64_t count_above(const struct topk_run *run, double threshold)
{
	struct select_input in = { .val = run->acc.ptr, .elem_bytes = run->types.elem_bytes, .n = run->types.n };
	struct select_output nowhere = { .form = run->types.form };

	return run->types.n > 0 ? select_host(&in, limit_of(run, threshold), &nowhere) : 0;
}

static choir_status select_above(struct topk_run *run, double threshold)
{
	run->tracking.local = threshold;
	return list_select_limit(&run->selected, &run->types, run->acc.ptr, limit_of(run, threshold));
}

/* Is an exact selection due?  A threshold that is NaN, infinite or unknown is none. */
static bool is_exact(const struct topk_run *run)
{
	double local = run->tracking.local;

	return run->sparse_call % run->state->settings.preset->local_period == 0 || !isfinite(local) || local < 0;
}

choir_status topk_select_reuse(struct topk_run *run)
{
	return is_exact(run) ? topk_select_top(run) : select_above(run, run->tracking.local);
}

/* Far too many pass: the threshold is raised before anything is sent; from zero it cannot be. */
choir_status topk_select_adapt(struct topk_run *run)
{
	const struct topk_preset *preset = run->state->settings.preset;
	double threshold = run->tracking.local, most = preset->probe * (double)run->k;

	if (is_exact(run))
		return topk_select_top(run);
	for (int i = 0; i < PROBES && preset->probe > 0 && (double)count_above(run, threshold) > most; i++)
		threshold *= 1.03;
	if (threshold == 0 && count_above(run, threshold) > run->k)
		return topk_select_top(run);
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

choir_status topk_select_gaussian(struct topk_run *run)
{
	double k = (double)run->k, threshold;
	struct moments moments;

	moments_host(run->types.work, run->acc.ptr, run->types.n, &moments);
	if (run->types.n == 0 || !isfinite(moments.mean) || !isfinite(moments.deviation) || moments.deviation == 0)
		return topk_select_top(run); /* no normal distribution at all */
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

choir_status topk_select_chunks(struct topk_run *run)
{
	TRY(list_take(&run->selected, &run->types, run->k));
	run->tracking.local = 0;
	for (int c = 0; c < run->env.layout->n; c++) {
		uint64_t from = topk_region_start(run, c), n = topk_region_start(run, c + 1) - from,
			 room = topk_chunk_room(run, c);

		TRY(list_append_top(&run->selected, &run->types, run->acc.ptr, from, n, room < n ? room : n));
	}
	return CHOIR_SUCCESS;
}
