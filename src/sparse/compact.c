/* SPDX-License-Identifier: MIT */
/* With AVX-512 16 indices are taken in a few instructions, and what is kept of them is packed by one. */
#include "sparse/compact.h"

#include "base/simd.h"

#ifdef __x86_64__
#include <immintrin.h>
#define WITH_COMPRESS __attribute__((target("popcnt,avx512f")))
#define HAS_COMPRESS  (__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("avx512f"))
#endif

/* Indices [from, n) behind the k that are packed.  Written whether wanted or not: a branch would be missed half of the
 * time. */
EITHER_WAY size_t range_body(const int32_t *ind, const uint32_t *with, size_t from, size_t n, uint32_t lo,
                             uint32_t span, uint32_t *key, uint32_t *out, size_t k)
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
WITH_COMPRESS static size_t range_packed(const int32_t *ind, const uint32_t *with, size_t n, uint32_t lo, uint32_t span,
                                         uint32_t *key, uint32_t *out)
{
	const __m512i los = _mm512_set1_epi32((int)lo), spans = _mm512_set1_epi32((int)span),
		      step = _mm512_set1_epi32(16);
	__m512i here = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	size_t k = 0, i = 0;

	for (; i + 16 <= n; i += 16) {
		__m512i x = _mm512_sub_epi32(_mm512_loadu_si512(ind + i), los);
		__mmask16 wanted = _mm512_cmplt_epu32_mask(x, spans);

		_mm512_storeu_si512(key + k, _mm512_maskz_compress_epi32(wanted, x));
		_mm512_storeu_si512(
		    out + k, _mm512_maskz_compress_epi32(wanted, with == NULL ? here : _mm512_loadu_si512(with + i)));
		here = _mm512_add_epi32(here, step);
		k += (size_t)__builtin_popcount(wanted);
	}
	return range_body(ind, with, i, n, lo, span, key, out, k);
}
#endif

size_t compact_range(const int32_t *ind, int64_t base, const uint32_t *with, size_t n, struct index_range range,
                     uint32_t *key, uint32_t *out)
{
	uint32_t lo = (uint32_t)(range.lo - base), span = (uint32_t)index_range_span(range);

#ifdef WITH_COMPRESS
	if (HAS_COMPRESS)
		return range_packed(ind, with, n, lo, span, key, out);
#endif
	return range_body(ind, with, 0, n, lo, span, key, out, 0);
}
