/* SPDX-License-Identifier: MIT */
/* Note [popcount].  Baseline x86-64 has no instruction for it, and the bit tricks that replace it are a third of a bitmap's time; so what counts bits is
 * compiled twice and chosen when it runs. */
#include "sparse/bits.h"

#ifdef __x86_64__
#define WITH_POPCOUNT __attribute__((target("popcnt,bmi")))
#define HAS_POPCOUNT (__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi"))
#else
#define WITH_POPCOUNT
#define HAS_POPCOUNT 1
#endif
#define EITHER_WAY static inline __attribute__((always_inline))

/* Note [four at a time].  How many bits a word has cannot be predicted, so four positions are written whatever there is, and the next word begins behind the
 * real ones: a branch that is missed costs more than four stores. */
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
				at[k + (size_t)i] = (uint16_t)(w * 64 + (size_t)__builtin_ctzll(bits | UINT64_C(1) << 63));
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

size_t bits_take(uint64_t *bitmap, size_t words, uint16_t *at)
{
	return HAS_POPCOUNT ? take_fast(bitmap, words, at) : take_body(bitmap, words, at);
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

EITHER_WAY void places_body(const uint64_t *bitmap, const uint32_t *before, const uint64_t *at, size_t n, uint64_t *place)
{
	for (size_t k = 0; k < n; k++) {
		uint64_t x = at[k], below = (UINT64_C(1) << (x % 64)) - 1;

		place[k] = before[x / 64] + (uint64_t)__builtin_popcountll(bitmap[x / 64] & below);
	}
}

WITH_POPCOUNT static void places_fast(const uint64_t *bitmap, const uint32_t *before, const uint64_t *at, size_t n, uint64_t *place)
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
