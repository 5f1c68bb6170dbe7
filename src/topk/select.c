/* SPDX-License-Identifier: MIT */
/* Which entries of acc a rank sends.  The way with a threshold selects all magnitudes from it on, but no zeros: of
 * exact selections only, exactly k come out.  acc may be on a device, so each look at it is a step of its own. */
#include "topk/algorithm.h"
#include "topk/cut.h"
#include "topk/magnitude.h"

#include <math.h>

enum { PROBES = 5, STEPS = 20, BISECTIONS = 100 };

#define LOWER 1.2 /* the next threshold of gaussiank is hardly further down */

/* The most candidates worth collecting with a threshold that lets about k pass. */
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

static choir_status accumulate_above(struct topk_run *run, double threshold, topk_step then)
{
	return run->on->accumulate_above(run, limit_of(run, threshold).key, room_for(run), then);
}

/* Of the candidates, if all that the limit selects are there; else of acc. */
static bool candidates_have(const struct topk_run *run, uint64_t key)
{
	return run->candidates.complete && key >= run->candidates.least;
}

/* Does the limit select all candidates, and nothing else? */
static bool candidates_are(const struct topk_run *run, uint64_t key)
{
	return run->candidates.complete && key == run->candidates.least;
}

/* The candidates become the selection, and are candidates no more. */
static void select_candidates(struct topk_run *run)
{
	list_free(&run->selected);
	run->selected = run->candidates.list;
	run->candidates.list = (struct topk_list){ .count = 0 };
	run->candidates.least = UINT64_MAX;
}

static struct select_input candidate_input(const struct topk_run *run)
{
	return (struct select_input){ .val = run->candidates.list.val.ptr,
		                      .elem_bytes = run->types.elem_bytes,
		                      .n = run->candidates.list.count };
}

static uint64_t count_candidates(const struct topk_run *run, struct select_limit limit)
{
	struct select_input in = candidate_input(run);
	struct select_output nowhere = { .form = run->types.form };

	return in.n > 0 ? select_host(&in, limit, &nowhere) : 0;
}

/* run->found = how many a threshold lets pass. */
static choir_status count_above(struct topk_run *run, double threshold, topk_step then)
{
	struct select_limit limit = limit_of(run, threshold);

	if (!candidates_have(run, limit.key))
		return run->on->count(run, limit, then);
	run->found = candidates_are(run, limit.key) ? run->candidates.list.count : count_candidates(run, limit);
	run->step = then;
	return CHOIR_SUCCESS;
}

static choir_status select_above(struct topk_run *run, double threshold)
{
	struct select_limit limit = limit_of(run, threshold);

	run->tracking.local = threshold;
	if (!candidates_have(run, limit.key))
		return run->on->find_limit(run, limit, run->agree);
	run->step = run->agree;
	if (candidates_are(run, limit.key)) {
		select_candidates(run);
		return CHOIR_SUCCESS;
	}
	return list_filter(&run->selected, &run->types, &run->candidates.list, limit, count_candidates(run, limit));
}

static choir_status took_top(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	run->tracking.local = run->k > 0 ? magnitude_value(run->types.work, run->limit.key) : 0;
	run->step = run->agree;
	return CHOIR_SUCCESS;
}

/* The largest of acc, which is made. */
static choir_status take_largest(struct topk_run *run, uint64_t most, topk_step then)
{
	const struct topk_candidates *from = &run->candidates;
	struct select_input in = candidate_input(run);

	if (from->complete && from->list.count >= most && most > 0) {
		run->step = then;
		run->limit = select_radix(&in, most);
		return list_filter(&run->selected, &run->types, &from->list, run->limit, most);
	}
	TRY(list_take(&run->selected, &run->types, most));
	return run->on->find_top(run, 0, run->types.n, most, then);
}

static choir_status take_top(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return take_largest(run, run->k, took_top);
}

choir_status topk_select_top(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return run->on->accumulate_top(run, run->k, take_top);
}

/* Is an exact selection due?  A threshold that is NaN, infinite or unknown is none. */
static bool is_exact(const struct topk_run *run)
{
	double local = run->tracking.local;

	return run->sparse_call % run->state->settings.reuse.period == 0 || !isfinite(local) || local < 0;
}

static choir_status take_above(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return select_above(run, run->threshold);
}

/* A threshold of 0 says no more than that less than k elements were not 0: of more the k largest are taken. */
static choir_status from_zero(struct topk_run *run, struct script_turn *turn)
{
	return run->found > run->k ? take_top(run, turn) : select_above(run, run->threshold);
}

static choir_status count_not_zero(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return count_above(run, 0, from_zero);
}

choir_status topk_select_reuse(struct topk_run *run, struct script_turn *turn)
{
	if (is_exact(run))
		return topk_select_top(run, turn);
	run->threshold = run->tracking.local;
	return accumulate_above(run, run->threshold, run->threshold == 0 ? count_not_zero : take_above);
}

uint64_t topk_band_top(double high, uint64_t k)
{
	double top = high * (double)k;

	return top < 0x1p63 ? (uint64_t)top : UINT64_C(1) << 63;
}

uint64_t topk_band_bottom(double low, uint64_t k)
{
	uint64_t bottom = topk_band_top(low, k);

	return bottom + ((double)bottom < low * (double)k);
}

/* Where few are not zero: zeros are not sent. */
static choir_status drop_zeros(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	list_keep(&run->selected, &run->types, (struct select_limit){ .key = 1, .ties = UINT64_MAX });
	run->step = run->agree;
	return CHOIR_SUCCESS;
}

/* Selects the entries that pass a threshold, if their number is in the band; else the largest, as many as the band's
 * bottom or top. */
static choir_status select_band(struct topk_run *run)
{
	const struct topk_reuse *reuse = &run->state->settings.reuse;
	uint64_t most = topk_band_top(reuse->high, run->k), least = topk_band_bottom(reuse->low, run->k);

	run->passed = run->found;
	least = least < run->types.n ? least : run->types.n;
	if (run->found >= least && run->found <= most)
		return select_above(run, run->threshold);
	run->tracking.local = run->threshold;
	return run->found > most ? take_largest(run, most, run->agree) : take_largest(run, least, drop_zeros);
}

/* Far too many pass: the threshold is raised before anything is sent; from zero it cannot be, nor past all. */
static choir_status raise(struct topk_run *run, struct script_turn *turn)
{
	double most = run->state->settings.reuse.probe * (double)run->k;

	if (run->threshold == 0)
		return from_zero(run, turn);
	if (run->tries > 0 && run->found == 0)
		return take_top(run, turn);
	if (most == 0 || run->tries == PROBES || (double)run->found <= most)
		return select_band(run);
	run->tries++;
	run->threshold *= 1.03;
	return count_above(run, run->threshold, raise);
}

static choir_status count_passed(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return count_above(run, run->threshold, raise);
}

choir_status topk_select_adapt(struct topk_run *run, struct script_turn *turn)
{
	run->passed = run->k;
	if (is_exact(run))
		return topk_select_top(run, turn);
	run->threshold = run->tracking.local;
	run->tries = 0;
	return accumulate_above(run, run->threshold, count_passed);
}

/* The mass of a normal distribution beyond -t and t. */
static double mass_beyond(const struct mean_std *m, double t)
{
	double scale = m->deviation * sqrt(2);

	return 0.5 * erfc((t - m->mean) / scale) + 0.5 * erfc((t + m->mean) / scale);
}

static double gaussian_threshold(const struct mean_std *m, double density)
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

static choir_status count_again(struct topk_run *run, struct script_turn *turn);

/* Lowered while too few pass, then raised while too many do.  The next thresholds are tried on candidates. */
static choir_status adjust(struct topk_run *run, struct script_turn *turn)
{
	double k = (double)run->k, found = (double)run->found;

	if (!run->rises && (run->tries == STEPS || found >= 0.75 * k)) {
		run->rises = true;
		run->tries = 0;
	}
	if (run->rises && (run->tries == STEPS || found <= 1.25 * k))
		return run->found > 0 ? select_above(run, run->threshold) : take_top(run, turn); /* not normal */
	run->tries++;
	run->threshold = run->rises ? run->threshold * 1.02 : run->threshold / 1.02;
	if (run->looked || candidates_have(run, limit_of(run, run->threshold).key))
		return count_above(run, run->threshold, adjust);
	run->looked = true;
	return run->on->collect(run, limit_of(run, run->rises ? run->threshold : run->threshold / LOWER).key,
	                        room_for(run), count_again);
}

static choir_status count_again(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return count_above(run, run->threshold, adjust);
}

static choir_status have_mean_std(struct topk_run *run, struct script_turn *turn)
{
	const struct mean_std *m = &run->mean_std;

	if (!isfinite(m->mean) || !isfinite(m->deviation) || m->deviation == 0)
		return take_top(run, turn); /* no normal distribution at all */
	run->threshold = gaussian_threshold(m, (double)run->k / (double)run->types.n);
	run->tries = 0;
	run->rises = run->looked = false;
	return count_above(run, run->threshold, adjust);
}

static choir_status take_mean_std(struct topk_run *run, struct script_turn *turn)
{
	return run->types.n > 0 ? run->on->mean_std(run, have_mean_std) : take_top(run, turn);
}

/* Collects the entries that pass the last call's threshold, and a little more; for a threshold below those acc is
 * counted. */
choir_status topk_select_gaussian(struct topk_run *run, struct script_turn *turn)
{
	double lowest = run->tracking.local / LOWER;

	(void)turn;
	if (isfinite(lowest) && lowest > 0)
		return accumulate_above(run, lowest, take_mean_std);
	return run->on->accumulate(run, take_mean_std);
}

/* Selects the entries that pass a sample's threshold, if these are not far more than k. */
static choir_status take_sampled(struct topk_run *run, struct script_turn *turn)
{
	const struct topk_candidates *found = &run->candidates;

	if (!found->complete || (double)found->list.count > 1.25 * (double)run->k)
		return take_top(run, turn);
	run->tracking.local = magnitude_value(run->types.work, found->least);
	run->step = run->agree;
	select_candidates(run);
	return CHOIR_SUCCESS;
}

choir_status topk_select_sampled(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return run->on->accumulate_sampled(run, run->k, room_for(run), take_sampled);
}

uint64_t topk_region_start(const struct topk_run *run, int c)
{
	return cut_even(run->types.n, (uint64_t)c, (uint64_t)run->env.layout->n);
}

/* k entries dealt to the chunks; the chunks that get one more change from call to call, so that no chunk is left out
 * for ever. */
uint64_t topk_chunk_room(const struct topk_run *run, int c)
{
	uint64_t ranks = (uint64_t)run->env.layout->n;

	return run->k / ranks + (((uint64_t)c + run->tracking.calls) % ranks < run->k % ranks);
}

/* The largest of the next chunk, behind what is selected; of the candidates if enough of them are of that chunk. */
static choir_status append_chunk(struct topk_run *run, struct script_turn *turn)
{
	const struct topk_types *types = &run->types;
	const struct topk_list *found = &run->candidates.list;
	int c = run->chunk++;
	uint64_t from = topk_region_start(run, c), n = topk_region_start(run, c + 1) - from, first = 0, end = 0, room;

	(void)turn;
	if (c == run->env.layout->n) {
		run->step = run->agree;
		return CHOIR_SUCCESS;
	}
	room = topk_chunk_room(run, c);
	room = room < n ? room : n;
	if (run->candidates.complete) {
		first = list_find(found, types, from);
		end = list_find(found, types, from + n);
	}
	if (end - first < room || room == 0)
		return run->on->find_top(run, from, n, room, append_chunk);
	run->step = append_chunk;
	list_append_largest(&run->selected, types, list_part(found, types, first, end), room);
	return CHOIR_SUCCESS;
}

static choir_status take_chunks(struct topk_run *run, struct script_turn *turn)
{
	TRY(list_take(&run->selected, &run->types, run->k));
	run->tracking.local = 0;
	run->chunk = 0;
	return append_chunk(run, turn);
}

choir_status topk_select_chunks(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return run->on->accumulate_top(run, run->k, take_chunks);
}
