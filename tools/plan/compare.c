/* SPDX-License-Identifier: MIT */
/* All algorithms that can do a call, for several numbers of ranks and sizes: one table a number of ranks, a line an
 * algorithm, a column a size. */
#include "plan.h"

#include "lib/number.h"
#include "lib/progress.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show_progress(const choir_plan_options *options)
{
	char bytes[24];

	plan_print_bytes(options->bytes, bytes);
	progress_show("choir-plan: at %d rank%s, %s, %s", options->ranks, number_plural(options->ranks), bytes,
	              options->algorithm);
}

/* The time by algorithm `name`; false: it cannot do this call. */
static bool time_of(const struct args *args, choir_plan_options options, const json_t *algorithm, double *seconds,
                    choir_status *st)
{
	choir_plan_prediction p = { .struct_size = sizeof p };

	*st = CHOIR_SUCCESS;
	if (!json_is_null(json_object_get(algorithm, "unfit")))
		return false;
	options.algorithm = json_string_value(json_object_get(algorithm, "name"));
	show_progress(&options);
	*st = choir_plan_predict(&options, &args->costs, &p, NULL);
	*seconds = p.seconds;
	return *st == CHOIR_SUCCESS;
}

/* One row: {"ranks", "bytes", "times": [{"algorithm", "time_us", "chosen"}]}; NULL with the library's last error. */
static json_t *row_of(const struct args *args, const choir_plan_options *options, choir_status *st)
{
	char *text;
	json_t *algorithms, *algorithm, *times, *row;
	size_t i;

	*st = choir_plan_algorithms(options, &text);
	if (*st != CHOIR_SUCCESS)
		return NULL;
	algorithms = json_loads(text, 0, NULL);
	free(text);
	times = json_array();
	json_array_foreach(algorithms, i, algorithm)
	{
		double seconds;

		if (time_of(args, *options, algorithm, &seconds, st))
			json_array_append_new(
			    times, json_pack("{s:O, s:f, s:O}", "algorithm", json_object_get(algorithm, "name"),
			                     "time_us", seconds * 1e6, "chosen", json_object_get(algorithm, "chosen")));
		if (*st != CHOIR_SUCCESS && *st != CHOIR_UNSUPPORTED)
			break;
		*st = CHOIR_SUCCESS; /* too many steps to play through, most likely: no entry */
	}
	json_decref(algorithms);
	row =
	    json_pack("{s:i, s:I, s:o}", "ranks", options->ranks, "bytes", (json_int_t)options->bytes, "times", times);
	if (*st == CHOIR_SUCCESS)
		return row;
	json_decref(row);
	return NULL;
}

/* The entry of that algorithm in a row, NULL if it could not do that call. */
static const json_t *entry_of(const json_t *row, const char *algorithm)
{
	size_t i;
	json_t *entry;

	json_array_foreach(json_object_get(row, "times"), i,
	                   entry) if (strcmp(json_string_value(json_object_get(entry, "algorithm")), algorithm) ==
	                              0) return entry;
	return NULL;
}

static double best_of(const json_t *row)
{
	double best = HUGE_VAL;
	size_t i;
	json_t *entry;

	json_array_foreach(json_object_get(row, "times"), i, entry) best =
	    fmin(best, json_real_value(json_object_get(entry, "time_us")));
	return best;
}

static void print_algorithm(const json_t *rows, const char *algorithm)
{
	bool any = false;
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row) any |= entry_of(row, algorithm) != NULL;
	if (!any)
		return;
	printf("%-24s", algorithm);
	json_array_foreach(rows, i, row)
	{
		const json_t *entry = entry_of(row, algorithm);
		double us = json_real_value(json_object_get(entry, "time_us"));

		if (entry == NULL)
			printf(" %12s  ", "-");
		else
			printf(" %12.2f%c%c", us, us == best_of(row) ? '*' : ' ',
			       json_is_true(json_object_get(entry, "chosen")) ? '<' : ' ');
	}
	putchar('\n');
}

/* The rows of one number of ranks. */
static void print_table(const struct args *args, int ranks, const json_t *rows)
{
	choir_plan_options options = args->options;
	char bytes[24], *text;
	json_t *algorithms, *entry;
	size_t i;

	options.ranks = ranks;
	printf("\n%-24s", "");
	json_array_foreach(rows, i, entry)
	    printf(" %12s  ", plan_print_bytes((size_t)json_integer_value(json_object_get(entry, "bytes")), bytes));
	printf("\n%d rank%s\n", ranks, number_plural(ranks));
	if (choir_plan_algorithms(&options, &text) != CHOIR_SUCCESS)
		return;
	algorithms = json_loads(text, 0, NULL);
	free(text);
	json_array_foreach(algorithms, i, entry)
	    print_algorithm(rows, json_string_value(json_object_get(entry, "name")));
	fflush(stdout);
	json_decref(algorithms);
}

/* The rows of one number of ranks; NULL: one failed. */
static json_t *rows_of(const struct args *args, int ranks, choir_status *st)
{
	json_t *rows = json_array();
	choir_plan_options options = args->options;

	options.ranks = ranks;
	for (;; options.bytes *= args->factor) {
		json_t *row = row_of(args, &options, st);

		if (row == NULL) {
			json_decref(rows);
			return NULL;
		}
		json_array_append_new(rows, row);
		if (options.bytes == 0 || options.bytes > args->end / args->factor)
			return rows;
	}
}

/* Why no row has a time: SUCCESS if one has. */
static choir_status why_empty(const struct args *args, const json_t *rows)
{
	choir_plan_prediction p = { .struct_size = sizeof p };
	choir_plan_options options = args->options;
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i,
	                   row) if (json_array_size(json_object_get(row, "times")) > 0) return CHOIR_SUCCESS;
	options.ranks = args->ranks[0];
	return choir_plan_predict(&options, &args->costs, &p, NULL);
}

int plan_compare(const struct args *args)
{
	json_t *all = json_array();
	choir_status st = CHOIR_SUCCESS;

	if (!args->json)
		printf("%s, microseconds: * the fastest, < what the rules choose\n", args->options.collective);
	for (int i = 0; i < args->n_ranks; i++) {
		json_t *rows = rows_of(args, args->ranks[i], &st);

		progress_clear();
		if (rows == NULL)
			break;
		if (!args->json)
			print_table(args, args->ranks[i], rows);
		json_array_extend(all, rows);
		json_decref(rows);
	}
	if (st == CHOIR_SUCCESS)
		st = why_empty(args, all);
	if (st == CHOIR_SUCCESS && args->json) {
		json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
		putchar('\n');
	}
	json_decref(all);
	return st == CHOIR_SUCCESS ? EXIT_FINE : args_fail(st);
}
