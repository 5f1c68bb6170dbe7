/* SPDX-License-Identifier: MIT */
/* How a region's pairs (ascending, distinct) are written as one message.  Pure.
 * pairs:  indices | rows                        K (i + v) bytes for K pairs of a region of n indices
 * bitmap: a bit an index | rows                 n/8 + K v
 * dense:  a bit an index | a row an index       n/8 + n v; n v where every index is there, which needs no bits Without
 * its bits a dense region could not tell a sum of zero from an index that nobody sent; so it is the shortest only where
 * it is full. */
#ifndef SPARSE_FORMAT_H
#define SPARSE_FORMAT_H

#include "sparse/block.h"

enum format { FORMAT_PAIRS, FORMAT_BITMAP, FORMAT_DENSE, N_FORMATS };

/* format_bytes: of a message; UINT64_MAX where no memory could hold it. */
uint64_t format_bytes(enum format format, struct index_range range, uint64_t count, uint64_t row_bytes);

/* format_least: the shortest; ties go to the earlier. */
enum format format_least(struct index_range range, uint64_t count, uint64_t row_bytes);

/* format_write: pairs, all in the range, to format_bytes bytes.  Rows of absent indices are left as they are. */
void format_write(enum format format, struct index_range range, const struct pairs *pairs, uint64_t row_bytes,
                  void *to);

/* format_read: count pairs to indices of a form and rows. */
void format_read(enum format format, struct index_range range, uint64_t count, uint64_t row_bytes, const void *from,
                 void *ind, struct index_form form, void *rows);

/* A dense region that always has its bits: bits | a row an index. */
uint64_t format_bits_bytes(struct index_range range);
void format_read_dense(const uint64_t *bits, const void *from, struct index_range range, uint64_t row_bytes, void *ind,
                       struct index_form form, void *rows);

#endif
