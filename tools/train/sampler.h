/* SPDX-License-Identifier: MIT */
/* The candidates of the sampled softmax (Jean et al. 2015; the sampler is TensorFlow's
 * log_uniform_candidate_sampler). */
#ifndef TRAIN_SAMPLER_H
#define TRAIN_SAMPLER_H

#include "text.h"

/* Word k (ids are in order of frequency) is drawn with q(k) = log((k + 2) / (k + 1)) / log(V + 1), again and again
 * until there are n_candidates different words.  A vocabulary of less than twice that is taken whole: the softmax is
 * then exact. */
struct sampler {
	size_t n_words, n_candidates;
	uint64_t seed;
	double *log_not_drawn; /* [n_words] log(1 - q) */
	/* [n_words] log(count / all): the fixed output bias, so that learning starts from the unigram model */
	float *log_share;
	uint64_t *seen; /* [n_words] 1 + the last step that drew the word */
	double n_tries; /* of the last draw; 0 = everything was taken */
};

/* sampler_init: n_wanted candidates a step, or the whole vocabulary (n_candidates says). */
choir_status sampler_init(struct sampler *sampler, const struct text *text, size_t n_wanted, uint64_t seed);
void sampler_fini(struct sampler *sampler);

/* sampler_draw: the candidates of a step, n_candidates different words, the same on every rank. */
void sampler_draw(struct sampler *sampler, uint64_t step, int32_t *candidates);

/* sampler_bias: what is added to the logits of words after the last draw: log_share - log(expected times of being
 * drawn). */
void sampler_bias(const struct sampler *sampler, const int32_t *words, size_t n, float *bias);

#endif
