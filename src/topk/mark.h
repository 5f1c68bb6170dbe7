/* SPDX-License-Identifier: MIT */
/* Note [marked blocks].  acc of f32 without momentum is made, compared and stored while it is in registers; a bit for
 * each element says whether it is a candidate.  What left the residual (Note [zeroed]) is a bit for each element too,
 * so nothing is computed twice. */
#ifndef TOPK_MARK_H
#define TOPK_MARK_H

#include "topk/vector.h"

#include <stdbool.h>

struct marking {
	const uint64_t *gone; /* a set bit: the residual is zero there */
	uint32_t least;       /* a candidate's key is no less */
	float *copy;          /* acc again, in a cache, for the candidates to be read from */
	uint64_t *mask;       /* a set bit: a candidate */
};

/* mark_block: acc, at a multiple of 32 bytes, by nt stores (the caller issues the fence), the copy and the mask, of n
 * elements, a multiple of 64.  Only where mark_is_supported. */
bool mark_is_supported(void);
void mark_block(uint64_t n, const struct accumulation *what, const struct marking *marking);

#endif
