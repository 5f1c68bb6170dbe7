/* SPDX-License-Identifier: MIT */
/* Note [popcount].  Baseline x86-64 has no instruction for it, and the bit tricks that replace it are a third of a
 * bitmap's time; so what counts bits is compiled twice and chosen when it runs. */
#include "sparse/bits.h"

#include "base/simd.h"

#include <string.h>

#ifdef __x86_64__
#define WITH_POPCOUNT __attribute__((target("popcnt,bmi")))
#define HAS_POPCOUNT  (__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi"))
#else
#define WITH_POPCOUNT
#define HAS_POPCOUNT 1
#endif
#ifdef __x86_64__
#define WITH_COMPRESS __attribute__((target("popcnt,avx512f,avx512bw,avx512vbmi2")))
#define HAS_COMPRESS  (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw"))
#include <immintrin.h>
#endif

/* Note [four at a time].  How many bits a word has cannot be predicted, so four positions are written whatever there
 * is, and the next word begins behind the real ones: a branch that is missed costs more than four stores. */
#define AT_ONCE 4

EITHER_WAY size_t take_body(uint64_t *bitmap, size_t words, uint16_t *at)
{
	size_t n = 0;

	for (size_t w = 0; w < words; w++) {
		uint64_t bits = bitmap[w];
		size_t count = (size_t)__builtin_popcountll(bits), k = n;

		if (bits == 0)
			continue;
		bitmap[w] = 0;
		do {
			for (int i = 0; i < AT_ONCE; i++) {
				at[k + (size_t)i] =
				    (uint16_t)(w * 64 + (size_t)__builtin_ctzll(bits | UINT64_C(1) << 63));
				bits &= bits - 1;
			}
			k += AT_ONCE;
		} while (bits != 0);
		n += count;
	}
	return n;
}

WITH_POPCOUNT static size_t take_fast(uint64_t *bitmap, size_t words, uint16_t *at)
{
	return take_body(bitmap, words, at);
}

#ifdef WITH_COMPRESS
/* One instruction packs the numbers of a word's set bits, however many they are. */
WITH_COMPRESS static size_t take_packed(uint64_t *bitmap, size_t words, uint16_t *at)
{
	uint8_t bytes[64];
	__m512i number;
	size_t n = 0;

	for (int i = 0; i < 64; i++)
		bytes[i] = (uint8_t)i;
	number = _mm512_loadu_si512(bytes);
	for (size_t w = 0; w < words; w++) {
		uint64_t bits = bitmap[w];
		size_t count = (size_t)__builtin_popcountll(bits);
		__m512i packed = _mm512_maskz_compress_epi8(bits, number), base = _mm512_set1_epi16((short)(w * 64));

		bitmap[w] = 0;
		_mm512_storeu_si512(at + n,
		                    _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed)), base));
		if (count > 32)
			_mm512_storeu_si512(
			    at + n + 32,
			    _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(packed, 1)), base));
		n += count;
	}
	return n;
}
#endif

#ifdef WITH_COMPRESS
/* Whole vectors are written, the ones that follow over what was too much; only where there is no room for that just
 * what counts. */
WITH_COMPRESS static void pack(const uint64_t *bitmap, size_t words, uint32_t *cells, uint32_t nothing, uint32_t *to,
                               uint64_t room)
{
	const __m512i empty = _mm512_set1_epi32((int)nothing);
	uint64_t n = 0;

	for (size_t i = 0; i < words * 4; i++) {
		__mmask16 bits = (__mmask16)(bitmap[i / 4] >> (i % 4 * 16));
		__m512i packed = _mm512_maskz_compress_epi32(bits, _mm512_loadu_si512(cells + i * 16));
		unsigned count = (unsigned)__builtin_popcount(bits);

		_mm512_storeu_si512(cells + i * 16, empty);
		if (room - n >= 16)
			_mm512_storeu_si512(to + n, packed);
		else
			_mm512_mask_storeu_epi32(to + n, (__mmask16)((1u << count) - 1), packed);
		n += count;
	}
}

WITH_COMPRESS static uint64_t indices_packed(const uint64_t *bitmap, size_t words, int32_t first, int32_t *to,
                                             uint64_t room)
{
	const __m512i step = _mm512_set1_epi32(16);
	__m512i index = _mm512_add_epi32(_mm512_set1_epi32(first),
	                                 _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
	uint64_t n = 0;

	for (size_t i = 0; i < words * 4; i++) {
		__mmask16 bits = (__mmask16)(bitmap[i / 4] >> (i % 4 * 16));
		__m512i packed = _mm512_maskz_compress_epi32(bits, index);
		unsigned count = (unsigned)__builtin_popcount(bits);

		if (room - n >= 16)
			_mm512_storeu_si512(to + n, packed);
		else
			_mm512_mask_storeu_epi32(to + n, (__mmask16)((1u << count) - 1), packed);
		index = _mm512_add_epi32(index, step);
		n += count;
	}
	return n;
}
#endif

bool bits_pack(const uint64_t *bitmap, size_t words, uint32_t *cells, uint32_t nothing, uint32_t *to, uint64_t room)
{
#ifdef WITH_COMPRESS
	if (HAS_COMPRESS) {
		pack(bitmap, words, cells, nothing, to, room);
		return true;
	}
#endif
	(void)bitmap, (void)words, (void)cells, (void)nothing, (void)to, (void)room;
	return false;
}

uint64_t bits_indices(const uint64_t *bitmap, size_t words, int32_t first, int32_t *to, uint64_t room)
{
	uint64_t n = 0;

#ifdef WITH_COMPRESS
	if (HAS_COMPRESS)
		return indices_packed(bitmap, words, first, to, room);
#endif
	for (size_t w = 0; w < words; w++)
		for (uint64_t left = bitmap[w]; left != 0; left &= left - 1)
			to[n++] = first + (int32_t)(w * 64) + __builtin_ctzll(left);
	return n;
}

size_t bits_take(uint64_t *bitmap, size_t words, uint16_t *at)
{
#ifdef WITH_COMPRESS
	if (HAS_COMPRESS)
		return take_packed(bitmap, words, at);
#endif
	return HAS_POPCOUNT ? take_fast(bitmap, words, at) : take_body(bitmap, words, at);
}

EITHER_WAY uint64_t count_body(const uint64_t *bitmap, uint64_t words)
{
	uint64_t count = 0;

	for (uint64_t w = 0; w < words; w++)
		count += (uint64_t)__builtin_popcountll(bitmap[w]);
	return count;
}

WITH_POPCOUNT static uint64_t count_fast(const uint64_t *bitmap, uint64_t words)
{
	return count_body(bitmap, words);
}

uint64_t bits_count(const uint64_t *bitmap, uint64_t words)
{
	return HAS_POPCOUNT ? count_fast(bitmap, words) : count_body(bitmap, words);
}

EITHER_WAY uint64_t before_body(const uint64_t *bitmap, uint64_t words, uint32_t *before)
{
	uint64_t count = 0;

	for (uint64_t w = 0; w < words; w++) {
		before[w] = (uint32_t)count;
		count += (uint64_t)__builtin_popcountll(bitmap[w]);
	}
	return count;
}

WITH_POPCOUNT static uint64_t before_fast(const uint64_t *bitmap, uint64_t words, uint32_t *before)
{
	return before_body(bitmap, words, before);
}

uint64_t bits_before(const uint64_t *bitmap, uint64_t words, uint32_t *before)
{
	return HAS_POPCOUNT ? before_fast(bitmap, words, before) : before_body(bitmap, words, before);
}

EITHER_WAY void places_body(const uint64_t *bitmap, const uint32_t *before, const uint64_t *at, size_t n,
                            uint64_t *place)
{
	for (size_t k = 0; k < n; k++) {
		uint64_t x = at[k], below = (UINT64_C(1) << (x % 64)) - 1;

		place[k] = before[x / 64] + (uint64_t)__builtin_popcountll(bitmap[x / 64] & below);
	}
}

WITH_POPCOUNT static void places_fast(const uint64_t *bitmap, const uint32_t *before, const uint64_t *at, size_t n,
                                      uint64_t *place)
{
	places_body(bitmap, before, at, n, place);
}

void bits_places(const uint64_t *bitmap, const uint32_t *before, const uint64_t *at, size_t n, uint64_t *place)
{
	if (HAS_POPCOUNT)
		places_fast(bitmap, before, at, n, place);
	else
		places_body(bitmap, before, at, n, place);
}
