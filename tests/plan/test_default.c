/* SPDX-License-Identifier: MIT */
/* The built-in rules against the cost model: the chosen algorithm's predicted time is at most 1.3 times the best, also
 * of random calls, on nodes of which the last may have fewer ranks.  Each of these is a seed, which a failure prints:
 * from CHOIR_TEST_SEED, or 1, on.
 *
 * usage: test_plan_default [NUMBER]: so many of them. */
#include <choir/plan.h>

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORST_RATIO 1.3
/* Longer calls of many ranks are left out: their simulation takes seconds. */
#define LONG_BYTES 2097152
static unsigned n_random = 400;

static const char *const collectives[] = {
	"allreduce", "reduce_scatter", "reduce_scatterv", "allgather", "allgatherv", "alltoall",
	"alltoallv", "broadcast",      "reduce",          "gather",    "gatherv",    "scatter",
	"scatterv",  "scan",           "exscan",          "barrier",
};

static double predicted_us(choir_plan_options o, const char *algorithm)
{
	choir_plan_prediction p = { .struct_size = sizeof p };

	o.algorithm = algorithm;
	if (choir_plan_predict(&o, NULL, &p, NULL) != CHOIR_SUCCESS)
		fail_msg("%s by %s: %s", o.collective, algorithm, choir_last_error());
	return p.seconds * 1e6;
}

/* Compares the choice with every algorithm of the call, or with those of the list (NULL-terminated) alone.  Returns 1
 * if the best is too far away. */
static unsigned compare(const choir_plan_options *o, const char *const *rivals)
{
	const char *chosen = NULL, *best = NULL;
	double chosen_us = 0, best_us = 0;
	bool is_near;
	json_t *list, *entry;
	char *text;
	size_t i;

	assert_int_equal(choir_plan_algorithms(o, &text), CHOIR_SUCCESS);
	list = json_loads(text, 0, NULL);
	free(text);
	json_array_foreach(list, i, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "name"));
		bool is_chosen = json_is_true(json_object_get(entry, "chosen")), is_rival = rivals == NULL;
		double us;

		for (size_t r = 0; rivals != NULL && rivals[r] != NULL; r++)
			is_rival |= strcmp(name, rivals[r]) == 0;
		if (!json_is_null(json_object_get(entry, "unfit")) || (!is_chosen && !is_rival))
			continue;
		us = predicted_us(*o, name);
		if (best == NULL || us < best_us) {
			best = name;
			best_us = us;
		}
		if (is_chosen) {
			chosen = name;
			chosen_us = us;
		}
	}
	assert_non_null(chosen);
	is_near = chosen_us <= WORST_RATIO * best_us;
	if (!is_near)
		print_error("%s, %d ranks, %d a node%s%s, %zu bytes: %s %.1f us, but %s %.1f us\n", o->collective,
		            o->ranks, o->ranks_per_node, o->shared ? ", shared" : "",
		            o->order_ranks ? ", in rank order" : "", o->bytes, chosen, chosen_us, best, best_us);
	json_decref(list);
	return !is_near;
}

static choir_plan_options options_of(const char *collective, int ranks, int per_node, size_t bytes)
{
	choir_plan_options o = CHOIR_PLAN_OPTIONS_INIT;
	bool blocks = strncmp(collective, "reduce_scatter", 14) == 0 || strncmp(collective, "all", 3) == 0 ||
	              strncmp(collective, "gather", 6) == 0 || strncmp(collective, "scatter", 7) == 0;

	if (strcmp(collective, "allreduce") == 0)
		blocks = false;
	o.collective = collective;
	o.ranks = ranks;
	o.ranks_per_node = per_node;
	o.dtype = CHOIR_F32;
	o.bytes = blocks ? (bytes / (size_t)o.ranks + 3) / 4 * 4 : bytes;
	if (strcmp(collective, "barrier") == 0)
		o.bytes = 0;
	return o;
}

static void choices_are_near_the_best(void **state)
{
	static const int layouts[][2] = { { 1, 2 }, { 1, 3 }, { 1, 4 }, { 1, 8 }, { 1, 16 }, { 1, 32 }, { 2, 1 },
		                          { 3, 1 }, { 4, 1 }, { 5, 1 }, { 6, 1 }, { 8, 1 },  { 12, 1 }, { 16, 1 },
		                          { 2, 2 }, { 2, 3 }, { 2, 8 }, { 3, 2 }, { 4, 4 },  { 16, 4 } };
	static const size_t sizes[] = { 4, 512, 1024, 4096, 8192, 16384, 65536, 262144, LONG_BYTES, 4000000, 16777216 };
	unsigned n_bad = 0;

	(void)state;
	for (size_t c = 0; c < sizeof collectives / sizeof *collectives; c++)
		for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
			for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
				choir_plan_options o =
				    options_of(collectives[c], layouts[l][0] * layouts[l][1], layouts[l][1], sizes[s]);

				if ((strcmp(collectives[c], "barrier") == 0 && s > 0) ||
				    (sizes[s] > LONG_BYTES && o.ranks > (layouts[l][0] == 1 ? 16 : 8)))
					continue;
				n_bad += compare(&o, NULL);
				o.shared = layouts[l][0] == 1;
				if (o.shared)
					n_bad += compare(&o, NULL);
			}
	assert_int_equal(n_bad, 0);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* 0 to n - 1, another one for each call. */
static int draw(uint64_t *state, int n)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return (int)(mix(*state) % (uint64_t)n);
}

/* Any number of ranks and bytes; the last node may have fewer ranks.  ordered: a reduction in rank order. */
static choir_plan_options random_options(uint64_t seed, bool ordered)
{
	static const char *const folds[] = { "allreduce", "reduce_scatter", "reduce_scatterv",
		                             "reduce",    "scan",           "exscan" };
	uint64_t state = mix(seed);
	const char *collective = ordered ? folds[draw(&state, sizeof folds / sizeof *folds)]
	                                 : collectives[draw(&state, sizeof collectives / sizeof *collectives)];
	int ranks = 2 + draw(&state, 30), nodes = 1 + draw(&state, ranks < 8 ? ranks : 8);
	int octave = draw(&state, 20);
	size_t bytes = (((size_t)1 << octave) + (size_t)draw(&state, 1 << octave)) * 4;
	choir_plan_options o = options_of(collective, ranks, (ranks + nodes - 1) / nodes, bytes);

	o.shared = nodes == 1 && draw(&state, 2) == 1;
	o.order_ranks = ordered;
	return o;
}

static void random_choices_are_near_the_best(void **state)
{
	const char *text = getenv("CHOIR_TEST_SEED");
	uint64_t first = text != NULL ? strtoull(text, NULL, 10) : 1;
	unsigned n_bad = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * n_random; i++) {
		choir_plan_options o = random_options(first + i / 2, i % 2 == 1);

		if (compare(&o, NULL) == 0)
			continue;
		print_error("CHOIR_TEST_SEED=%llu\n", (unsigned long long)(first + i / 2));
		n_bad++;
	}
	assert_int_equal(n_bad, 0);
}

/* Of allreduce and of blocks the rivals alone: the others take a thousand rounds there. */
static void a_thousand_nodes(void **state)
{
	static const char *const rivals[] = { "recursive_doubling", "halving_doubling", "pairwise",
		                              "binomial",           "knomial",          NULL };
	static const struct {
		const char *collective;
		size_t bytes;
	} calls[] = { { "allreduce", 4096 },    { "allreduce", 2097152 },
		      { "broadcast", 4096 },    { "reduce_scatter", 2097152 },
		      { "allgather", 2097152 }, { "broadcast", 2097152 },
		      { "gather", 4000 },       { "gather", 2048000 },
		      { "scatter", 4000 },      { "scatter", 2048000 },
		      { "reduce", 64 },         { "reduce", 2048 } };
	unsigned n_bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		choir_plan_options o = options_of(calls[i].collective, 1000, 1, calls[i].bytes);

		n_bad += compare(&o, rivals);
	}
	assert_int_equal(n_bad, 0);
}

/* Each rank has a message for each other one: a thousand of them take a minute. */
static void pairs_of_a_hundred(void **state)
{
	static const char *const collectives_of_pairs[] = { "alltoall", "scan", "exscan" };
	static const size_t sizes[] = { 64, 4096, 1 << 20 };
	unsigned n_bad = 0;

	(void)state;
	for (size_t c = 0; c < sizeof collectives_of_pairs / sizeof *collectives_of_pairs; c++)
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			choir_plan_options o = options_of(collectives_of_pairs[c], 100, 1, sizes[s]);

			n_bad += compare(&o, NULL);
		}
	assert_int_equal(n_bad, 0);
}

static bool chooses(const choir_plan_options *o, const char *algorithm)
{
	bool chosen = false;
	json_t *list, *entry;
	char *text;
	size_t i;

	assert_int_equal(choir_plan_algorithms(o, &text), CHOIR_SUCCESS);
	list = json_loads(text, 0, NULL);
	free(text);
	json_array_foreach(list, i, entry) if (json_is_true(json_object_get(entry, "chosen"))) chosen =
	    strcmp(json_string_value(json_object_get(entry, "name")), algorithm) == 0;
	json_decref(list);
	return chosen;
}

/* Of long calls of the largest worlds the times stay below 2^64 ns: what is slow for less is not fast for more. */
static void times_do_not_overflow(void **state)
{
	(void)state;
	for (size_t bytes = (size_t)1 << 30; bytes <= (size_t)1 << 37; bytes *= 2) {
		choir_plan_options o = options_of("allreduce", 2 * 8192, 8192, bytes);

		assert_true(chooses(&o, "hier_ring"));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(choices_are_near_the_best), cmocka_unit_test(random_choices_are_near_the_best),
		cmocka_unit_test(a_thousand_nodes),          cmocka_unit_test(pairs_of_a_hundred),
		cmocka_unit_test(times_do_not_overflow),
	};

	if (argc > 1)
		n_random = (unsigned)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
