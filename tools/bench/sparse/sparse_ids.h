/* SPDX-License-Identifier: MIT */
/* Which indices a rank sends. */
#ifndef BENCH_SPARSE_IDS_H
#define BENCH_SPARSE_IDS_H

#include "bench/args/args.h"

#include <stdint.h>

/* The words of a text as they come, numbered from the most frequent, which is 0. */
struct sparse_text {
	uint32_t *word; /* [n] */
	size_t n, distinct;
};

/* sparse_text_read: of a file, or of the definitions in WordNet's data.* files of a folder.  A word is a run of
 * letters, in lower case.  false with errno, 0 if there is no word. */
bool sparse_text_read(const char *path, struct sparse_text *out);
void sparse_text_fini(struct sparse_text *text);

/* sparse_ids_rows: of that rank.  sparse_ids_before: of the ranks below it. */
size_t sparse_ids_rows(const struct args_sparse *args, int rank, int n_ranks);
size_t sparse_ids_before(const struct args_sparse *args, int rank, int n_ranks);

/* sparse_ids_at: the index of that rank's row, below args->range.  first = sparse_ids_before; text only for IDS_TEXT.
 * The rows of all ranks one after another are the same whatever --hot and --empty give to whom, but for what --overlap
 * repeats. */
int64_t sparse_ids_at(const struct args_sparse *args, const struct sparse_text *text, size_t first, size_t at);

/* sparse_ids_random: the i-th of a stream of 64-bit numbers. */
uint64_t sparse_ids_random(uint64_t stream, uint64_t i);

#endif
