/* SPDX-License-Identifier: MIT */
/* Turns in which all of n ranks exchange with one other each, so that in n turns everybody meets everybody, itself too:
 * where n is even itself in the last turn, where it is odd in a turn of its own (the circle method of tournaments).  A
 * turn's partner of a rank's partner is that rank. */
#ifndef ALGO_PATTERN_PAIRS_H
#define ALGO_PATTERN_PAIRS_H

#include "algo/pattern_ring.h"

/* Even n: rank n - 1 stands in the middle of a circle of the others, and meets whom the circle leaves alone. */
static inline int pairs_partner(int rank, int turn, int n)
{
	int circle = n % 2 != 0 ? n : n - 1, other;

	if (turn == circle)
		return rank;
	if (rank == circle)
		return turn * (n / 2) % circle;
	other = ring_at(turn - rank, circle);
	return other == rank && n % 2 == 0 ? circle : other;
}

/* When two ranks meet. */
static inline int pairs_turn(int a, int b, int n)
{
	int circle = n % 2 != 0 ? n : n - 1;

	if (a == b && n % 2 == 0)
		return circle;
	if (a == circle || b == circle)
		return 2 * (a == circle ? b : a) % circle;
	return (a + b) % circle;
}

#endif
