/* SPDX-License-Identifier: MIT */
/* The loop of a work-item over elements of n rows: a group owns GROUP * SPAN consecutive elements and takes GROUP of
 * them at a time, one for each item.  CPUs use groups of one item with a long span, GPUs wide groups with a short one.
 * Options: GROUP = work-items of a group; SPAN = elements of an item. */
#ifndef GROUP
#error "GROUP: work-items of a group"
#endif
#ifndef SPAN
#error "SPAN: elements of an item"
#endif

#include "group.h"

/* The element that the item is at: i = row * width + column.  rows_on, columns_on: the step to its next one. */
typedef struct {
	ulong i, end, row, column, rows_on, columns_on, width;
} walk;

/* The elements of that group. */
static walk walk_of(ulong group, ulong n, ulong width)
{
	const ulong first = group * GROUP * SPAN, i = first + get_local_id(0);
	walk at;

	at.i = i;
	at.end = min(first + GROUP * SPAN, n * width);
	at.row = width == 1 ? i : i / width;
	at.column = i - at.row * width;
	at.rows_on = width == 1 ? GROUP : GROUP / width;
	at.columns_on = GROUP - at.rows_on * width;
	at.width = width;
	return at;
}

static walk walk_from(ulong n, ulong width)
{
	return walk_of(group_number(), n, width);
}

static walk walk_on(walk at)
{
	at.i += GROUP;
	at.row += at.rows_on;
	at.column += at.columns_on;
	if (at.column >= at.width) {
		at.column -= at.width;
		at.row++;
	}
	return at;
}
