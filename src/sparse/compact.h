/* SPDX-License-Identifier: MIT */
/* Stream compaction on the host: what is wanted of a stream, packed.  Pure. */
#ifndef SPARSE_COMPACT_H
#define SPARSE_COMPACT_H

#include "sparse/pairs.h"

#include <stddef.h>

#define COMPACT_SLACK 16 /* entries past the last that may be written */

/* compact_range: of n < 2^32 indices of 4 bytes those in a range of less than 2^32: each one's distance from range.lo
 * to key, what stands at its position in `with` (NULL = the position) to out, in their order (room for all and
 * COMPACT_SLACK); returns how many. */
size_t compact_range(const int32_t *ind, int64_t base, const uint32_t *with, size_t n, struct index_range range,
                     uint32_t *key, uint32_t *out);

#endif
