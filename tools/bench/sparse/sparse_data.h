/* SPDX-License-Identifier: MIT */
/* Sparse check data, and what must come out: like values.h, exact in any order and known to every rank. */
#ifndef BENCH_SPARSE_DATA_H
#define BENCH_SPARSE_DATA_H

#include "sparse_ids.h"

struct sparse_shape {
	struct args_sparse args;
	choir_dtype dtype;
	choir_op op;
	int n_ranks;
	const struct sparse_text *text; /* of IDS_TEXT */
};

/* Rows as the collective takes and gives them. */
struct sparse_rows {
	size_t rows;
	void *ind, *val; /* encoded; NULL if rows is 0 */
};

/* sparse_data_make: what that rank sends, rows in no order with duplicates.  false if there is no memory. */
bool sparse_data_make(const struct sparse_shape *shape, int rank, struct sparse_rows *out);

/* sparse_data_expect: the union of all ranks' rows, ascending and reduced. */
bool sparse_data_expect(const struct sparse_shape *shape, struct sparse_rows *out);

/* sparse_data_list: that rank's own rows, ascending and reduced, a mean not yet divided. */
bool sparse_data_list(const struct sparse_shape *shape, int rank, struct sparse_rows *out);

void sparse_data_fini(struct sparse_rows *rows);

/* sparse_data_why_not: NULL if there is check data for (dtype, op). */
const char *sparse_data_why_not(choir_dtype dtype, choir_op op);

#endif
