/* SPDX-License-Identifier: MIT */
/* An entry to sort: an index minus the least index, and its value: the element itself, or the position of its row.
 * Options: KEY = uint or ulong, wide enough for every index - least; VALUE = uchar, ushort, uint or ulong, of an
 * element's width, or uint for positions. */
#ifndef KEY
#error "KEY: uint or ulong"
#endif
#ifndef VALUE
#error "VALUE: uchar, ushort, uint or ulong"
#endif

typedef struct {
	KEY key;
	VALUE value;
} entry;

/* Does a segment, a run of equal keys in sorted entries, start there? */
static uint is_head(__global const entry *entries, uint i)
{
	return i == 0 || entries[i].key != entries[i - 1].key;
}
