/* SPDX-License-Identifier: MIT */
/* Which rank owns which indices, from samples: regions that cover the range and share the pairs out; and how a region
 * is written. */
#include "sparse/format.h"
#include "sparse/reference.h"
#include "sparse/region.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 16, PAIRS = 40000 };

/* A rank's ascending distinct indices. */
struct list {
	int64_t ind[PAIRS];
	uint64_t n;
};
static struct list lists[MOST];

/* Every index with a probability that falls with it, as in text; even: every one alike. */
static void draw(struct list *list, uint64_t *seed, uint64_t range, double share, int even)
{
	list->n = 0;
	for (uint64_t x = 0; x < range && list->n < PAIRS; x++) {
		double p = even ? share : fmin(1, share * 2000 / (double)(x + 1));

		if ((double)(reference_next(seed) >> 11) * 0x1p-53 < p)
			list->ind[list->n++] = (int64_t)x;
	}
}

static double imbalance(const uint64_t *bounds, int n)
{
	uint64_t most = 0, all = 0;

	for (int r = 0; r < n; r++) {
		uint64_t work = 0;

		for (int s = 0; s < n; s++)
			for (uint64_t i = 0; i < lists[s].n; i++)
				work +=
				    (uint64_t)lists[s].ind[i] >= bounds[r] && (uint64_t)lists[s].ind[i] < bounds[r + 1];
		most = work > most ? work : most;
		all += work;
	}
	return (double)most * n / (double)all;
}

/* The samples, from the ascending list or from the same one in disorder. */
static void sample(const struct list *list, bool raw, uint64_t *seed, struct sparse_header *header)
{
	static int64_t shuffled[PAIRS];
	struct pairs pairs = { .ind = list->ind, .count = list->n, .form = { .bytes = 8 } };

	header->pairs = list->n;
	if (!raw) {
		region_sample(&pairs, header);
		return;
	}
	for (uint64_t i = 0; i < list->n; i++) {
		uint64_t j = reference_next(seed) % (i + 1);

		shuffled[i] = shuffled[j];
		shuffled[j] = list->ind[i];
	}
	pairs.ind = shuffled;
	region_sample_raw(&pairs, header);
}

/* One rank with ten times the pairs, one with none, indices in the order of their frequency. */
static void shares_out(void **state)
{
	static const int sizes[] = { 2, 3, 5, 8, 16 };
	struct sparse_header headers[MOST];
	uint64_t bounds[MOST + 1], seed = 9;

	(void)state;
	for (int trial = 0; trial < 30; trial++) {
		bool raw = trial >= 20; /* which are read in place by few ranks only */
		int n = raw ? 2 + trial % 2 : sizes[trial % 5];
		double worst;

		for (int r = 0; r < n; r++) {
			draw(&lists[r], &seed, 100000, r == 1 ? 0.2 : r == 0 && n > 2 ? 0 : 0.02, trial % 4 == 3);
			sample(&lists[r], raw, &seed, &headers[r]);
		}
		assert_int_equal(region_cut(headers, n, (struct index_range){ 0, 99999 }, bounds), CHOIR_SUCCESS);
		assert_int_equal(bounds[0], 0);
		assert_int_equal(bounds[n], 100000);
		for (int r = 0; r < n; r++)
			assert_true(bounds[r] <= bounds[r + 1]);
		worst = imbalance(bounds, n);
		if (worst > 1.2)
			fail_msg("trial %d, %d ranks: imbalance %.3f", trial, n, worst);
	}
}

/* Fewer indices than ranks, one index, the highest there is. */
static void small_lists(void **state)
{
	struct sparse_header headers[4] = { { .pairs = 0 },
		                            { .pairs = 1, .sample = { INT64_MAX } },
		                            { .pairs = 2, .sample = { 3, INT64_MAX } } };
	uint64_t bounds[5];

	(void)state;
	assert_int_equal(region_cut(headers, 4, (struct index_range){ 3, INT64_MAX }, bounds), CHOIR_SUCCESS);
	assert_int_equal(bounds[0], 3);
	assert_true(bounds[4] == UINT64_C(1) << 63);
	for (int r = 0; r < 4; r++)
		assert_true(bounds[r] <= bounds[r + 1]);
	assert_true(index_range_is_empty(region_between((const uint64_t[]){ 5, 5 }, 0)));
}

/* Each format gives back what was written, within its bytes. */
static void formats(void **state)
{
	static const int64_t ends[] = { 0, 1, 62, 63, 64, 130, 500 };
	uint64_t seed = 4;

	(void)state;
	for (int trial = 0; trial < 200; trial++) {
		struct index_range range = { .lo = 7, .hi = 7 + ends[trial % 7] };
		struct index_form form = { .bytes = 8 };
		double share = trial % 3 == 0 ? 2 : 0.5;
		int64_t got[600];
		uint16_t rows[600], got_rows[600];

		draw(&lists[0], &seed, (uint64_t)ends[trial % 7] + 1, share, 1);
		for (uint64_t i = 0; i < lists[0].n; i++) {
			lists[0].ind[i] += 7;
			rows[i] = (uint16_t)reference_next(&seed);
		}
		for (enum format f = 0; f < N_FORMATS; f++) {
			struct pairs pairs = {
				.ind = lists[0].ind, .rows = (unsigned char *)rows, .count = lists[0].n, .form = form
			};
			uint64_t bytes = format_bytes(f, range, pairs.count, 2);
			unsigned char *message = malloc(bytes + 1);

			message[bytes] = 0x5a;
			format_write(f, range, &pairs, 2, message);
			format_read(f, range, pairs.count, 2, message, got, form, got_rows);
			assert_int_equal(message[bytes], 0x5a);
			assert_memory_equal(got, pairs.ind, pairs.count * 8);
			assert_memory_equal(got_rows, rows, pairs.count * 2);
			free(message);
		}
	}
}

static void the_shortest_format(void **state)
{
	struct index_range range = { 0, 6399 };

	(void)state;
	assert_int_equal(format_least(range, 10, 4), FORMAT_PAIRS);
	assert_int_equal(format_least(range, 1000, 4), FORMAT_BITMAP);
	assert_int_equal(format_least(range, 6399, 4), FORMAT_BITMAP);
	assert_int_equal(format_least(range, 6400, 4), FORMAT_DENSE);
	assert_int_equal(format_least(range, 0, 4), FORMAT_PAIRS);
	assert_true(format_bytes(FORMAT_DENSE, (struct index_range){ 0, INT64_MAX - 1 }, 1, 4) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_out),
		cmocka_unit_test(small_lists),
		cmocka_unit_test(formats),
		cmocka_unit_test(the_shortest_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
