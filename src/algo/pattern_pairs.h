/* SPDX-License-Identifier: MIT */
/* The circle method of tournaments: n turns in which every rank exchanges with one other, so that each pair of ranks
 * has one turn.  A rank also has one turn with itself: the last one where n is even, a turn of its own where n is
 * odd. */
#ifndef ALGO_PATTERN_PAIRS_H
#define ALGO_PATTERN_PAIRS_H

#include "algo/pattern_ring.h"

/* Even n: rank n - 1 is paired with the rank that the circle of the others leaves alone. */
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

/* The turn of two ranks. */
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
