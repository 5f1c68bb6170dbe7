/* SPDX-License-Identifier: MIT */
/* Non-temporal stores write whole cache lines to memory without reading them first and without evicting other data. A
 * part of a line would cost a read and a write, so the unaligned ends of a destination take plain stores. */
#include "base/copy.h"

#include "base/arithmetic.h"

#include <stdint.h>
#include <string.h>

#define LINE_BYTES 64
/* From about this size on the C library copies with the string instruction, which is slower than plain loads and stores
 * between two cores' caches. */
#define STRING_BYTES 2048
/* Of two copies at once, so much of the one, then of the other. */
#define TURN_BYTES 1024

#ifdef __x86_64__
#include <immintrin.h>

typedef void (*lines_fn)(unsigned char *dst, const unsigned char *src, size_t lines, bool nt);

__attribute__((target("avx512f"))) static void lines_avx512(unsigned char *dst, const unsigned char *src, size_t lines,
                                                            bool nt)
{
	for (size_t i = 0; i < lines; i++) {
		__m512i *to = (__m512i *)(void *)(dst + i * LINE_BYTES),
			line = _mm512_loadu_si512(src + i * LINE_BYTES);

		if (nt)
			_mm512_stream_si512(to, line);
		else
			_mm512_store_si512(to, line);
	}
}

__attribute__((target("avx2"))) static void lines_avx2(unsigned char *dst, const unsigned char *src, size_t lines,
                                                       bool nt)
{
	const __m256i *from = (const __m256i *)(const void *)src;
	__m256i *to = (__m256i *)(void *)dst;

	for (size_t i = 0; i < 2 * lines; i += 2) {
		__m256i a = _mm256_loadu_si256(from + i), b = _mm256_loadu_si256(from + i + 1);

		if (nt) {
			_mm256_stream_si256(to + i, a);
			_mm256_stream_si256(to + i + 1, b);
		} else {
			_mm256_store_si256(to + i, a);
			_mm256_store_si256(to + i + 1, b);
		}
	}
}

static void lines_sse2(unsigned char *dst, const unsigned char *src, size_t lines, bool nt)
{
	const __m128i *from = (const __m128i *)(const void *)src;
	__m128i *to = (__m128i *)(void *)dst;

	for (size_t i = 0; i < 4 * lines; i++) {
		if (nt)
			_mm_stream_si128(to + i, _mm_loadu_si128(from + i));
		else
			_mm_store_si128(to + i, _mm_loadu_si128(from + i));
	}
}

static lines_fn widest(void)
{
	if (__builtin_cpu_supports("avx512f"))
		return lines_avx512;
	return __builtin_cpu_supports("avx2") ? lines_avx2 : lines_sse2;
}

static void copy_lines(unsigned char *dst, const unsigned char *src, size_t bytes, bool nt)
{
	size_t head = -(uintptr_t)dst % LINE_BYTES, lines;

	if (bytes < head + LINE_BYTES) {
		memcpy(dst, src, bytes);
		return;
	}
	memcpy(dst, src, head);
	lines = (bytes - head) / LINE_BYTES;
	widest()(dst + head, src + head, lines, nt);
	head += lines * LINE_BYTES;
	memcpy(dst + head, src + head, bytes - head);
}

void copy_host_nt(void *dst, const void *src, size_t bytes)
{
	copy_lines(dst, src, bytes, true);
}

void copy_host_plain(void *dst, const void *src, size_t bytes)
{
	if (bytes < STRING_BYTES)
		memcpy(dst, src, bytes);
	else
		copy_lines(dst, src, bytes, false);
}

void copy_host_fence(void)
{
	_mm_sfence();
}
#else
void copy_host_nt(void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
}

void copy_host_plain(void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
}

void copy_host_fence(void)
{
}
#endif

static void copy_stores(void *dst, const void *src, size_t bytes, bool nt)
{
	if (nt)
		copy_host_nt(dst, src, bytes);
	else
		copy_host_plain(dst, src, bytes);
}

void copy_host(void *dst, const void *src, size_t bytes, bool nt)
{
	copy_stores(dst, src, bytes, nt);
	if (nt)
		copy_host_fence();
}

static void prefetch(const unsigned char *src, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += LINE_BYTES)
		__builtin_prefetch(src + at);
}

/* The second is ahead by what lies before the first whole line of its destination. */
void copy_host_both(void *dst, const void *src, void *dst2, const void *src2, size_t bytes, bool nt2)
{
	unsigned char *to = dst, *to2 = dst2;
	const unsigned char *from = src, *from2 = src2;
	uint64_t lead = min_u64(-(uintptr_t)to2 % LINE_BYTES, bytes);

	memcpy(to2, from2, lead);
	for (size_t at = 0; at < bytes; at += TURN_BYTES) {
		uint64_t turn = min_u64(TURN_BYTES, bytes - at), at2 = min_u64(lead + at, bytes);
		uint64_t turn2 = min_u64(TURN_BYTES, bytes - at2);

		prefetch(from2 + at2, turn2);
		copy_host_nt(to + at, from + at, turn);
		copy_stores(to2 + at2, from2 + at2, turn2, nt2);
	}
	copy_host_fence();
}
