/* SPDX-License-Identifier: MIT */
/* A cache line of results to where it belongs, as it comes from the registers. */
#ifndef KERN_HOST_LINE_H
#define KERN_HOST_LINE_H

#include "kern/host_twin.h"

#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX2__)
/* past: past the cache; then `to` begins a line. */
static inline void host_put_line(unsigned char *to, const unsigned char *line, bool past)
{
	__m256i a = _mm256_load_si256((const __m256i *)(const void *)line),
		b = _mm256_load_si256((const __m256i *)(const void *)(line + 32));

	if (past) {
		_mm256_stream_si256((__m256i *)(void *)to, a);
		_mm256_stream_si256((__m256i *)(void *)(to + 32), b);
	} else {
		_mm256_storeu_si256((__m256i *)(void *)to, a);
		_mm256_storeu_si256((__m256i *)(void *)(to + 32), b);
	}
}
#elif defined(__SSE2__)
static inline void host_put_line(unsigned char *to, const unsigned char *line, bool past)
{
	for (size_t i = 0; i < HOST_LINE_BYTES; i += sizeof(__m128i)) {
		__m128i part = _mm_load_si128((const __m128i *)(const void *)(line + i));

		if (past)
			_mm_stream_si128((__m128i *)(void *)(to + i), part);
		else
			_mm_storeu_si128((__m128i *)(void *)(to + i), part);
	}
}
#else
static inline void host_put_line(unsigned char *to, const unsigned char *line, bool past)
{
	(void)past;
	memcpy(to, line, HOST_LINE_BYTES);
}
#endif

#endif
