/* SPDX-License-Identifier: MIT */
/* Converts sixteen elements of a narrow type to floats and back, with the bits of ops.h's conversions. */
#ifndef KERN_HOST_WIDEN_H
#define KERN_HOST_WIDEN_H

#include <stdint.h>

#define HOST_LANES 16

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

static inline void host_widen_F16(float *out, const uint16_t *in)
{
	const __m128i *from = (const __m128i *)(const void *)in;

	_mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(from)));
	_mm256_storeu_ps(out + 8, _mm256_cvtph_ps(_mm_loadu_si128(from + 1)));
}

/* One store instead of two: host_line.h loads all of it at once, which two stores would delay. */
static inline void host_narrow_F16(uint16_t *out, const float *in)
{
	__m128i low = _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT);
	__m128i high = _mm256_cvtps_ph(_mm256_loadu_ps(in + 8), _MM_FROUND_TO_NEAREST_INT);

	_mm256_storeu_si256((__m256i *)(void *)out, _mm256_set_m128i(high, low));
}

/* The even elements, then the odd ones: a word holds two, which a shift and a mask turn into floats. */
static inline void host_widen_BF16(float *out, const uint16_t *in)
{
	__m256i pairs = _mm256_loadu_si256((const __m256i *)(const void *)in);

	_mm256_storeu_ps(out, _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)));
	_mm256_storeu_ps(out + 8, _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32((int)0xffff0000))));
}

/* Rounds to nearest even in the upper half of each word.  A NaN is not rounded, which could make it an infinity; its
 * upper half is a NaN already.  (AVX-512's own conversion flushes subnormals.) */
static inline __m256i host_round_BF16(__m256 value)
{
	__m256i bits = _mm256_castps_si256(value),
		odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
	__m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));

	return _mm256_add_epi32(bits, _mm256_andnot_si256(is_nan, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))));
}

static inline void host_narrow_BF16(uint16_t *out, const float *in)
{
	__m256i even = _mm256_srli_epi32(host_round_BF16(_mm256_loadu_ps(in)), 16),
		odd = host_round_BF16(_mm256_loadu_ps(in + 8));

	_mm256_storeu_si256((__m256i *)(void *)out, _mm256_blend_epi16(even, odd, 0xaa));
}
#define HOST_HAS_16
#endif

/* Not inline: the copies in every loop of every operator would be most of the library's code. */
#define HOST_CONVERSION static __attribute__((noinline)) void

#define HOST_CONVERT(dtype, type, from, to)                                                                            \
	HOST_CONVERSION host_widen_##dtype(float *restrict out, const type *restrict in)                               \
	{                                                                                                              \
		for (int lane = 0; lane < HOST_LANES; lane++)                                                          \
			out[lane] = from(in[lane]);                                                                    \
	}                                                                                                              \
	HOST_CONVERSION host_narrow_##dtype(type *restrict out, const float *restrict in)                              \
	{                                                                                                              \
		for (int lane = 0; lane < HOST_LANES; lane++)                                                          \
			out[lane] = to(in[lane]);                                                                      \
	}

#ifndef HOST_HAS_16
HOST_CONVERT(F16, uint16_t, ops_from_half, ops_to_half)
HOST_CONVERT(BF16, uint16_t, ops_from_bf16, ops_to_bf16)
#endif
HOST_CONVERT(F8E4M3, uint8_t, ops_from_f8e4m3, ops_to_f8e4m3)
HOST_CONVERT(F8E5M2, uint8_t, ops_from_f8e5m2, ops_to_f8e5m2)
#undef HOST_CONVERT
#undef HOST_CONVERSION

#endif
