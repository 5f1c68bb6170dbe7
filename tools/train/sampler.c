/* SPDX-License-Identifier: MIT */
#include "sampler.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>

choir_status sampler_init(struct sampler *sampler, const struct text *text, size_t n_wanted, uint64_t seed)
{
	size_t n = text->n_words;
	double log_range = log((double)n + 1);

	*sampler = (struct sampler){ .n_words = n, .n_candidates = 2 * n_wanted > n ? n : n_wanted, .seed = seed };
	sampler->log_not_drawn = malloc(n * sizeof *sampler->log_not_drawn);
	sampler->log_share = malloc(n * sizeof *sampler->log_share);
	sampler->seen = calloc(n, sizeof *sampler->seen);
	if (!sampler->log_not_drawn || !sampler->log_share || !sampler->seen) {
		sampler_fini(sampler);
		return fail_memory("the sampler", n * 20);
	}
	for (size_t k = 0; k < n; k++) {
		sampler->log_not_drawn[k] = log1p(-log1p(1.0 / ((double)k + 1)) / log_range);
		sampler->log_share[k] = (float)log((double)text->counts[k] / (double)text->n_tokens);
	}
	return CHOIR_SUCCESS;
}

void sampler_fini(struct sampler *sampler)
{
	free(sampler->log_not_drawn);
	free(sampler->log_share);
	free(sampler->seen);
	*sampler = (struct sampler){ 0 };
}

static void take_all(struct sampler *sampler, int32_t *candidates)
{
	for (size_t k = 0; k < sampler->n_words; k++)
		candidates[k] = (int32_t)k;
	sampler->n_tries = 0;
}

void sampler_draw(struct sampler *sampler, uint64_t step, int32_t *candidates)
{
	uint64_t state = random_stream(sampler->seed, RANDOM_CANDIDATES, step);
	double log_range = log((double)sampler->n_words + 1);
	size_t n = 0, tries = 0;

	if (sampler->n_candidates == sampler->n_words) {
		take_all(sampler, candidates);
		return;
	}
	for (size_t k = 0; k < sampler->n_words && step == 0; k++)
		sampler->seen[k] = 0; /* a run begins, maybe again */
	while (n < sampler->n_candidates) {
		size_t word = (size_t)exp(random_unit(&state) * log_range) - 1;

		tries++;
		if (word >= sampler->n_words || sampler->seen[word] == step + 1)
			continue; /* the first by rounding only */
		sampler->seen[word] = step + 1;
		candidates[n++] = (int32_t)word;
	}
	sampler->n_tries = (double)tries;
}

void sampler_bias(const struct sampler *sampler, const int32_t *words, size_t n, float *bias)
{
	for (size_t i = 0; i < n; i++) {
		int32_t word = words[i];
		/* the chance of being among the candidates: 1 - (1 - q)^tries */
		double drawn = sampler->n_tries > 0 ? -expm1(sampler->n_tries * sampler->log_not_drawn[word]) : 1;

		bias[i] = sampler->log_share[word] - (float)log(drawn);
	}
}
