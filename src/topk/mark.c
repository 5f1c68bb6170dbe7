/* SPDX-License-Identifier: MIT */
#include "topk/mark.h"

#include "base/simd.h"

#ifdef __x86_64__
#include <immintrin.h>

#define WITH_MARKS __attribute__((target("avx2,bmi,popcnt")))
#define LANES      8
#define WORD       64   /* elements whose bits are one word */
#define AT_ONCE    4    /* candidates are written */
#define PREFETCH   1536 /* bytes; the processor does not look beyond a page */

/* All bits of each lane whose bit of eight, from `first` on, is set. */
WITH_MARKS static inline __m256 lanes_of(__m256i word, int first)
{
	const __m256i bits = _mm256_slli_epi32(_mm256_setr_epi32(1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80), first);

	return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(word, bits), bits));
}

/* 32 elements, and acc again at `copy`; returns a bit for each candidate. */
WITH_MARKS static inline uint32_t mark_half(const float *residual, const float *grad, float *acc, uint32_t *copy,
                                            uint32_t gone, const __m256 scales[2], __m256i below)
{
	const __m256i word = _mm256_set1_epi32((int)gone), keys = _mm256_set1_epi32(INT32_MAX);
	uint32_t mask = 0;

	for (int i = 0; i < 32; i += LANES) {
		__m256 old = _mm256_andnot_ps(lanes_of(word, i), _mm256_loadu_ps(residual + i)),
		       sum = _mm256_add_ps(_mm256_mul_ps(scales[0], old),
		                           _mm256_mul_ps(scales[1], _mm256_loadu_ps(grad + i)));
		__m256i key = _mm256_and_si256(_mm256_castps_si256(sum), keys);

		if (i % 16 == 0) {
			_mm_prefetch((const char *)(residual + i) + PREFETCH, _MM_HINT_NTA);
			_mm_prefetch((const char *)(grad + i) + PREFETCH, _MM_HINT_NTA);
		}
		_mm256_stream_ps(acc + i, sum);
		_mm256_store_si256((__m256i *)(void *)(copy + i), _mm256_castps_si256(sum));
		mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(key, below))) << i;
	}
	return mask;
}

/* The marked ones of 64 elements; Note [four at a time] in sparse/bits.c. */
WITH_MARKS static inline void put(uint64_t mask, int32_t first, const uint32_t *copy, int32_t *ind, uint32_t *val)
{
	do {
		for (int i = 0; i < AT_ONCE; i++) {
			int32_t at = (int32_t)__builtin_ctzll(mask | UINT64_C(1) << (WORD - 1));

			*ind++ = first + at;
			*val++ = copy[at];
			mask &= mask - 1;
		}
	} while (mask != 0);
}

bool mark_is_supported(void)
{
	return HAS_AVX2 && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
}

/* Keys are below half of their unsigned range, so a signed comparison serves. */
WITH_MARKS uint64_t mark_block(uint64_t n, const struct accumulation *what, const struct marking *marking)
{
	const float *grad = what->grad, *residual = what->residual != NULL ? what->residual : grad;
	const uint64_t none = what->residual != NULL ? 0 : UINT64_MAX;
	const __m256 scales[2] = { _mm256_set1_ps((float)what->decay), _mm256_set1_ps((float)what->scale) };
	const __m256i below = _mm256_set1_epi32((int)(marking->least - 1));
	_Alignas(32) uint32_t copy[WORD];
	float *acc = what->acc;
	uint64_t found = 0;

	for (uint64_t i = 0; i < n; i += WORD) {
		const uint64_t gone = marking->gone[i / WORD] | none;
		uint64_t mask = mark_half(residual + i, grad + i, acc + i, copy, (uint32_t)gone, scales, below);

		mask |= (uint64_t)mark_half(residual + i + 32, grad + i + 32, acc + i + 32, copy + 32,
		                            (uint32_t)(gone >> 32), scales, below)
		        << 32;
		put(mask, marking->first + (int32_t)i, copy, marking->ind + found, marking->val + found);
		found += (uint64_t)__builtin_popcountll(mask);
	}
	return found;
}
#else
bool mark_is_supported(void)
{
	return false;
}

uint64_t mark_block(uint64_t n, const struct accumulation *what, const struct marking *marking)
{
	(void)n;
	(void)what;
	(void)marking;
	return 0;
}
#endif
