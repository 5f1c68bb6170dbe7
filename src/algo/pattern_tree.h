/* SPDX-License-Identifier: MIT */
/* K-nomial trees over virtual ranks 0 .. n - 1, rooted at 0.  Written in base `radix`, the parent of v is v without its
 * lowest nonzero digit; its children are v with a digit below that one set.  Radix 2 is the binomial tree.  Radix 1 is
 * a chain: the parent of v is v - 1. */
#ifndef ALGO_PATTERN_TREE_H
#define ALGO_PATTERN_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define TREE_MOST_CHILDREN 64 /* radix 4: three for each of at most 16 digits */

static inline int tree_parent(int v, int radix)
{
	int64_t weight = 1;

	if (radix == 1)
		return v - 1; /* the root has none */
	while (v != 0 && v % (weight * radix) == 0)
		weight *= radix;
	return (int)(v - v % (weight * radix));
}

/* The i-th child, nearest first; -1 past the last one. */
static inline int tree_child(int v, int i, int radix, int n)
{
	int64_t weight = 1, child;

	if (radix == 1)
		return i == 0 && v + 1 < n ? v + 1 : -1;
	for (; i >= radix - 1; i -= radix - 1)
		weight *= radix;
	child = v + (i + 1) * weight;
	return v % (weight * radix) == 0 && child < n ? (int)child : -1;
}

static inline int tree_children(int v, int radix, int n)
{
	int i = 0;

	while (tree_child(v, i, radix, n) >= 0)
		i++;
	return i;
}

static inline bool tree_is_leaf(int v, int radix, int n)
{
	return tree_child(v, 0, radix, n) < 0;
}

/* The binomial tree: true if w is in v's subtree or is v: the ranks from v to v + (its lowest set bit) - 1. */
static inline bool tree_holds(int v, int w)
{
	return v == 0 || (w >= v && w - v < (v & -v));
}

/* The binomial tree over n: the ranks of v's subtree, which are v, v + 1 and so on. */
static inline int tree_size(int v, int n)
{
	int most = v == 0 ? n : v & -v;

	return most < n - v ? most : n - v;
}

/* The binomial tree: the child of v whose subtree contains w, a rank below v. */
static inline int tree_branch(int v, int w)
{
	int bit = 1;

	while (bit <= (w - v) / 2)
		bit *= 2;
	return v + bit;
}

#endif
