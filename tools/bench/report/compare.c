/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include "bench/ranks/world.h"

#include "lib/number.h"

#include <stdbool.h>

static bool same_in(const json_t *a, const json_t *b, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_t *x = json_object_get(a, keys[i]), *y = json_object_get(b, keys[i]);

		if ((x != NULL || y != NULL) && !json_equal(x, y))
			return false;
	}
	return true;
}

/* Does the row stand beside others of the same call, which differ in the algorithm? */
static bool is_of_several(const json_t *row)
{
	static const char *const signs[] = { "topk", "chosen", "tensors" };
	bool found = false;

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		found = found || json_object_get(row, signs[i]) != NULL;
	return found;
}

/* What makes two rows the same work.  Not the algorithm, where one run has one row of the call: a better choice is
 * what one hopes to see.  Sparse rows, kernels and topk can move the same bytes and be other work. */
static bool same_work(const json_t *a, const json_t *b)
{
	static const char *const keys[] = { "collective", "bytes",   "count", "dtype",     "op",
		                            "memory",     "inplace", "fresh", "in_flight", "tensors" };
	static const char *const algorithm[] = { "algorithm" };
	static const char *const inner[] = { "range", "width",  "distribution", "workload", "index",  "lists",
		                             "items", "values", "result",       "overlap",  "density" };
	static const char *const kinds[] = { "sparse", "kernel", "topk" };
	bool same = same_in(a, b, keys, sizeof keys / sizeof *keys);

	if (is_of_several(a) && is_of_several(b))
		same = same && same_in(a, b, algorithm, 1);
	else if (is_of_several(a) || is_of_several(b)) /* against a run by the rules alone: what they take */
		same = same && json_is_true(json_object_get(is_of_several(a) ? a : b, "chosen"));

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		same = same && same_in(json_object_get(a, kinds[i]), json_object_get(b, kinds[i]), inner,
		                       sizeof inner / sizeof *inner);
	return same;
}

static const json_t *find(const json_t *rows, const json_t *wanted)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row) if (same_work(row, wanted)) return row;
	return NULL;
}

static double p50_of(const json_t *row)
{
	return json_number_value(json_object_get(json_object_get(row, "time_us"), "p50"));
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text != NULL ? text : "?";
}

int compare_runs(const json_t *old_run, const json_t *new_run, double fail_over, FILE *to)
{
	const json_t *old_rows = json_object_get(old_run, "results"), *rows = json_object_get(new_run, "results");
	int found = 0, slower = 0;
	size_t i;
	json_t *row;

	fprintf(to, "# %-18s %12s %5s %11s %10s %10s %8s\n", "collective", "bytes", "type", "redop", "old p50",
	        "new p50", "change");
	json_array_foreach(rows, i, row)
	{
		const json_t *old = find(old_rows, row);
		double before = p50_of(old), now = p50_of(row);
		bool too_slow;

		if (old == NULL || before <= 0)
			continue;
		found++;
		too_slow = now > before * (1 + fail_over);
		slower += too_slow;
		fprintf(to, "  %-18s %12" JSON_INTEGER_FORMAT " %5s %11s %10.2f %10.2f %+7.1f%%%s\n",
		        text_of(row, "collective"), json_integer_value(json_object_get(row, "bytes")),
		        text_of(row, "dtype"), text_of(row, "op"), before, now, 100 * (now / before - 1),
		        too_slow ? " slower" : "");
	}
	fprintf(to, "# %d row%s in both runs, %d slower by more than %g%%\n", found, number_plural(found), slower,
	        100 * fail_over);
	return found == 0 ? -1 : slower;
}

static json_t *load(const char *path)
{
	json_error_t error;
	json_t *run = json_load_file(path, 0, &error);

	if (run == NULL)
		fprintf(stderr, "choir-bench: %s: %s\n", path, error.text);
	else if (json_is_array(json_object_get(run, "results")))
		return run;
	else
		fprintf(stderr, "choir-bench: %s: no results of choir-bench in there\n", path);
	json_decref(run);
	return NULL;
}

int compare_files(const char *old_path, const char *new_path, double fail_over)
{
	json_t *old_run = load(old_path), *new_run = load(new_path);
	int slower = -1;

	if (old_run != NULL && new_run != NULL)
		slower = compare_runs(old_run, new_run, fail_over, stdout);
	json_decref(old_run);
	json_decref(new_run);
	if (slower < 0)
		return EXIT_USAGE;
	return slower == 0 ? EXIT_FINE : EXIT_SLOW;
}
