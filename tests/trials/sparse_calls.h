/* SPDX-License-Identifier: MIT */
/* A sparse_allreduce of rows that all ranks have, but for one that each has alone, and its exact result. */
#ifndef TESTS_SPARSE_CALLS_H
#define TESTS_SPARSE_CALLS_H

#include "world/memory.h"

struct sparse_rows {
	int n, rank;
	size_t rows, most; /* of this rank, of the result */
	const char *options;
	struct memory ind, val, got_ind, got_val;
	size_t n_ind, n_val; /* that came */
};

/* sparse_rows_bytes: of host memory that their buffers need, where memory_use lends it; count: elements of a rank. */
size_t sparse_rows_bytes(int n, size_t count);

/* sparse_rows_make: algorithm: a number that chooses one of those there are; 0 = the library chooses. */
bool sparse_rows_make(struct sparse_rows *rows, choir_device *device, bool on_device, int n, int rank, size_t count,
                      int algorithm);
void sparse_rows_prepare(struct sparse_rows *rows); /* before each call */
choir_status sparse_rows_call(struct sparse_rows *rows, choir_comm *comm);
bool sparse_rows_are_right(struct sparse_rows *rows); /* after SUCCESS */
void sparse_rows_free(struct sparse_rows *rows);

#endif
