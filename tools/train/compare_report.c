/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include "lib/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static void print_verdict(const struct compare_row *row)
{
	if (row->n_wrong > 0)
		printf("WRONG %zu time%s, off by %.1e\n", row->n_wrong, number_plural(row->n_wrong), row->off);
	else if (row->n_rounded > 0)
		printf("regrouped, off by %.1e\n", row->off);
	else
		printf("same\n");
}

static void print_row(const struct compare_row *row)
{
	printf(" %-12s %-18s %6zu %6zu ", row->table, row->algorithm, row->picked, row->n_calls);
	if (row->n_calls == 0) {
		printf("%10s %13s %11s  cannot: %s\n", "-", "-", "-", row->why_not);
		return;
	}
	printf("%10.1f %13.1f %11.0f  ", row->median_us, row->predicted_us, row->wire_bytes);
	print_verdict(row);
}

void compare_print(const struct compare *compare)
{
	size_t n;
	const struct compare_row *rows = compare_rows(compare, &n);

	printf("# the tables' gradients again, by each sparse algorithm; picked: by the model, in the steps compared; "
	       "times of the slowest rank\n");
	printf("#%-12s %-18s %6s %6s %10s %13s %11s  %s\n", "table", "algorithm", "picked", "calls", "median(us)",
	       "predicted(us)", "wire(bytes)", "sums");
	for (size_t i = 0; i < n; i++)
		print_row(rows + i);
	fflush(stdout);
}

static json_t *row_json(const struct compare_row *row)
{
	json_t *one = json_pack("{s:s, s:s, s:I, s:I}", "table", row->table, "algorithm", row->algorithm, "picked",
	                        (json_int_t)row->picked, "calls", (json_int_t)row->n_calls);

	if (row->n_calls > 0)
		json_object_update_new(one, json_pack("{s:f, s:f, s:f, s:I, s:I, s:f}", "median_us", row->median_us,
		                                      "predicted_us", row->predicted_us, "wire_bytes", row->wire_bytes,
		                                      "rounded", (json_int_t)row->n_rounded, "wrong",
		                                      (json_int_t)row->n_wrong, "off", fmin(row->off, DBL_MAX)));
	else
		json_object_set_new(one, "why_not", json_string(row->why_not));
	return one;
}

json_t *compare_json(const struct compare *compare)
{
	size_t n;
	const struct compare_row *rows = compare_rows(compare, &n);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, row_json(rows + i));
	return list;
}

choir_status compare_verdict(const struct compare *compare)
{
	size_t n;
	const struct compare_row *rows = compare_rows(compare, &n);

	for (size_t i = 0; i < n; i++)
		if (rows[i].n_wrong > 0)
			return failure(CHOIR_ARGUMENT, "%s: %zu of %zu sums by %s are not the training's",
			               rows[i].table, rows[i].n_wrong, rows[i].n_calls, rows[i].algorithm);
	return CHOIR_SUCCESS;
}
