/* SPDX-License-Identifier: MIT */
/* The copies of the shadows of a gathered list go to the same in-order queue as what gathers it.  The copies of the
 * plan's steps go to other queues: the run waits for the gathering before them, and they for the scattering. */
#include "exec/gathered.h"

#include "base/arithmetic.h"
#include "exec/device_memory.h"
#include "exec/gathered_move.h"

enum {
	FEWEST = 3,                   /* segments: two commands take no longer than a kernel and one */
	MEAN_COMMANDS = 4,            /* a segment's mean length, in the bus's bytes in the time of a command */
	NEAR_COMMAND_BYTES = 1 << 10, /* that of a device that was forced into class stage */
	MOST_BYTES = 64 << 20,        /* of a bucket, so of the room on the device */
	LINE_BYTES = 64,
};

/* Memory of the host may begin anywhere, and units are wide. */
static bool is_whole(const struct segment *segment)
{
	const struct dev_access *access = segment->access;

	return segment->ptr == NULL && access != NULL && dev_is_on_device(access) && dev_is_whole(access);
}

/* Does gathering take less time than a read or write a segment, and may kernels touch the buffers? */
static bool is_worth_gathering(const choir_device *device, const struct segments *segments, uint64_t bytes)
{
	uint64_t command = dev_has_far_memory(device) ? dev_command_bytes(device) : NEAR_COMMAND_BYTES;

	if (segments->n < FEWEST || bytes == 0 || bytes > MOST_BYTES)
		return false;
	if (bytes / (segments->n * gathered_blocks(segments, bytes)) > MEAN_COMMANDS * command)
		return false;
	for (size_t i = 0; i < segments->n; i++)
		if (!is_whole(&segments->items[i]))
			return false;
	return true;
}

/* While another thread tries the ways these are kernels. */
static choir_status learn_way(choir_device *device)
{
	enum dev_list_way way;
	choir_status st;

	if (!dev_list_way_try(device))
		return CHOIR_SUCCESS;
	st = gathered_move_try(device, &way);
	dev_list_way_set(device, way);
	return st;
}

choir_status gathered_fits(choir_device *device, const struct segments *segments, uint64_t bytes, bool written,
                           bool *fits_p)
{
	struct gathered_move move = { .device = device, .segments = segments, .scatters = written, .bytes = bytes };
	bool copies;

	*fits_p = false;
	if (!is_worth_gathering(device, segments, bytes))
		return CHOIR_SUCCESS;
	copies = gathered_move_copies(&move);
	if (copies)
		TRY(learn_way(device));
	*fits_p = copies && dev_list_way(device) == DEV_LIST_COPIES;
	return *fits_p ? CHOIR_SUCCESS : gathered_move_build(&move, fits_p);
}

static choir_status start(struct run *run, const struct segments *segments, const struct dev_access *whole,
                          bool written, cl_event *event_p)
{
	const struct gathered_move move = { .device = run->comm->device,
		                            .segments = segments,
		                            .scatters = written,
		                            .whole = dev_bytes_of(whole),
		                            .bytes = whole->bytes };
	bool copies = dev_list_way(move.device) == DEV_LIST_COPIES && gathered_move_copies(&move);

	return gathered_move_start(&move, copies, event_p);
}

/* --- of a run --- */

/* SEND's room begins at 0, RECV's behind it. */
static choir_status make_room(struct run *run)
{
	struct bound *bound = &run->bound;
	uint64_t recv_at = bound->gathered != NULL ? round_up(bound->send.bytes, LINE_BYTES) : 0;

	TRY(device_memory_grow(run, &run->device_memory.list,
	                       recv_at + (bound->scattered != NULL ? bound->recv.bytes : 0)));
	if (bound->gathered != NULL)
		bound->send.mem = run->device_memory.list.mem;
	if (bound->scattered != NULL) {
		bound->recv.mem = run->device_memory.list.mem;
		bound->recv.off = recv_at;
	}
	return CHOIR_SUCCESS;
}

choir_status gathered_fill(struct run *run, cl_event *event_p)
{
	struct bound *bound = &run->bound;

	if (run->lists_gathered || (bound->gathered == NULL && bound->scattered == NULL))
		return CHOIR_SUCCESS;
	TRY(make_room(run));
	if (bound->gathered != NULL && run->plan->reads_send)
		TRY(start(run, bound->gathered, &bound->send, false, bound->send_shadow ? NULL : event_p));
	run->lists_gathered = true;
	return CHOIR_SUCCESS;
}

choir_status gathered_empty(struct run *run, cl_event *event_p)
{
	if (!run->lists_gathered)
		return CHOIR_SUCCESS;
	run->lists_gathered = false;
	if (run->bound.scattered == NULL || !run->plan->writes_recv)
		return CHOIR_SUCCESS;
	return start(run, run->bound.scattered, &run->bound.recv, true, event_p);
}

void gathered_drop(struct run *run)
{
	if (run->lists_gathered)
		dev_drain(run->comm->device); /* a gather before a read that failed has no event */
	run->lists_gathered = false;
}
