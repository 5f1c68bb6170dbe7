/* SPDX-License-Identifier: MIT */
/* The JSON is what docs/bench.md says, and --compare finds what grew. */
#include "bench/report/compare.h"
#include "bench/report/report.h"
#include "bench/report/sweep.h"
#include "schema.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *header(bool with_mpi)
{
	json_t *mpi =
	    with_mpi ? json_pack("{s:s, s:s}", "library", "MPICH", "thread_level", "MPI_THREAD_MULTIPLE") : json_null();

	return json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:[s,s], s:[i,i], s:o, s:{s:s}, s:{}, s:{}}", "choir", "0.1.0",
	                 "ranks", 2, "nodes", 1, "device", "cpu", "driver", "1", "buffer_class", "direct", "devices",
	                 "cpu", "cpu", "node_layout", 0, 0, "mpi", mpi, "environment", "CHOIR_X", "1", "device_info",
	                 "comm_info");
}

static struct result row(const char *collective, size_t bytes, double p50)
{
	return (struct result){ .collective = collective,
		                .bytes = bytes,
		                .count = bytes / 4,
		                .dtype = "f32",
		                .op = "sum",
		                .memory = "host",
		                .in_flight = 1,
		                .us = { p50, p50, p50, p50, p50, p50 },
		                .vs = { { "mpi", true, 2 * p50, 2 }, { "bound", false, 0, 0 } },
		                .n_vs = 2 };
}

static json_t *run_of(double p50_small, double p50_large, bool with_mpi)
{
	struct results results = { 0 };
	struct result small = row("allreduce", 4, p50_small), large = row("sparse_allreduce", 1 << 20, p50_large);
	json_t *head = header(with_mpi), *run;

	large.kind = RESULT_SPARSE;
	large.sparse = (struct result_sparse){ .index = "i32",
		                               .distribution = "zipf",
		                               .workload = "hot",
		                               .rows_in = 3,
		                               .rows_out = 4,
		                               .width = 1,
		                               .range = 10 };
	results_add(&results, &small);
	results_add(&results, &large);
	run = report_json_of(head, &results);
	results_fini(&results);
	json_decref(head);
	return run;
}

static void json_is_as_documented(void **state)
{
	struct schema *schema = schema_load(*state);

	assert_non_null(schema);
	for (int with_mpi = 0; with_mpi < 2; with_mpi++) {
		json_t *run = run_of(1, 1000, with_mpi), *results = json_object_get(run, "results");

		assert_int_equal(schema_check(schema, run), 0);
		assert_int_equal(json_integer_value(json_object_get(json_array_get(results, 0), "bytes")), 4);
		/* A way that did not run has no entry. */
		assert_int_equal(json_object_size(json_object_get(json_array_get(results, 0), "vs")), 1);
		json_object_set_new(json_array_get(results, 0), "novelty", json_integer(1));
		json_object_set_new(json_array_get(results, 0), "bytes", json_real(1));
		json_object_del(run, "ranks");
		fputs("three complaints are expected:\n", stderr);
		assert_int_equal(schema_check(schema, run), 3);
		json_decref(run);
	}
	schema_destroy(schema);
}

static void growth_is_found(void **state)
{
	json_t *old_run = run_of(10, 1000, true), *same = run_of(10.4, 900, true), *slow = run_of(11, 2000, false),
	       *none = json_pack("{s:[]}", "results");
	char *text;
	size_t bytes;
	FILE *quiet = fopen("/dev/null", "w"), *told = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(quiet);
	assert_non_null(told);
	assert_int_equal(compare_runs(old_run, same, 0.05, quiet), 0);
	assert_int_equal(compare_runs(old_run, slow, 0.05, quiet), 2);
	assert_int_equal(compare_runs(old_run, slow, 0.5, quiet), 1);
	assert_int_equal(compare_runs(old_run, none, 0.05, quiet), -1);
	/* Another work of the same size is none of ours. */
	json_object_set_new(json_array_get(json_object_get(slow, "results"), 0), "dtype", json_string("f64"));
	assert_int_equal(compare_runs(old_run, slow, 0.05, told), 1);
	fclose(told);
	assert_non_null(strstr(text, "# 1 row in both runs, 1 slower "));
	free(text);
	/* Nor is another workload. */
	json_object_set_new(json_object_get(json_array_get(json_object_get(slow, "results"), 1), "sparse"), "workload",
	                    json_string("empty"));
	assert_int_equal(compare_runs(old_run, slow, 0.05, quiet), -1);
	fclose(quiet);
	json_decref(old_run);
	json_decref(same);
	json_decref(slow);
	json_decref(none);
}

static void add_topk(struct results *results, const char *algorithm, double density, const char *form, double p50)
{
	struct result one = row("topk", 4000, p50);

	one.kind = RESULT_TOPK;
	one.topk = (struct result_topk){ .values = "normal", .form = form, .density = density };
	snprintf(one.algorithm, sizeof one.algorithm, "%s", algorithm);
	results_add(results, &one);
}

/* Four rows of one tensor: of two algorithms, two densities, two forms of the result. */
static json_t *topk_run_of(double dense, double sparse, double more, double pairs)
{
	struct results results = { 0 };
	json_t *head = header(false), *run;

	add_topk(&results, "dense", 0.01, "dense", dense);
	add_topk(&results, "oktopk", 0.01, "dense", sparse);
	add_topk(&results, "oktopk", 0.1, "dense", more);
	add_topk(&results, "oktopk", 0.1, "pairs", pairs);
	run = report_json_of(head, &results);
	results_fini(&results);
	json_decref(head);
	return run;
}

/* A row is compared with that of the same algorithm, density and form, whichever stands first. */
static void topk_rows_are_told_apart(void **state)
{
	json_t *old_run = topk_run_of(100, 10, 20, 5), *same = topk_run_of(101, 10, 20, 5),
	       *slow = topk_run_of(90, 30, 19, 9);
	FILE *quiet = fopen("/dev/null", "w");

	(void)state;
	assert_non_null(quiet);
	assert_int_equal(compare_runs(old_run, same, 0.05, quiet), 0);
	assert_int_equal(compare_runs(old_run, slow, 0.05, quiet), 2);
	fclose(quiet);
	json_decref(old_run);
	json_decref(same);
	json_decref(slow);
}

/* Rows of one call by several algorithms, and one of tensors in two ways. */
static json_t *several_of(double first, double second, double at_once, double each)
{
	static const char *const names[] = { "oneshot", "twoshot", "multi", "each" };
	const double us[] = { first, second, at_once, each };
	struct results results = { 0 };
	json_t *head = header(false), *run;

	for (int i = 0; i < 4; i++) {
		struct result one = row(i < 2 ? "allreduce" : "tensors", 4000, us[i]);

		one.among_all = i < 2;
		one.chosen = i == 1;
		one.tensors = i < 2 ? 0 : 9;
		snprintf(one.algorithm, sizeof one.algorithm, "%s", names[i]);
		results_add(&results, &one);
	}
	run = report_json_of(head, &results);
	results_fini(&results);
	json_decref(head);
	return run;
}

static void algorithms_are_told_apart(void **state)
{
	json_t *old_run = several_of(10, 20, 30, 100), *same = several_of(10, 20, 30, 100),
	       *slow = several_of(10, 30, 30, 200), *plain = several_of(20, 0, 0, 0);
	FILE *quiet = fopen("/dev/null", "w");

	(void)state;
	assert_non_null(quiet);
	assert_int_equal(compare_runs(old_run, same, 0.05, quiet), 0);
	assert_int_equal(compare_runs(old_run, slow, 0.05, quiet), 2);
	/* Against a run of the rules alone: their row. */
	json_object_del(json_array_get(json_object_get(plain, "results"), 0), "chosen");
	while (json_array_size(json_object_get(plain, "results")) > 1)
		json_array_remove(json_object_get(plain, "results"), 1);
	assert_int_equal(compare_runs(old_run, plain, 0.05, quiet), 0);
	assert_int_equal(compare_runs(slow, plain, 0.05, quiet), 0);
	assert_int_equal(compare_runs(plain, old_run, 0.05, quiet), 0);
	assert_int_equal(compare_runs(plain, slow, 0.05, quiet), 1);
	fclose(quiet);
	json_decref(old_run);
	json_decref(same);
	json_decref(slow);
	json_decref(plain);
}

static void add_at(struct results *results, const char *algorithm, double density, double us, bool chosen)
{
	struct result at = row("sparse_allreduce", 1024, us);

	at.kind = RESULT_SPARSE;
	at.sparse =
	    (struct result_sparse){ .distribution = "uniform", .width = 1, .range = 1000, .density_in = density };
	at.n_vs = 1;
	at.vs[0].p50_us = 50;
	at.among_all = true;
	at.chosen = chosen;
	snprintf(at.algorithm, sizeof at.algorithm, "%s", algorithm);
	results_add(results, &at);
}

/* rising: 1000 times the density; flat: 10; and a way that takes 50 always. */
static void crossings_are_where_lines_meet(void **state)
{
	const double density[] = { 0.1, 0.001, 0.02, 0.004 };
	struct results results = { 0 };
	struct sweep sweep;

	(void)state;
	add_at(&results, "rising", 0.004, 4, false);
	assert_false(sweep_of(&results, &results.rows[0], &sweep));
	for (int i = 0; i < 4; i++) {
		add_at(&results, "rising", density[i], 1000 * density[i], density[i] < 0.01);
		add_at(&results, "flat", density[i], 10, density[i] > 0.01);
	}
	assert_true(sweep_of(&results, &results.rows[0], &sweep));
	assert_int_equal(sweep.n, 4);
	assert_true(sweep.density[0] == 0.001 && sweep.density[3] == 0.1);
	assert_int_equal(sweep.n_lines, 3);
	assert_int_equal(sweep.n_crossings, 1);
	assert_float_equal(sweep.crossing[0].density, 0.01, 1e-9);
	assert_float_equal(sweep.crossing[0].us, 10, 1e-6);
	assert_string_equal(sweep.line[sweep.crossing[0].from].name, "rising");
	assert_string_equal(sweep.line[sweep.crossing[0].to].name, "flat");
	assert_string_equal(sweep.line[sweep.chosen[1]].name, "rising");
	assert_string_equal(sweep.line[sweep.chosen[2]].name, "flat");
	/* A lead within the noise is none. */
	results.rows[results.n - 1].us.p50 = 3.95;
	assert_true(sweep_of(&results, &results.rows[0], &sweep));
	assert_int_equal(sweep.n_crossings, 1);
	assert_float_equal(sweep.crossing[0].density, 0.004, 1e-9);
	results_fini(&results);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(json_is_as_documented, argv[argc - 1]),
		cmocka_unit_test(growth_is_found),
		cmocka_unit_test(topk_rows_are_told_apart),
		cmocka_unit_test(algorithms_are_told_apart),
		cmocka_unit_test(crossings_are_where_lines_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
