/* SPDX-License-Identifier: MIT */
/* Each loop is compiled for what the CPU has, as in Note [popcount] of bits.c; the AVX-512 ones take 16 indices, or a word's bits, in a few instructions:
 * 0.13 ns an index looked at, against 0.55, and 1.7 ns a word of 2 or 3 bits, against 2.2.  Wide stores that are not aligned take their time: the first of
 * a word is of 16 bytes, which is enough for most; of 32 it took 2.4 ns. */
#include "sparse/compact.h"

#define EITHER_WAY static inline __attribute__((always_inline))

#ifdef __x86_64__
#include <immintrin.h>
#define WITH_POPCOUNT __attribute__((target("popcnt,bmi,bmi2")))
#define HAS_POPCOUNT  (__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2"))
#define WITH_COMPRESS __attribute__((target("popcnt,bmi,avx512f,avx512bw,avx512vbmi2")))
#define HAS_COMPRESS  (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw"))
#else
#define WITH_POPCOUNT
#define HAS_POPCOUNT 1
#endif

/* Indices [from, n) behind the k that are packed.  Written whether wanted or not: a branch would be missed half of the time. */
EITHER_WAY size_t range_body(const int32_t *ind, const uint32_t *with, size_t from, size_t n, uint32_t lo, uint32_t span, uint32_t *key, uint32_t *out, size_t k)
{
	for (size_t i = from; i < n; i++) {
		uint32_t x = (uint32_t)ind[i] - lo;

		key[k] = x;
		out[k] = with == NULL ? (uint32_t)i : with[i];
		k += x < span;
	}
	return k;
}

#ifdef WITH_COMPRESS
WITH_COMPRESS static size_t range_packed(const int32_t *ind, const uint32_t *with, size_t n, uint32_t lo, uint32_t span, uint32_t *key, uint32_t *out)
{
	const __m512i los = _mm512_set1_epi32((int)lo), spans = _mm512_set1_epi32((int)span), step = _mm512_set1_epi32(16);
	__m512i here = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	size_t k = 0, i = 0;

	for (; i + 16 <= n; i += 16) {
		__m512i x = _mm512_sub_epi32(_mm512_loadu_si512(ind + i), los);
		__mmask16 wanted = _mm512_cmplt_epu32_mask(x, spans);

		_mm512_storeu_si512(key + k, _mm512_maskz_compress_epi32(wanted, x));
		_mm512_storeu_si512(out + k, _mm512_maskz_compress_epi32(wanted, with == NULL ? here : _mm512_loadu_si512(with + i)));
		here = _mm512_add_epi32(here, step);
		k += (size_t)__builtin_popcount(wanted);
	}
	return range_body(ind, with, i, n, lo, span, key, out, k);
}
#endif

size_t compact_range(const int32_t *ind, int64_t base, const uint32_t *with, size_t n, struct index_range range, uint32_t *key, uint32_t *out)
{
	uint32_t lo = (uint32_t)(range.lo - base), span = (uint32_t)index_range_span(range);

#ifdef WITH_COMPRESS
	if (HAS_COMPRESS)
		return range_packed(ind, with, n, lo, span, key, out);
#endif
	return range_body(ind, with, 0, n, lo, span, key, out, 0);
}

/* Four at a time whatever there is: see bits.c. */
EITHER_WAY size_t bits_body(const uint64_t *bitmap, size_t words, int32_t first, int32_t *ind, uint32_t *before)
{
	size_t n = 0;

	for (size_t w = 0; w < words; w++) {
		uint64_t bits = bitmap[w];
		size_t k = n;

		before[w] = (uint32_t)n;
		n += (size_t)__builtin_popcountll(bits);
		for (; bits != 0; k += 4)
			for (size_t i = 0; i < 4; i++) {
				ind[k + i] = first + (int32_t)(w * 64) + __builtin_ctzll(bits | UINT64_C(1) << 63);
				bits &= bits - 1;
			}
	}
	return n;
}

WITH_POPCOUNT static size_t bits_fast(const uint64_t *bitmap, size_t words, int32_t first, int32_t *ind, uint32_t *before)
{
	return bits_body(bitmap, words, first, ind, before);
}

#ifdef WITH_COMPRESS
WITH_COMPRESS static size_t bits_packed(const uint64_t *bitmap, size_t words, int32_t first, int32_t *ind, uint32_t *before)
{
	const __m128i step = _mm_set1_epi32(64);
	__m128i base = _mm_set1_epi32(first);
	__m512i number;
	uint8_t bytes[64];
	size_t n = 0;

	for (int i = 0; i < 64; i++)
		bytes[i] = (uint8_t)i;
	number = _mm512_loadu_si512(bytes);
	for (size_t w = 0; w < words; w++) {
		size_t count = (size_t)__builtin_popcountll(bitmap[w]);
		__m512i packed = _mm512_maskz_compress_epi8(bitmap[w], number);

		before[w] = (uint32_t)n;
		_mm_storeu_si128((__m128i *)(void *)(ind + n), _mm_add_epi32(_mm_cvtepu8_epi32(_mm512_castsi512_si128(packed)), base));
		for (size_t k = 0; count > 4 && k < count; k += 16) {
			_mm512_storeu_si512(ind + n + k, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed)), _mm512_broadcastd_epi32(base)));
			packed = _mm512_alignr_epi64(packed, packed, 2);
		}
		base = _mm_add_epi32(base, step);
		n += count;
	}
	return n;
}
#endif

size_t compact_bits(const uint64_t *bitmap, size_t words, int32_t first, int32_t *ind, uint32_t *before)
{
#ifdef WITH_COMPRESS
	if (HAS_COMPRESS)
		return bits_packed(bitmap, words, first, ind, before);
#endif
	return HAS_POPCOUNT ? bits_fast(bitmap, words, first, ind, before) : bits_body(bitmap, words, first, ind, before);
}
