/* SPDX-License-Identifier: MIT */
#include "topk/mark.h"

#include "base/simd.h"

#ifdef __x86_64__
#include <immintrin.h>

#define LANES 8

/* All bits of each lane whose bit of eight, from `first` on, is set. */
WITH_AVX2 static inline __m256 lanes_of(__m256i word, int first)
{
	const __m256i bits = _mm256_slli_epi32(_mm256_setr_epi32(1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80), first);

	return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(word, bits), bits));
}

/* 32 elements; returns their bits of the mask. */
WITH_AVX2 static inline uint32_t mark_half(const float *residual, const float *grad, float *acc, float *copy,
                                           uint32_t gone, const __m256 scales[2], __m256i below)
{
	const __m256i word = _mm256_set1_epi32((int)gone), keys = _mm256_set1_epi32(INT32_MAX);
	uint32_t mask = 0;

	for (int i = 0; i < 32; i += LANES) {
		__m256 old = _mm256_andnot_ps(lanes_of(word, i), _mm256_loadu_ps(residual + i)),
		       sum = _mm256_add_ps(_mm256_mul_ps(scales[0], old),
		                           _mm256_mul_ps(scales[1], _mm256_loadu_ps(grad + i)));
		__m256i key = _mm256_and_si256(_mm256_castps_si256(sum), keys);

		_mm256_stream_ps(acc + i, sum);
		_mm256_storeu_ps(copy + i, sum);
		mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(key, below))) << i;
	}
	return mask;
}

bool mark_is_supported(void)
{
	return HAS_AVX2;
}

/* Keys are below half of their unsigned range, so a signed comparison serves. */
WITH_AVX2 void mark_block(uint64_t n, const struct accumulation *what, const struct marking *marking)
{
	const float *grad = what->grad, *residual = what->residual != NULL ? what->residual : grad;
	const uint64_t none = what->residual != NULL ? 0 : UINT64_MAX;
	const __m256 scales[2] = { _mm256_set1_ps((float)what->decay), _mm256_set1_ps((float)what->scale) };
	const __m256i below = _mm256_set1_epi32((int)(marking->least - 1));
	float *acc = what->acc;

	for (uint64_t i = 0; i < n; i += 64) {
		const uint64_t gone = marking->gone[i / 64] | none;
		float *copy = marking->copy + i;
		uint64_t low = mark_half(residual + i, grad + i, acc + i, copy, (uint32_t)gone, scales, below),
			 high = mark_half(residual + i + 32, grad + i + 32, acc + i + 32, copy + 32,
		                          (uint32_t)(gone >> 32), scales, below);

		marking->mask[i / 64] = low | high << 32;
	}
}
#else
bool mark_is_supported(void)
{
	return false;
}

void mark_block(uint64_t n, const struct accumulation *what, const struct marking *marking)
{
	(void)n;
	(void)what;
	(void)marking;
}
#endif
