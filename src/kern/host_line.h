/* SPDX-License-Identifier: MIT */
/* Stores one cache line of results. */
#ifndef KERN_HOST_LINE_H
#define KERN_HOST_LINE_H

#include "kern/host_twin.h"

#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX2__)
/* host_put_line: nt: by non-temporal stores; `to` is then aligned to a line. */
static inline void host_put_line(unsigned char *to, const unsigned char *line, bool nt)
{
	__m256i a = _mm256_load_si256((const __m256i *)(const void *)line),
		b = _mm256_load_si256((const __m256i *)(const void *)(line + 32));

	if (nt) {
		_mm256_stream_si256((__m256i *)(void *)to, a);
		_mm256_stream_si256((__m256i *)(void *)(to + 32), b);
	} else {
		_mm256_storeu_si256((__m256i *)(void *)to, a);
		_mm256_storeu_si256((__m256i *)(void *)(to + 32), b);
	}
}
#elif defined(__SSE2__)
static inline void host_put_line(unsigned char *to, const unsigned char *line, bool nt)
{
	for (size_t i = 0; i < HOST_LINE_BYTES; i += sizeof(__m128i)) {
		__m128i part = _mm_load_si128((const __m128i *)(const void *)(line + i));

		if (nt)
			_mm_stream_si128((__m128i *)(void *)(to + i), part);
		else
			_mm_storeu_si128((__m128i *)(void *)(to + i), part);
	}
}
#else
static inline void host_put_line(unsigned char *to, const unsigned char *line, bool nt)
{
	(void)nt;
	memcpy(to, line, HOST_LINE_BYTES);
}
#endif

#endif
