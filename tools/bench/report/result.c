/* SPDX-License-Identifier: MIT */
#include "result.h"

#include <stdlib.h>

void results_add(struct results *results, const struct result *row)
{
	if (results->n == results->room) {
		results->room = 2 * results->room + 16;
		results->rows = realloc(results->rows, results->room * sizeof *results->rows);
		if (results->rows == NULL)
			abort();
	}
	results->rows[results->n++] = *row;
}

void results_fini(struct results *results)
{
	free(results->rows);
	*results = (struct results){ 0 };
}

double result_rate(size_t bytes, double us)
{
	return us > 0 ? (double)bytes / us * 1e-3 : 0;
}
