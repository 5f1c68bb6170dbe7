/* SPDX-License-Identifier: MIT */
/* Between a list of cl_mems and one buffer on the device: by kernels, which move up to 16 of them a launch, or by a
 * copy each.  Which is faster depends on the driver: a launch takes a GPU about as long as one copy, but PoCL as long
 * as 20, so it is tried when a device first has such a list. */
#ifndef EXEC_GATHERED_MOVE_H
#define EXEC_GATHERED_MOVE_H

#include "exec/segments.h"

struct gathered_move {
	choir_device *device;
	const struct segments *segments; /* of whole cl_mems */
	bool scatters;                   /* from the buffer to the list */
	struct dev_bytes whole;          /* the buffer */
	uint64_t bytes;                  /* of the list, with its padding */
};

/* gathered_blocks: of a list of so many bytes. */
uint64_t gathered_blocks(const struct segments *segments, uint64_t bytes);

/* gathered_move_build: can the kernels be built?  If not, there is another way; TIMEOUT at the deadline of
 * dev_build_deadline: that is not known yet.  whole is not looked at.
 * gathered_move_copies: can it be done by copies?  Not with padding; several blocks would be a copy each.
 * gathered_move_start: *event_p, if event_p is not NULL: complete once it is over.
 * gathered_move_try: the faster way on this device, by trying both: 5 ms, or 1 s where it is slow, besides the build
 * and the first of each, which end after 10 s.  After these times it is kernels, since copies had no chance to show
 * that they are faster.  DEV_LIST_UNTRIED: the deadline of dev_build_deadline came first, or there is no memory;
 * TIMEOUT as for gathered_move_build. */
choir_status gathered_move_build(const struct gathered_move *move, bool *built_p);
bool gathered_move_copies(const struct gathered_move *move);
choir_status gathered_move_start(const struct gathered_move *move, bool copies, cl_event *event_p);
choir_status gathered_move_try(choir_device *device, enum dev_list_way *way_p);

#endif
