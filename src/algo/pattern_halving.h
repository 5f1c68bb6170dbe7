/* SPDX-License-Identifier: MIT */
/* Recursive halving and doubling of `core` parts (a power of two) among as many members, farthest partner first when
 * halving, nearest first when doubling.  In the round of `bit` partners are id and id ^ bit.  Halving: both hold the
 * same 2 bit parts; each keeps the `bit` parts it will own and gives the others.  Doubling is the same backwards: each
 * has those parts and gets its partner's.  After the round of bit 1 (halving), or before it (doubling), member id holds
 * part id. */
#ifndef ALGO_PATTERN_HALVING_H
#define ALGO_PATTERN_HALVING_H

/* The first of the `bit` parts that id keeps (halving) or has (doubling) in that round. */
static inline int halving_first(int id, int bit)
{
	return id & ~(bit - 1);
}

#endif
