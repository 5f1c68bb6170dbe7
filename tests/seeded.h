/* SPDX-License-Identifier: MIT */
/* splitmix64: numbers that follow from a seed. */
#ifndef TESTS_SEEDED_H
#define TESTS_SEEDED_H

#include <stdint.h>

/* random_mix: of one number another one.  random_next: the next of a state.  random_below: one of 0 .. n-1. */
static inline uint64_t random_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = random_mix(*state);

	*state += UINT64_C(0x9e3779b97f4a7c15);
	return x;
}

static inline int random_below(uint64_t *state, int n)
{
	return (int)(random_next(state) % (uint64_t)n);
}

#endif
