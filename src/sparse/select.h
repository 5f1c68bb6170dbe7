/* SPDX-License-Identifier: MIT */
/* Selection by magnitude.  Elements are compared by key: the bits of |x| as an unsigned number, which are ordered as
 * |x| is, with NaN above everything, so that a NaN is never left behind.  f16, bf16, f32, f64: nothing depends on the
 * type but its width. */
#ifndef SPARSE_SELECT_H
#define SPARSE_SELECT_H

#include "base/error.h"
#include "sparse/pairs.h"

struct select_input {
	const void *val;
	uint32_t elem_bytes; /* 2, 4 or 8 */
	uint64_t n;
	uint64_t first; /* the index of its first element */
};

/* Ascending indices (form.base is 0) and their elements. */
struct select_output {
	void *ind;
	struct index_form form;
	void *val;
	uint64_t capacity; /* pairs; no more are written */
};

/* The limit of a selection: every element with a key above `key` is selected, and of those equal to it the first
 * few. */
struct select_limit {
	uint64_t key;
	uint64_t ties; /* UINT64_MAX = all */
};

/* select_key: of one element. */
uint64_t select_key(uint32_t elem_bytes, const void *elem);

/* select_host: writes the elements that the limit selects; returns their number, also beyond the capacity. */
uint64_t select_host(const struct select_input *in, struct select_limit limit, const struct select_output *out);

/* select_pairs: of n ascending pairs those that the limit selects, no more than `room`; returns how many.  out may be
 * where the pairs are. */
uint64_t select_pairs(const struct select_output *from, uint64_t n, uint32_t elem_bytes, struct select_limit limit,
                      const struct select_output *out, uint64_t room);

/* select_split: the same to `out`, which may be where the pairs are, and the others to `rest`; both have room for n
 * pairs, and the form of `from`. */
uint64_t select_split(const struct select_output *from, uint64_t n, uint32_t elem_bytes, struct select_limit limit,
                      const struct select_output *out, const struct select_output *rest);

/* A sample of so many elements, each at its place of a stride, says above which key about the k largest lie (Note
 * [pivot]). */
#define SELECT_SAMPLES 16384
#define SELECT_FEW     (4 * SELECT_SAMPLES) /* elements for which no pivot is sought */

/* select_pivot_rank: the rank in the sample below which all of the k largest of n almost surely lie; SELECT_SAMPLES or
 * more: no sample helps. */
uint64_t select_pivot_rank(uint64_t n, uint64_t k);

/* select_pivot_room: elements above such a pivot that are worth keeping. */
uint64_t select_pivot_room(uint64_t n, uint64_t rank);

/* select_top_limit: the limit that selects exactly the k <= n largest; of equal ones those with the lowest index.
 * NO_MEMORY. */
choir_status select_top_limit(const struct select_input *in, uint64_t k, struct select_limit *out);

/* select_radix: the same limit, by counting all of the input a few times: for inputs that a cache holds. */
struct select_limit select_radix(const struct select_input *in, uint64_t k);

/* select_top: those k, in one pass over the input unless it is full of ties.  NO_MEMORY. */
choir_status select_top(const struct select_input *in, uint64_t k, const struct select_output *out,
                        struct select_limit *limit_p);

#endif
