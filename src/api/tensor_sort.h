/* SPDX-License-Identifier: MIT */
/* Which tensors of a list go together, and whether they lie apart. */
#ifndef API_TENSOR_SORT_H
#define API_TENSOR_SORT_H

#include "api/tensor_list.h"

#include <choir/collective.h>

/* Between nodes a bucket is gathered while the one before travels; longer ones would hide no more. */
enum { BUCKET_BYTES = 4 << 20 };

/* tensors_apart: ARGUMENT naming two tensors if any share a byte, but for the send and recv of one in place, or if some
 * are in place and others not.  Where all are it sets list->in_place.  An allreduce takes any mixture. */
choir_status tensors_apart(struct tensor_list *list);

/* tensors_sort: the number of buckets, at least 1.  order: the tensors that are not empty (room for n), those of a
 * bucket together: of one type, in the list's order, of `most` bytes at most unless one alone is longer.  ends[b]:
 * where bucket b ends there (room for n + 1).  By counts and types alone. */
size_t tensors_sort(const struct tensor_list *list, uint64_t most, size_t *order, size_t *ends);

#endif
