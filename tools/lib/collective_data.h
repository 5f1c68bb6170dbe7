/* SPDX-License-Identifier: MIT */
/* The inputs of a collective's call, and what must come out, at plain pointers. */
#ifndef LIB_COLLECTIVE_DATA_H
#define LIB_COLLECTIVE_DATA_H

#include "collective.h"
#include "values.h"

/* How the elements of a call are typed.  op: CHOIR_OP_LOCAL where nothing is reduced.  shift: which of the values they
 * are; another shift, other values. */
struct collective_data {
	const struct collective_shape *shape;
	choir_dtype dtype;
	choir_op op;
	size_t shift;
};

/* collective_values: which numbers they are. */
struct values collective_values(const struct collective_data *data);

/* collective_input: that rank's count elements from the first one on. */
void collective_input(const struct collective_data *data, int rank, size_t count, void *send);

/* A wrong element. */
struct collective_fault {
	size_t at;
	int32_t wanted;
};

/* collective_wrong: how many elements of that rank's output are not what they must be; *first_p: the first, where there
 * is one; NULL = not asked for.  collective_wrong_input: likewise, of an input that must be left alone. */
uint64_t collective_wrong(const struct collective_data *data, int rank, const void *recv,
                          struct collective_fault *first_p);
uint64_t collective_wrong_input(const struct collective_data *data, int rank, size_t count, const void *send);

/* collective_expected: what the elements of a span of that rank's output must be. */
void collective_expected(const struct collective_data *data, int rank, const struct span *span, void *out);

/* collective_gaps_hold: all bytes of that rank's output buffer between the blocks are `filler`. */
bool collective_gaps_hold(const struct collective_data *data, int rank, const void *recv, unsigned char filler);

#endif
