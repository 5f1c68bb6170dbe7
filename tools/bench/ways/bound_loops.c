/* SPDX-License-Identifier: MIT */
#include "bound_loops.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK_BYTES = 4096, BLOCK_FLOATS = BLOCK_BYTES / sizeof(float), LINE = 64 };

/* Cloned for wider vectors where the compiler and the C library can choose at load time. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                           \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

WIDE static void add_into_one(const float *restrict a, const float *restrict b, float *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = a[i] + b[i];
}

WIDE static void add_into_two(const float *restrict a, const float *restrict b, float *restrict x, float *restrict y,
                              size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float sum = a[i] + b[i];

		x[i] = sum;
		y[i] = sum;
	}
}

WIDE static void add(const float *restrict a, float *restrict sum, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum[i] += a[i];
}

static void store_nt(char *dst, const char *src, size_t bytes)
{
#ifdef __SSE2__
	size_t head = (LINE - (uintptr_t)dst % LINE) % LINE, at;

	if (bytes < head + LINE) {
		memcpy(dst, src, bytes);
		return;
	}
	memcpy(dst, src, head);
	for (at = head; at + LINE <= bytes; at += LINE)
		for (size_t i = at; i < at + LINE; i += sizeof(__m128i))
			_mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
	memcpy(dst + at, src + at, bytes - at);
#else
	memcpy(dst, src, bytes);
#endif
}

static void fence(bool nt)
{
#ifdef __SSE2__
	if (nt)
		_mm_sfence();
#else
	(void)nt;
#endif
}

static void store(char *dst, const char *src, size_t bytes, bool nt)
{
	if (nt)
		store_nt(dst, src, bytes);
	else
		memcpy(dst, src, bytes);
}

void bound_copy(char *const *dst, int n_dst, const char *src, size_t bytes, bool nt)
{
	/* One destination needs no blocks: the C library's memcpy knows the machine. */
	size_t block = n_dst == 1 ? bytes : BLOCK_BYTES;

	for (size_t at = 0; at < bytes; at += block) {
		size_t n = bytes - at < block ? bytes - at : block;

		for (int d = 0; d < n_dst; d++)
			store(dst[d] + at, src + at, n, nt);
	}
	fence(nt);
}

/* Any number of either: a block at a time in the cache. */
static void sum_by_blocks(float *const *dst, int n_dst, const float *const *src, int n_src, size_t count, bool nt)
{
	float sum[BLOCK_FLOATS];

	for (size_t at = 0; at < count; at += BLOCK_FLOATS) {
		size_t n = count - at < BLOCK_FLOATS ? count - at : BLOCK_FLOATS;

		if (n_src > 1)
			add_into_one(src[0] + at, src[1] + at, sum, n);
		else
			memcpy(sum, src[0] + at, n * sizeof *sum);
		for (int s = 2; s < n_src; s++)
			add(src[s] + at, sum, n);
		for (int d = 0; d < n_dst; d++)
			store((char *)(dst[d] + at), (const char *)sum, n * sizeof *sum, nt);
	}
}

void bound_sum(float *const *dst, int n_dst, const float *const *src, int n_src, size_t count, bool nt)
{
	if (!nt && n_src == 2 && n_dst == 1)
		add_into_one(src[0], src[1], dst[0], count);
	else if (!nt && n_src == 2 && n_dst == 2)
		add_into_two(src[0], src[1], dst[0], dst[1], count);
	else
		sum_by_blocks(dst, n_dst, src, n_src, count, nt);
	fence(nt);
}
