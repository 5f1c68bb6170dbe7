/* SPDX-License-Identifier: MIT */
#include "topk/cut.h"

uint64_t cut_even(uint64_t n, uint64_t r, uint64_t parts)
{
	return n / parts * r + (r < n % parts ? r : n % parts);
}

/* Whole parts and remainders apart. */
void cut_average(const uint64_t *votes, uint64_t ranks, uint64_t n, uint64_t *bounds)
{
	for (uint64_t j = 1; j < ranks; j++) {
		uint64_t whole = 0, rest = 0;

		for (uint64_t r = 0; r < ranks; r++) {
			whole += votes[r * ranks + j] / ranks;
			rest += votes[r * ranks + j] % ranks;
		}
		bounds[j] = whole + rest / ranks;
	}
	bounds[0] = 0;
	bounds[ranks] = n;
}
