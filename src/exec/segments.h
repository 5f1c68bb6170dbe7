/* SPDX-License-Identifier: MIT */
/* Many buffers as one.  A run's SEND or RECV may be a whole that exists on paper only: the bytes of its segments one
 * after another, each where the caller has them.  Plans need not know: they are told that such a buffer is not direct,
 * so they touch it by COPY alone, which gathers and scatters; or, where the host reaches every segment, that it is, and
 * host steps go from segment to segment. */
#ifndef EXEC_SEGMENTS_H
#define EXEC_SEGMENTS_H

#include "dev/dev.h"

struct segment {
	uint64_t from;      /* of its first byte in the whole */
	uint64_t bytes;     /* of its memory; what is behind them is padding */
	unsigned char *ptr; /* NULL: reached by dev_read and dev_write only, through */
	const struct dev_access *access;
};

struct segments {
	const struct segment *items; /* [n + 1], ascending, none empty; the last one says where they end */
	size_t n;                    /* 0 = there are none, the buffer is an ordinary one */
	/* Bytes of a block, if the whole is a block for each rank: block r is the r-th part of each segment, one after
	 * another, and in a segment these parts stand one after another.  0 = the whole is one block. */
	uint64_t block;
	unsigned char *padding; /* stands for it: zeros to be read, or room for what nobody wants */
	size_t last;            /* found last: the next one is near */
	bool direct;            /* all have a ptr */
	/* [n] where the peers find each (exec/symmetric.h); NULL = they do not reach them all */
	const uint64_t *addresses;
};

/* The owner of the memory in which the segments of one or several runs lie. */
struct segments_owner {
	_Atomic int refs;
	void (*destroy)(struct segments_owner *owner);
};

struct segments_owner *segments_retain(struct segments_owner *owner);
void segments_release(struct segments_owner *owner); /* NULL is silent */

/* Where a byte of the whole is. */
struct segment_at {
	const struct segment *segment;
	uint64_t off;  /* of the segment's memory */
	uint64_t left; /* so many bytes stand together from there on */
	bool padded;   /* it is padding: so many bytes of that */
};

/* segments_find: where byte off of the whole is, which is not the end. */
struct segment_at segments_find(struct segments *segments, uint64_t off);

/* segments_read: starts copying [off, off + bytes) of the whole to host memory of ours; segments_write: the reverse.
 * *event_p = NULL if it is done, else complete once all of it is.  After a failure nothing is under way any more. */
choir_status segments_read(choir_device *device, struct segments *segments, uint64_t off, void *to, uint64_t bytes,
                           cl_event *event_p);
choir_status segments_write(choir_device *device, struct segments *segments, uint64_t off, const void *from,
                            uint64_t bytes, cl_event *event_p);

#endif
