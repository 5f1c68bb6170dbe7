/* SPDX-License-Identifier: MIT */
/* AVX2: a bit for each of 64 keys (an element's bits without the sign) that is >= least.  Keys are below half of their
 * unsigned range, so a signed comparison serves, with least at most the highest key. */
#ifndef SPARSE_SELECT_MASKS_H
#define SPARSE_SELECT_MASKS_H

#include <immintrin.h>
#include <stdint.h>

#define SELECT_AVX2 __attribute__((target("avx2,bmi")))

SELECT_AVX2 static inline __m256i select_load(const void *from)
{
	return _mm256_loadu_si256((const __m256i *)from);
}

SELECT_AVX2 static inline uint64_t select_mask_2(const uint16_t *val, uint16_t least)
{
	const __m256i keys = _mm256_set1_epi16(INT16_MAX), below = _mm256_set1_epi16((short)(least - 1));
	uint64_t mask = 0;

	for (int i = 0; i < 64; i += 32) {
		__m256i a = _mm256_cmpgt_epi16(_mm256_and_si256(select_load(val + i), keys), below),
			b = _mm256_cmpgt_epi16(_mm256_and_si256(select_load(val + i + 16), keys), below);
		/* packed by halves of 128 bits, then put in order */
		__m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);

		mask |= (uint64_t)(uint32_t)_mm256_movemask_epi8(bytes) << i;
	}
	return mask;
}

SELECT_AVX2 static inline uint64_t select_mask_4(const uint32_t *val, uint32_t least)
{
	const __m256i keys = _mm256_set1_epi32(INT32_MAX), below = _mm256_set1_epi32((int)(least - 1));
	uint64_t mask = 0;

	for (int i = 0; i < 64; i += 8) {
		__m256i flags = _mm256_cmpgt_epi32(_mm256_and_si256(select_load(val + i), keys), below);

		mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(flags)) << i;
	}
	return mask;
}

SELECT_AVX2 static inline uint64_t select_mask_8(const uint64_t *val, uint64_t least)
{
	const __m256i keys = _mm256_set1_epi64x(INT64_MAX), below = _mm256_set1_epi64x((long long)(least - 1));
	uint64_t mask = 0;

	for (int i = 0; i < 64; i += 4) {
		__m256i flags = _mm256_cmpgt_epi64(_mm256_and_si256(select_load(val + i), keys), below);

		mask |= (uint64_t)(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(flags)) << i;
	}
	return mask;
}

#endif
