/* SPDX-License-Identifier: MIT */
#include "sparse/region.h"

#include "base/arithmetic.h"
#include "sparse/pool.h"

/* Samples of an unsorted list: so many that the regions of ranks differ little. */
#define DRAWN 512

struct sample {
	uint64_t index;
	double weight; /* pairs that it stands for */
};

static uint64_t samples_of(const struct sparse_header *header)
{
	return header->pairs < HEADER_SAMPLES ? header->pairs : HEADER_SAMPLES;
}

void region_sample(const struct pairs *pairs, struct sparse_header *header)
{
	uint64_t n = pairs->count < HEADER_SAMPLES ? pairs->count : HEADER_SAMPLES;

	for (uint64_t j = 0; j < n; j++) {
		uint64_t at = pairs->count / n * j + pairs->count % n * j / n;

		header->sample[j] = index_at(pairs->ind, pairs->form, at + pairs->count / n / 2);
	}
}

/* Stable, by 8 bits of the value. */
static void sort_digit(const int64_t *from, int64_t *to, uint64_t n, unsigned shift)
{
	uint32_t start[257] = { 0 };

	for (uint64_t i = 0; i < n; i++)
		start[(from[i] >> shift & 255) + 1]++;
	for (int d = 0; d < 256; d++)
		start[d + 1] += start[d];
	for (uint64_t i = 0; i < n; i++)
		to[start[from[i] >> shift & 255]++] = from[i];
}

/* Draws a pair at an irregular position of each of DRAWN equal parts: evenly spaced pairs might be of one kind. */
void region_sample_raw(const struct pairs *pairs, struct sparse_header *header)
{
	uint64_t n = pairs->count < DRAWN ? pairs->count : DRAWN, end = 0;
	int64_t drawn[2][DRAWN], all = 0;
	int side = 0;

	for (uint64_t j = 0; j < n; j++) {
		uint64_t from = end, hash = hash_spread(j) >> 32;

		end = n < DRAWN ? j + 1 : pairs->count * (j + 1) / DRAWN;
		drawn[0][j] = index_at(pairs->ind, pairs->form, from + (hash * (end - from) >> 32));
		all |= drawn[0][j];
	}
	for (unsigned shift = 0; shift < 64 && all >> shift != 0; shift += 8, side ^= 1)
		sort_digit(drawn[side], drawn[side ^ 1], n, shift);
	region_sample(&(struct pairs){ .ind = drawn[side], .count = n, .form = { .bytes = sizeof(int64_t) } }, header);
}

static void merge(struct sample *to, const struct sample *a, uint64_t n_a, const struct sample *b, uint64_t n_b)
{
	uint64_t i = 0, j = 0;

	while (i < n_a || j < n_b)
		*to++ = j == n_b || (i < n_a && a[i].index <= b[j].index) ? a[i++] : b[j++];
}

/* Merges the ranks' samples, ascending runs of HEADER_SAMPLES entries, two by two.  Returns the array that holds the
 * result. */
static struct sample *sort_runs(struct sample *from, struct sample *to, uint64_t n)
{
	for (uint64_t run = HEADER_SAMPLES; run < n; run *= 2) {
		struct sample *swap = from;

		for (uint64_t at = 0; at < n; at += 2 * run) {
			uint64_t mid = at + run < n ? at + run : n, end = at + 2 * run < n ? at + 2 * run : n;

			merge(to + at, from + at, mid - at, from + mid, end - mid);
		}
		from = to;
		to = swap;
	}
	return from;
}

/* Collects the samples of all ranks; entries of weight 0 fill the runs of short lists. */
static double collect(const struct sparse_header *all, int n, struct sample *out)
{
	double whole = 0;

	for (int r = 0; r < n; r++) {
		uint64_t some = samples_of(&all[r]);

		whole += (double)all[r].pairs;
		for (uint64_t j = 0; j < HEADER_SAMPLES; j++)
			*out++ = j < some ? (struct sample){ .index = (uint64_t)all[r].sample[j],
				                             .weight = (double)all[r].pairs / (double)some }
			                  : (struct sample){ .index = UINT64_MAX };
	}
	return whole;
}

/* The index below which `target` pairs lie, if they are evenly spread between two samples. */
static uint64_t cut_at(const struct sample *samples, uint64_t n, double target, uint64_t *at, double *before)
{
	double here, next, share;

	while (*at + 1 < n && samples[*at + 1].weight > 0 &&
	       *before + samples[*at].weight + samples[*at + 1].weight / 2 < target)
		*before += samples[(*at)++].weight;
	here = *before + samples[*at].weight / 2;
	if (target <= here || *at + 1 == n || samples[*at + 1].weight == 0)
		return samples[*at].index + (target > here);
	next = *before + samples[*at].weight + samples[*at + 1].weight / 2;
	share = (target - here) / (next - here);
	return samples[*at].index + 1 + (uint64_t)(share * (double)(samples[*at + 1].index - samples[*at].index));
}

choir_status region_cut(const struct sparse_header *all, int n, struct index_range range, uint64_t *bounds)
{
	uint64_t total = (uint64_t)n * HEADER_SAMPLES, at = 0;
	struct pool_block block;
	struct sample *samples;
	double whole, before = 0;

	TRY(pool_take(&block, 2 * total * sizeof *samples, "the samples of all ranks"));
	samples = block.ptr;
	whole = collect(all, n, samples);
	samples = sort_runs(samples, samples + total, total);
	bounds[0] = (uint64_t)range.lo;
	bounds[n] = (uint64_t)range.hi + 1;
	for (int r = 1; r < n; r++) {
		uint64_t bound = cut_at(samples, total, whole / n * r, &at, &before);

		bound = bound < bounds[r - 1] ? bounds[r - 1] : bound;
		bounds[r] = bound > bounds[n] ? bounds[n] : bound;
	}
	pool_give(&block);
	return CHOIR_SUCCESS;
}
