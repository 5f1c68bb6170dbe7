/* SPDX-License-Identifier: MIT */
/* Commands for segments that the host does not reach go to the device's queue of kernels, so a marker behind them
 * tells of all. */
#include "exec/segments.h"

#include <string.h>

struct segments_owner *segments_retain(struct segments_owner *owner)
{
	if (owner != NULL)
		atomic_fetch_add_explicit(&owner->refs, 1, memory_order_relaxed);
	return owner;
}

void segments_release(struct segments_owner *owner)
{
	if (owner != NULL && atomic_fetch_sub_explicit(&owner->refs, 1, memory_order_acq_rel) == 1)
		owner->destroy(owner);
}

static bool holds(const struct segments *segments, size_t i, uint64_t off)
{
	return i < segments->n && segments->items[i].from <= off && off < segments->items[i + 1].from;
}

static const struct segment *find(struct segments *segments, uint64_t off)
{
	size_t low = 0, high = segments->n; /* it is in [low, high) */

	if (holds(segments, segments->last, off))
		return &segments->items[segments->last];
	if (holds(segments, segments->last + 1, off))
		return &segments->items[++segments->last];
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (segments->items[middle].from <= off)
			low = middle;
		else
			high = middle;
	}
	segments->last = low;
	return &segments->items[low];
}

struct segment_at segments_find(struct segments *segments, uint64_t off)
{
	uint64_t block = segments->block > 0 ? off / segments->block : 0, in_block = off - block * segments->block;
	const struct segment *segment = find(segments, in_block);
	uint64_t part = segment[1].from - segment->from, in_part = in_block - segment->from;
	struct segment_at at = { .segment = segment, .off = block * part + in_part, .left = part - in_part };

	at.padded = at.off >= segment->bytes;
	if (!at.padded && segment->bytes - at.off < at.left)
		at.left = segment->bytes - at.off;
	return at;
}

/* One segment's part of a copy: into `to`, or out of `from`. */
static choir_status copy_part(choir_device *device, const struct segment *segment, uint64_t off, unsigned char *to,
                              const unsigned char *from, uint64_t bytes)
{
	if (segment->ptr == NULL)
		return to != NULL ? dev_read(device, segment->access, off, to, bytes, NULL)
		                  : dev_write(device, segment->access, off, from, bytes, NULL);
	if (to != NULL)
		memcpy(to, segment->ptr + off, bytes);
	else
		memcpy(segment->ptr + off, from, bytes);
	return CHOIR_SUCCESS;
}

static choir_status copy_parts(choir_device *device, struct segments *segments, uint64_t off, unsigned char *to,
                               const unsigned char *from, uint64_t bytes, cl_event *event_p)
{
	choir_status st = CHOIR_SUCCESS;
	uint64_t done = 0;
	bool enqueued = false;

	while (done < bytes && st == CHOIR_SUCCESS) {
		struct segment_at at = segments_find(segments, off + done);
		uint64_t part = at.left < bytes - done ? at.left : bytes - done;

		if (at.padded) {
			if (to != NULL)
				memset(to + done, 0, part);
			done += part;
			continue;
		}
		enqueued |= at.segment->ptr == NULL;
		st = copy_part(device, at.segment, at.off, to != NULL ? to + done : NULL,
		               from != NULL ? from + done : NULL, part);
		done += part;
	}
	if (st == CHOIR_SUCCESS && enqueued)
		st = dev_marker(dev_queue(device), event_p);
	if (st != CHOIR_SUCCESS && enqueued)
		dev_drain(device);
	return st;
}

choir_status segments_read(choir_device *device, struct segments *segments, uint64_t off, void *to, uint64_t bytes,
                           cl_event *event_p)
{
	return copy_parts(device, segments, off, to, NULL, bytes, event_p);
}

choir_status segments_write(choir_device *device, struct segments *segments, uint64_t off, const void *from,
                            uint64_t bytes, cl_event *event_p)
{
	return copy_parts(device, segments, off, NULL, from, bytes, event_p);
}
