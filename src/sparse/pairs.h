/* SPDX-License-Identifier: MIT */
/* Pairs (an index and its row of values) in host memory, and the form in which their indices are stored.  Pure
 * arithmetic. */
#ifndef SPARSE_PAIRS_H
#define SPARSE_PAIRS_H

#include <stdint.h>
#include <string.h>

/* Indices are stored as int32_t or int64_t; the index meant is base + the stored one. */
struct index_form {
	uint32_t bytes; /* 4 or 8 */
	int64_t base;
};

struct pairs {
	const void *ind;
	const unsigned char *rows;
	uint64_t count;
	struct index_form form;
};

/* A closed range of indices; lo > hi is the empty one. */
struct index_range {
	int64_t lo, hi;
};

#define INDEX_RANGE_EMPTY ((struct index_range){ .lo = 0, .hi = -1 })

static inline int index_range_is_empty(struct index_range range)
{
	return range.lo > range.hi;
}

/* index_range_span: how many indices it holds. */
static inline uint64_t index_range_span(struct index_range range)
{
	return index_range_is_empty(range) ? 0 : (uint64_t)range.hi - (uint64_t)range.lo + 1;
}

static inline struct index_range index_range_join(struct index_range a, struct index_range b)
{
	if (index_range_is_empty(a))
		return b;
	if (index_range_is_empty(b))
		return a;
	return (struct index_range){ .lo = a.lo < b.lo ? a.lo : b.lo, .hi = a.hi > b.hi ? a.hi : b.hi };
}

/* index_form_of: the shortest form that holds every index of the range (lo >= 0), absolute where that is as short: all
 * ranks know the range, so all take the same form. */
static inline struct index_form index_form_of(struct index_range range)
{
	if (range.hi <= INT32_MAX)
		return (struct index_form){ .bytes = 4 };
	if (!index_range_is_empty(range) && range.hi - range.lo <= INT32_MAX)
		return (struct index_form){ .bytes = 4, .base = range.lo };
	return (struct index_form){ .bytes = 8 };
}

static inline int64_t index_at(const void *ind, struct index_form form, uint64_t i)
{
	return form.bytes == 4 ? form.base + ((const int32_t *)ind)[i] : form.base + ((const int64_t *)ind)[i];
}

/* index_convert: n indices from one form to another.  The forms must be able to hold them. */
static inline void index_convert(void *to, struct index_form to_form, const void *from, struct index_form from_form,
                                 uint64_t n)
{
	int64_t shift = from_form.base - to_form.base;

	if (to_form.bytes == from_form.bytes && shift == 0) {
		if (n > 0)
			memcpy(to, from, n * to_form.bytes);
	} else if (to_form.bytes == 4 && from_form.bytes == 4) {
		for (uint64_t i = 0; i < n; i++)
			((int32_t *)to)[i] = (int32_t)(((const int32_t *)from)[i] + shift);
	} else if (to_form.bytes == 4) {
		for (uint64_t i = 0; i < n; i++)
			((int32_t *)to)[i] = (int32_t)(((const int64_t *)from)[i] + shift);
	} else if (from_form.bytes == 4) {
		for (uint64_t i = 0; i < n; i++)
			((int64_t *)to)[i] = ((const int32_t *)from)[i] + shift;
	} else {
		for (uint64_t i = 0; i < n; i++)
			((int64_t *)to)[i] = ((const int64_t *)from)[i] + shift;
	}
}

#endif
