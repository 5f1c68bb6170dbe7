/* SPDX-License-Identifier: MIT */
/* What is sorted: an index, less the least of all, and what goes with it: the element itself, or where its row is.
 * Options: KEY = uint or ulong, holds every index - least; VALUE = uchar, ushort, uint or ulong, of an element's width, or uint for positions. */
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
