/* SPDX-License-Identifier: MIT */
/* One table look-up a row and no sort: linear time, and the update does not ask for an order. */
#include "merge.h"

#include <stdlib.h>
#include <string.h>

choir_status merger_init(struct merger *merger, size_t n_words)
{
	merger->place = malloc(n_words * sizeof *merger->place);
	if (!merger->place)
		return fail_memory("the merge table", n_words * sizeof *merger->place);
	memset(merger->place, 0xff, n_words * sizeof *merger->place);
	return CHOIR_SUCCESS;
}

void merger_fini(struct merger *merger)
{
	free(merger->place);
	merger->place = NULL;
}

static void add_row(float *restrict sum, const float *restrict row, size_t width)
{
	for (size_t k = 0; k < width; k++)
		sum[k] += row[k];
}

size_t merger_run(struct merger *merger, const int32_t *index, const float *rows, size_t n, size_t width,
                  int32_t *out_index, float *out_rows)
{
	size_t n_out = 0;

	for (size_t r = 0; r < n; r++) {
		int32_t *place = merger->place + index[r];

		if (*place >= 0) {
			add_row(out_rows + (size_t)*place * width, rows + r * width, width);
			continue;
		}
		*place = (int32_t)n_out;
		out_index[n_out] = index[r];
		memcpy(out_rows + n_out++ * width, rows + r * width, width * sizeof *rows);
	}
	for (size_t i = 0; i < n_out; i++)
		merger->place[out_index[i]] = -1;
	return n_out;
}
