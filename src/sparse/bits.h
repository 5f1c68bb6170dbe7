/* SPDX-License-Identifier: MIT */
/* Presence bitmaps on the host.  Pure. */
#ifndef SPARSE_BITS_H
#define SPARSE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITS_SLACK 64 /* entries past the last that bits_take may write */

/* bits_take: the positions of the set bits of at most 1024 words, ascending, to at (room for them and BITS_SLACK);
 * returns how many; the words are zero afterwards. */
size_t bits_take(uint64_t *bitmap, size_t words, uint16_t *at);

/* bits_pack: of words * 64 cells those whose bit is set, to `to`, which has room for `room` of them; the cells are
 * `nothing` afterwards.  false if this processor has no instruction for it: then nothing was done. */
bool bits_pack(const uint64_t *bitmap, size_t words, uint32_t *cells, uint32_t nothing, uint32_t *to, uint64_t room);

/* bits_indices: first + the position of each set bit, ascending, to `to`, which has room for `room` of them; returns
 * how many. */
uint64_t bits_indices(const uint64_t *bitmap, size_t words, int32_t first, int32_t *to, uint64_t room);

/* bits_count: how many are set. */
uint64_t bits_count(const uint64_t *bitmap, uint64_t words);

/* bits_before: before[w] = bits set below word w; returns all of them. */
uint64_t bits_before(const uint64_t *bitmap, uint64_t words, uint32_t *before);

/* bits_places: the number of set bits below each of n positions. */
void bits_places(const uint64_t *bitmap, const uint32_t *before, const uint64_t *at, size_t n, uint64_t *place);

#endif
