/* SPDX-License-Identifier: MIT */
/* A generator of numbers, and memory filled so that misplaced bytes show. */
#ifndef TESTS_NET_FILL_H
#define TESTS_NET_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline void fill(unsigned char *data, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)((unsigned char)(seed >> (i % 8 * 8)) ^ (unsigned char)(i * 7));
}

static inline bool is_filled(const unsigned char *data, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		if (data[i] != (unsigned char)((unsigned char)(seed >> (i % 8 * 8)) ^ (unsigned char)(i * 7)))
			return false;
	return true;
}

#endif
