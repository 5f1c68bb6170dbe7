/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same on every rank: splitmix64 (Steele, Lea and Flood 2014), one 64-bit word of state. */
#ifndef TRAIN_RANDOM_H
#define TRAIN_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* random_stream: the state to start with for one use (a step, an epoch, a table) of a seed; streams do not overlap in
 * practice. */
static inline uint64_t random_stream(uint64_t seed, uint64_t use, uint64_t index)
{
	uint64_t state = seed;

	state = random_next(&state) ^ use * 0xd1342543de82ef95u;
	state = random_next(&state) ^ index;
	return random_next(&state);
}

/* random_unit: uniform in [0, 1).  random_below: uniform in 0 ... n - 1 (the bias of n / 2^64 does not matter here). */
static inline double random_unit(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)random_next(state) * n) >> 64);
}

/* What streams are for. */
enum random_use { RANDOM_TABLE = 1, RANDOM_ORDER = 2, RANDOM_CANDIDATES = 3 };

#endif
