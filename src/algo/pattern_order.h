/* SPDX-License-Identifier: MIT */
/* The orders in which a ring visits its n members: the member at each position, and the position of each member.
 *
 * AUTO       0 1 2 ... n-1
 * LINE       0 2 4 ... 5 3 1: neighbours are at most two apart, also at the ends, so a line needs no link back
 * PERIPHERY  0 1 ... n/2-1, n-1 ... n/2: up one column of a ladder of two, and down the other; n even
 * RUNG_k     0 k 2k ..., 1 k+1 ...: straight up each of the k columns of a ladder; k divides n */
#ifndef ALGO_PATTERN_ORDER_H
#define ALGO_PATTERN_ORDER_H

enum ring_order { ORDER_AUTO, ORDER_LINE, ORDER_PERIPHERY, ORDER_RUNG_2, ORDER_RUNG_4, ORDER_RUNG_8, N_RING_ORDERS };

static inline int order_columns(enum ring_order order)
{
	return order == ORDER_RUNG_2 ? 2 : order == ORDER_RUNG_4 ? 4 : 8;
}

/* order_fits: is there such an order of n members? */
static inline int order_fits(enum ring_order order, int n)
{
	if (order == ORDER_AUTO || order == ORDER_LINE)
		return 1;
	return n % (order == ORDER_PERIPHERY ? 2 : order_columns(order)) == 0;
}

static inline int order_member(enum ring_order order, int position, int n)
{
	int rows;

	switch (order) {
	case ORDER_LINE:
		return position < (n + 1) / 2 ? 2 * position : 2 * (n - 1 - position) + 1;
	case ORDER_PERIPHERY:
		return position < n / 2 ? position : n / 2 + n - 1 - position;
	case ORDER_RUNG_2:
	case ORDER_RUNG_4:
	case ORDER_RUNG_8:
		rows = n / order_columns(order);
		return position % rows * order_columns(order) + position / rows;
	default:
		return position;
	}
}

static inline int order_position(enum ring_order order, int member, int n)
{
	int columns;

	switch (order) {
	case ORDER_LINE:
		return member % 2 == 0 ? member / 2 : n - 1 - member / 2;
	case ORDER_PERIPHERY:
		return member < n / 2 ? member : n / 2 + n - 1 - member;
	case ORDER_RUNG_2:
	case ORDER_RUNG_4:
	case ORDER_RUNG_8:
		columns = order_columns(order);
		return member % columns * (n / columns) + member / columns;
	default:
		return member;
	}
}

#endif
