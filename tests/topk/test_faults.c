/* SPDX-License-Identifier: MIT */
/* Each fault that a reference code of this family had, as a case of the law. */
#include "quick.h"
#include "topk/law.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int fewer(int calls)
{
	return quick_wanted() ? (calls + 4) / 5 : calls;
}

static struct law law_of(int algorithm, int ranks, size_t count, size_t k, float (*value)(int, int, size_t))
{
	struct law law = { .config = law_config(law_algorithms[algorithm], count, k), .ranks = ranks, .value = value };

	law.device = algorithm % 2 == 0;
	return law;
}

/* Every algorithm on so many ranks. */
static void each(int ranks, size_t count, size_t k, int calls, float (*value)(int, int, size_t))
{
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		struct law law = law_of(a, ranks, count, k, value);

		law.calls = fewer(calls);
		law_holds(&law);
	}
}

static float on_even_ranks(int rank, int call, size_t i)
{
	return rank % 2 == 0 ? (float)((i * 7 + (size_t)call) % 13) - 6 : 0;
}

static float nowhere(int rank, int call, size_t i)
{
	(void)rank, (void)call, (void)i;
	return 0;
}

static float all_the_same(int rank, int call, size_t i)
{
	(void)rank, (void)call;
	return i % 2 ? 3 : -3;
}

static float in_one_corner(int rank, int call, size_t i)
{
	return i < 20 ? (float)((i * 5 + (size_t)rank + (size_t)call) % 9) - 4 : 0;
}

/* All ranks' entries are the same positions: what is merged must be added. */
static float same_places(int rank, int call, size_t i)
{
	return (i + (size_t)call) % 17 == 0 ? (float)(10 + rank) : (float)(i % 3 == 0);
}

/* Opposite on two ranks: sums of zero. */
static float cancels(int rank, int call, size_t i)
{
	float x = (float)((i + (size_t)call) % 5);

	return rank % 2 ? -x : x;
}

static void one_rank(void **state)
{
	(void)state;
	each(1, 100, 7, 70, same_places);
}

static void ranks_no_power_of_two(void **state)
{
	static const int ranks[] = { 3, 5, 6, 7 };

	(void)state;
	for (int i = 0; i < 4; i++)
		each(ranks[i], 64, 9, 10, same_places);
}

static void none_selected_on_some_ranks(void **state)
{
	(void)state;
	each(4, 90, 8, 40, on_even_ranks);
}

static void none_selected_on_any(void **state)
{
	(void)state;
	each(3, 90, 8, 36, nowhere);
}

static void fewer_elements_than_ranks(void **state)
{
	(void)state;
	each(8, 3, 1, 40, same_places);
	each(5, 1, 1, 40, same_places);
	each(3, 0, 0, 3, same_places);
}

/* A density of which not one whole entry is left is one entry; k = 0 in the config asks for the density. */
static void no_whole_entry(void **state)
{
	(void)state;
	each(3, 50, 0, 40, same_places);
	assert_int_equal(law_stats().k, 1);
}

static void common_indices_are_added(void **state)
{
	(void)state;
	each(4, 64, 9, 10, same_places);
	each(8, 64, 9, 10, same_places);
}

static void ties_at_the_threshold(void **state)
{
	(void)state;
	each(4, 120, 11, 70, all_the_same);
}

/* All magnitudes of the second call are those of the first one's threshold: k of them are sent all the same. */
static void ties_are_selected(void **state)
{
	enum { K = 11 };

	(void)state;
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		struct law law = law_of(a, 3, 120, K, all_the_same);

		law.calls = 2;
		law.config.decay = 0;
		law_holds(&law);
		if (law_stats().selected < K)
			fail_msg("%s selected %d of %d", law_algorithms[a], (int)law_stats().selected, K);
	}
}

static void sums_of_zero(void **state)
{
	(void)state;
	each(4, 60, 10, 40, cancels);
	each(2, 60, 10, 70, cancels);
}

static void regions_out_of_balance(void **state)
{
	(void)state;
	each(6, 400, 15, 130, in_one_corner);
}

static void k_is_everything(void **state)
{
	(void)state;
	each(3, 30, 30, 36, same_places);
}

/* Later calls have a larger k than the first. */
static void larger_k_later(void **state)
{
	static const double densities[] = { 0.01, 0.5, 0.05, 1 };

	(void)state;
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		struct law law = { .config = law_config(law_algorithms[a], 150, 0), .ranks = 3, .calls = fewer(40) };

		law.config.densities = densities;
		law.config.n_densities = 4;
		law.config.calls_per_density = (size_t)fewer(9);
		law_holds(&law);
		assert_int_equal(law_stats().k, 150);
	}
}

/* Above 2^24, where a float index would be another one: some places on both ranks, some on one. */
enum { BEYOND = (1 << 24) + 90, COMMON = 5, OWN = 3, PLACES = COMMON + 2 * OWN, SENT = 32 };
static const size_t places[PLACES] = { 1, 3, 21, 33, 51, 5, 61, 89, 11, 65, 87 };

static float given(int rank, int place)
{
	bool here = place < COMMON || (place - COMMON) / OWN == rank;

	return here ? (float)(place + 1 + 100 * rank) : 0;
}

/* Every place has the sum of what the ranks gave, nothing else has anything, and nothing is left. */
static void check_beyond(struct world *world, int rank, const char *name, float *result, const float *left)
{
	for (int p = 0; p < PLACES; p++) {
		float *at = &result[(1 << 24) + places[p]], wanted = given(0, p) + given(1, p);

		if (*at != wanted)
			world_fail(world, rank, "%s: %g at 2^24 + %zu, not %g", name, (double)*at, places[p],
			           (double)wanted);
		*at = 0;
	}
	for (size_t i = 0; i < BEYOND; i++)
		if (result[i] != 0 || left[i] != 0) {
			world_fail(world, rank, "%s: %g in the result, %g left at %zu", name, (double)result[i],
			           (double)left[i], i);
			return;
		}
}

/* One of each way in which indices travel: in one buffer with the values, in a tree's blocks; apart, as regions and by
 * chunks only where the program runs as it is. */
static bool is_wanted_beyond(const char *name)
{
	static const char *const names[] = { "gaussiank-concat", "gtopk", "topka", "topk-sa", "oktopk", "spardl" };
	int wanted = quick_wanted() || getenv("CHOIR_CLASS") != NULL ? 2 : 6;

	for (int i = 0; i < wanted; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void beyond_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	float *grad = calloc(BEYOND, sizeof *grad), *result = malloc(BEYOND * sizeof *result),
	      *left = malloc(BEYOND * sizeof *left);

	(void)arg;
	for (int p = 0; p < PLACES; p++)
		grad[(1 << 24) + places[p]] = given(rank, p);
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		choir_topk_config config = law_config(law_algorithms[a], BEYOND, SENT);
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;
		choir_topk_state *state;

		if (!is_wanted_beyond(law_algorithms[a]))
			continue;
		out.dense = choir_host(result);
		OK(choir_topk_create(comm, &config, &state));
		if (OK(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL)) &&
		    OK(choir_topk_residual(state, left)))
			check_beyond(world, rank, law_algorithms[a], result, left);
		choir_topk_destroy(state);
	}
	free(grad);
	free(result);
	free(left);
}

static void indices_beyond_floats(void **state)
{
	(void)state;
	world_run_at(2, 0, 60000, beyond_rank, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_rank),
		cmocka_unit_test(ranks_no_power_of_two),
		cmocka_unit_test(none_selected_on_some_ranks),
		cmocka_unit_test(none_selected_on_any),
		cmocka_unit_test(fewer_elements_than_ranks),
		cmocka_unit_test(no_whole_entry),
		cmocka_unit_test(common_indices_are_added),
		cmocka_unit_test(ties_at_the_threshold),
		cmocka_unit_test(ties_are_selected),
		cmocka_unit_test(sums_of_zero),
		cmocka_unit_test(regions_out_of_balance),
		cmocka_unit_test(k_is_everything),
		cmocka_unit_test(larger_k_later),
		cmocka_unit_test(indices_beyond_floats),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	memory_drop();
	world_device_drop();
	return failed;
}
