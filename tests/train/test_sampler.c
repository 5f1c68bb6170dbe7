/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "train/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_WORDS      200
#define N_CANDIDATES 40

/* A text of which only the counts matter. */
static struct text counts_only(int64_t *counts)
{
	struct text text = { .n_words = N_WORDS, .counts = counts };

	for (size_t k = 0; k < N_WORDS; k++) {
		counts[k] = 1000 / (int64_t)(k + 1) + 1;
		text.n_tokens += (size_t)counts[k];
	}
	return text;
}

static void test_different_and_repeatable(void **state)
{
	int64_t counts[N_WORDS];
	struct text text = counts_only(counts);
	struct sampler one, two;
	int32_t first[N_CANDIDATES], again[N_CANDIDATES];

	(void)state;
	assert_int_equal(sampler_init(&one, &text, N_CANDIDATES, 5), CHOIR_SUCCESS);
	assert_int_equal(sampler_init(&two, &text, N_CANDIDATES, 5), CHOIR_SUCCESS);
	assert_int_equal(one.n_candidates, N_CANDIDATES);
	for (uint64_t step = 0; step < 20; step++) {
		int seen[N_WORDS] = { 0 };

		sampler_draw(&one, step, first);
		for (size_t i = 0; i < N_CANDIDATES; i++) {
			assert_in_range(first[i], 0, N_WORDS - 1);
			assert_int_equal(seen[first[i]]++, 0);
		}
		if (step != 13)
			continue;
		sampler_draw(&two, step, again); /* its first draw: the step alone decides */
		assert_memory_equal(first, again, sizeof first);
		assert_true(one.n_tries == two.n_tries);
	}
	sampler_fini(&one);
	sampler_fini(&two);
}

/* exp(log share - bias) is the chance that a word is drawn: compared with how often it is.  It is an estimate from the
 * number of tries, hence the tolerance. */
static void test_bias_is_the_chance(void **state)
{
	int64_t counts[N_WORDS];
	struct text text = counts_only(counts);
	struct sampler sampler;
	double drawn[N_WORDS] = { 0 }, expected[N_WORDS] = { 0 };
	int32_t candidates[N_CANDIDATES], words[N_WORDS];
	float bias[N_WORDS];
	int n_draws = 4000;

	(void)state;
	assert_int_equal(sampler_init(&sampler, &text, N_CANDIDATES, 5), CHOIR_SUCCESS);
	for (int32_t k = 0; k < N_WORDS; k++)
		words[k] = k;
	for (int step = 0; step < n_draws; step++) {
		sampler_draw(&sampler, (uint64_t)step, candidates);
		sampler_bias(&sampler, words, N_WORDS, bias);
		for (size_t i = 0; i < N_CANDIDATES; i++)
			drawn[candidates[i]] += 1.0 / n_draws;
		for (size_t k = 0; k < N_WORDS; k++)
			expected[k] += (double)counts[k] / (double)text.n_tokens / exp(bias[k]) / n_draws;
	}
	for (size_t k = 0; k < N_WORDS; k++)
		assert_true(fabs(drawn[k] - expected[k]) < 0.03 + 0.05 * expected[k]);
	assert_true(drawn[0] > 0.95 && drawn[N_WORDS - 1] < 0.15);
	sampler_fini(&sampler);
}

/* Asked for more than half of the words it gives all of them, without correction. */
static void test_whole_vocabulary(void **state)
{
	int64_t counts[N_WORDS];
	struct text text = counts_only(counts);
	struct sampler sampler;
	int32_t candidates[N_WORDS];
	float bias[N_WORDS];
	double sum = 0;

	(void)state;
	assert_int_equal(sampler_init(&sampler, &text, N_WORDS / 2 + 1, 5), CHOIR_SUCCESS);
	assert_int_equal(sampler.n_candidates, N_WORDS);
	sampler_draw(&sampler, 3, candidates);
	sampler_bias(&sampler, candidates, N_WORDS, bias);
	for (int k = 0; k < N_WORDS; k++) {
		assert_int_equal(candidates[k], k);
		sum += exp(bias[k]);
	}
	assert_true(fabs(sum - 1) < 1e-5); /* the unigram model */
	sampler_fini(&sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_different_and_repeatable),
		cmocka_unit_test(test_bias_is_the_chance),
		cmocka_unit_test(test_whole_vocabulary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
