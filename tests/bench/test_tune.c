/* SPDX-License-Identifier: MIT */
/* From times to rules: borders, hysteresis, and what needs symmetric memory. */
#include "bench/tune/tune.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A size with its times; 0 = the algorithm could not run. */
struct times {
	size_t bytes;
	double us[3];
};

static void add(struct results *results, const char *collective, const char *memory, const char *const names[3],
                const struct times *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int a = 0; a < 3; a++) {
			struct result row = { .collective = collective,
				              .memory = memory,
				              .bytes = 3 * t[i].bytes,
				              .rule_bytes = t[i].bytes,
				              .us.p50 = t[i].us[a] };

			if (t[i].us[a] == 0)
				continue;
			snprintf(row.algorithm, sizeof row.algorithm, "%s", names[a]);
			results_add(results, &row);
		}
}

static void expect(const struct results *results, const char *expected)
{
	const struct tune_place place = { .ranks = 4, .nodes = 2, .device = "a device", .iterations = 20 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);
	const char *rules;

	assert_non_null(to);
	tune_write(to, results, &place);
	fclose(to);
	rules = strchr(strchr(text, '\n') + 1, '\n') + 1; /* behind the two lines of comment */
	if (strcmp(rules, expected) != 0)
		fail_msg("got\n%sinstead of\n%s", rules, expected);
	free(text);
}

static const char *const names[] = { "oneshot", "twoshot", "direct" };

static void borders_lie_between_the_sizes(void **state)
{
	static const struct times t[] = {
		{ 64, { 1, 2, 0 } },
		{ 1024, { 2, 3, 0 } },
		{ 16384, { 9, 8, 0 } },
		{ 1 << 20, { 0, 50, 0 } },
	};
	struct results results = { 0 };

	(void)state;
	add(&results, "allreduce", "device", names, t, 4);
	add(&results, "allgather", "device", names, t, 2);
	expect(&results,
	       "allreduce:\n\t# device memory\n\tranks=4 & nodes=2 & 0-4k oneshot\n\tranks=4 & nodes=2 & 4k- twoshot\n"
	       "allgather:\n\t# device memory\n\tranks=4 & nodes=2 & 0- oneshot\n");
	results_fini(&results);
}

static void small_gains_and_single_rows_change_nothing(void **state)
{
	static const struct times t[] = {
		{ 64, { 1, 2, 0 } },    { 256, { 1, 0.97, 0 } },  /* not a twentieth */
		{ 1024, { 4, 2, 0 } },  { 4096, { 4, 5, 0 } },    /* once only */
		{ 16384, { 9, 7, 0 } }, { 65536, { 20, 10, 0 } }, /* this holds */
	};
	struct results results = { 0 };

	(void)state;
	add(&results, "allreduce", "host", names, t, 6);
	expect(&results,
	       "allreduce:\n\t# host memory\n\tranks=4 & nodes=2 & 0-8k oneshot\n\tranks=4 & nodes=2 & 8k- twoshot\n");
	results_fini(&results);
}

static void symmetric_rules_are_for_what_needs_it(void **state)
{
	static const struct times shared[] = { { 64, { 1, 2, 3 } }, { 4096, { 3, 3, 1 } }, { 65536, { 30, 30, 5 } } };
	static const struct times plain[] = { { 64, { 1, 2, 0 } }, { 4096, { 3, 4, 0 } }, { 65536, { 30, 20, 0 } } };
	struct results results = { 0 };

	(void)state;
	add(&results, "allreduce", "symmetric", names, shared, 3);
	add(&results, "broadcast", "symmetric", names, plain, 3);
	add(&results, "allreduce", "device", names, plain, 3);
	add(&results, "broadcast", "device", names, plain, 3);
	expect(&results, "allreduce:\n\t# symmetric memory\n\tranks=4 & nodes=2 & 512- direct\n\t# device memory\n"
	                 "\tranks=4 & nodes=2 & 0-16k oneshot\n\tranks=4 & nodes=2 & 16k- twoshot\n"
	                 "broadcast:\n\t# symmetric memory\n\t# device memory\n"
	                 "\tranks=4 & nodes=2 & 0-16k oneshot\n\tranks=4 & nodes=2 & 16k- twoshot\n");
	results_fini(&results);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(borders_lie_between_the_sizes),
		cmocka_unit_test(small_gains_and_single_rows_change_nothing),
		cmocka_unit_test(symmetric_rules_are_for_what_needs_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
