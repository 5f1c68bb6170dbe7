/* SPDX-License-Identifier: MIT */
/* Times made of known constants give them back; what no row tells stays as it was. */
#include "bench/tune/tune_costs.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double before[SPARSE_TERMS] = { 8000, 0.15, 0.2, 6, 0.15 };

/* Jobs of four algorithms each; what a job's rows have in common grows with it. */
static void fill(struct results *results, const double ns[SPARSE_TERMS], const char *link, double bytes_folded)
{
	for (int job = 1; job <= 5; job++)
		for (int way = 0; way < 4; way++) {
			double k = 400 * job * job;
			struct result row = { .collective = "sparse_allreduce",
				              .kind = RESULT_SPARSE,
				              .memory = "host",
				              .bytes = (size_t)(12 * k),
				              .sparse = { .link = link,
				                          .width = 1,
				                          .range = 1000,
				                          .terms = { 2 + 3 * way, k * (way % 2 == 1 ? 300 : 20),
				                                     k * way * way * 10, k * (4 - way),
				                                     bytes_folded * way } } };

			row.us.p50 = 20 + 3 * job;
			for (int t = 0; t < SPARSE_TERMS; t++)
				row.us.p50 += row.sparse.terms[t] * ns[t] / 1000;
			results_add(results, &row);
		}
}

static void expect_near(double got, double want, double share)
{
	if (fabs(got - want) > share * want)
		fail_msg("%g instead of %g", got, want);
}

static void differences_are_found(void **state)
{
	static const double made_of[SPARSE_TERMS] = { 12000, 0.3, 0.5, 9, 0.15 };
	struct results results = { 0 };
	double ns[SPARSE_TERMS];

	(void)state;
	fill(&results, made_of, "shared", 0);
	tune_costs_fit(&results, "shared", before, ns);
	/* What decides: how much longer one algorithm takes than the other of its job. */
	for (size_t i = 1; i < results.n; i++) {
		const struct result *row = &results.rows[i], *last = row - 1;
		double error = 0;

		for (int t = 0; t < SPARSE_TERMS && i % 4 != 0; t++)
			error += (row->sparse.terms[t] - last->sparse.terms[t]) * (ns[t] - made_of[t]) / 1000;
		if (fabs(error) > 0.02 * row->us.p50)
			fail_msg("row %zu: %g us of %g", i, error, row->us.p50);
	}
	expect_near(ns[0], 12000, 0.05);
	expect_near(ns[4], 0.15, 1e-9); /* nothing was folded */
	tune_costs_fit(&results, "node", before, ns);
	for (int t = 0; t < SPARSE_TERMS; t++)
		expect_near(ns[t], before[t], 1e-9);
	results_fini(&results);
}

/* Faster than any bytes could be: no constant becomes 0 or less. */
static void bounds_hold(void **state)
{
	static const double made_of[SPARSE_TERMS] = { 12000, -1, -1, 9000, 0 };
	struct results results = { 0 };
	double ns[SPARSE_TERMS];

	(void)state;
	fill(&results, made_of, "shared", 50);
	tune_costs_fit(&results, "shared", before, ns);
	for (int t = 0; t < SPARSE_TERMS; t++)
		assert_true(ns[t] >= before[t] / 20.01 && ns[t] <= before[t] * 20.01);
	results_fini(&results);
}

static void lines_are_rules(void **state)
{
	static const char json[] =
	    "{\"sparse_costs\":{\"shared\":{\"alpha\":8000,\"beta\":0.15,\"sigma\":0.2,\"merge\":6,\"fold\":0.15},"
	    "\"network\":{\"alpha\":60000,\"beta\":8.5,\"sigma\":0.2,\"merge\":6,\"fold\":0.15}}}";
	struct results results = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(to);
	tune_costs_write(to, &results, json);
	fflush(to);
	assert_string_equal(text, "");
	fill(&results, (const double[SPARSE_TERMS]){ 60000, 8.5, 0.2, 6, 0.15 }, "network", 0);
	tune_costs_write(to, &results, json);
	fclose(to);
	if (strncmp(text, "costs:\n\tnetwork alpha=60000 beta=8.500 sigma=", 45) != 0 ||
	    strchr(text, '\n') + strlen(strchr(text, '\n')) - 1 == strchr(text, '\n'))
		fail_msg("%s", text);
	free(text);
	results_fini(&results);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_found),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(lines_are_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
