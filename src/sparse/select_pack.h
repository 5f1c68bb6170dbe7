/* SPDX-License-Identifier: MIT */
/* SSSE3: pairs of 4 + 4 bytes, four at a time: those that are taken move to the front of their vector, whole vectors
 * are written, and the next one begins behind what was taken. */
#ifndef SPARSE_SELECT_PACK_H
#define SPARSE_SELECT_PACK_H

#include <immintrin.h>
#include <stdint.h>

#define SELECT_PACK       __attribute__((target("ssse3,popcnt")))
#define SELECT_PACK_LANES 4

/* The lanes of each mask, as bytes. */
#define LANE(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#define LANES(a, b, c, d)                                                                                              \
	{                                                                                                              \
		LANE(a), LANE(b), LANE(c), LANE(d)                                                                     \
	}
static const uint8_t select_lanes[16][16] = {
	LANES(0, 0, 0, 0), LANES(0, 0, 0, 0), LANES(1, 0, 0, 0), LANES(0, 1, 0, 0),
	LANES(2, 0, 0, 0), LANES(0, 2, 0, 0), LANES(1, 2, 0, 0), LANES(0, 1, 2, 0),
	LANES(3, 0, 0, 0), LANES(0, 3, 0, 0), LANES(1, 3, 0, 0), LANES(0, 1, 3, 0),
	LANES(2, 3, 0, 0), LANES(0, 2, 3, 0), LANES(1, 2, 3, 0), LANES(0, 1, 2, 3),
};
#undef LANES
#undef LANE

struct select_pack {
	const int32_t *ind;
	const uint32_t *val;
	int32_t *to_ind;
	uint32_t *to_val;
	uint64_t i, n;        /* read, of n */
	uint64_t taken, room; /* written */
};

/* select_pack_4: takes pairs whose key is above least, and of those equal to it *ties_p.  Ends before the vector that
 * has more equal ones than that, or that may not fit. */
SELECT_PACK static inline void select_pack_4(struct select_pack *at, uint32_t least, uint64_t *ties_p)
{
	const __m128i keys = _mm_set1_epi32(INT32_MAX), limit = _mm_set1_epi32((int)least);
	uint64_t i = at->i, taken = at->taken, ties = *ties_p;

	for (; i + SELECT_PACK_LANES <= at->n && taken + SELECT_PACK_LANES <= at->room; i += SELECT_PACK_LANES) {
		__m128i val = _mm_loadu_si128((const __m128i *)(const void *)(at->val + i)),
			ind = _mm_loadu_si128((const __m128i *)(const void *)(at->ind + i)),
			key = _mm_and_si128(val, keys), lanes;
		int equal = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(key, limit))),
		    takes = equal | _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(key, limit)));
		uint64_t n_equal = (uint64_t)__builtin_popcount((unsigned)equal);

		if (n_equal > ties)
			break;
		ties -= n_equal;
		lanes = _mm_loadu_si128((const __m128i *)(const void *)select_lanes[takes]);
		_mm_storeu_si128((__m128i *)(void *)(at->to_ind + taken), _mm_shuffle_epi8(ind, lanes));
		_mm_storeu_si128((__m128i *)(void *)(at->to_val + taken), _mm_shuffle_epi8(val, lanes));
		taken += (uint64_t)__builtin_popcount((unsigned)takes);
	}
	at->i = i;
	at->taken = taken;
	*ties_p = ties;
}

#endif
