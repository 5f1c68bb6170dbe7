/* SPDX-License-Identifier: MIT */
/* Binomial tree over virtual ranks 0 .. n - 1, rooted at 0: the parent of v is v without its lowest set bit; its children are v + bit for
 * the bits below that. */
#ifndef ALGO_PATTERN_TREE_H
#define ALGO_PATTERN_TREE_H

#include <stdbool.h>

static inline int tree_parent(int v)
{
	return v & (v - 1); /* 0 for the root, which has none */
}

static inline bool tree_has_child(int v, int bit, int n)
{
	return (v == 0 || bit < (v & -v)) && bit < n - v;
}

/* The widest bit that can name a child: loops run over bit = 1, 2, 4 ... tree_top(n). */
static inline int tree_top(int n)
{
	int bit = 1;

	while (bit < n - bit)
		bit *= 2;
	return bit;
}

static inline bool tree_is_leaf(int v, int n)
{
	return !tree_has_child(v, 1, n);
}

#endif
