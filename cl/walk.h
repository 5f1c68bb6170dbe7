/* SPDX-License-Identifier: MIT */
/* Which elements of n rows a work-item sees to: a group owns GROUP * SPAN consecutive ones and goes through them GROUP at a time, neighbours beside
 * neighbours.  A CPU runs groups of one with a long span, a GPU wide groups with a short one.  Only the first step divides.
 * Options: GROUP = work-items of a group; SPAN = elements of an item. */
#ifndef GROUP
#error "GROUP: work-items of a group"
#endif
#ifndef SPAN
#error "SPAN: elements of an item"
#endif

/* i = row * width + column. */
typedef struct {
	ulong i, end, row, column, rows_on, columns_on, width;
} walk;

static walk walk_from(ulong n, ulong width)
{
	const ulong first = (ulong)get_group_id(0) * GROUP * SPAN, i = first + get_local_id(0);
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
