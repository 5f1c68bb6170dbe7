/* SPDX-License-Identifier: MIT */
/* Note [marked blocks].  acc of f32 without momentum is made, compared and stored while it is in registers, and its
 * candidates are written while the loads of the next elements are under way.  The entries that left the residual (Note
 * [zeroed]) are a bit for each element, so nothing is computed twice. */
#ifndef TOPK_MARK_H
#define TOPK_MARK_H

#include "topk/vector.h"

#include <stdbool.h>

struct marking {
	const uint64_t *gone; /* a set bit: the residual is zero there */
	uint32_t least;       /* a candidate's key is no less */
	int32_t first;        /* the index of the first element */
	int32_t *ind;         /* the candidates' indices and values, with room for n of them */
	uint32_t *val;
};

/* mark_block: acc of n elements, a multiple of 64, at a multiple of 32 bytes, by nt stores (the caller issues the
 * fence), and its candidates; returns how many.  Only where mark_is_supported. */
bool mark_is_supported(void);
uint64_t mark_block(uint64_t n, const struct accumulation *what, const struct marking *marking);

#endif
