/* SPDX-License-Identifier: MIT */
/* All commands here go to the device's one in-order queue, and so do the copies of the shadows of a gathered list.  The
 * copies of the plan's steps go to other queues: the run waits for the kernels before and after them. */
#include "exec/gathered.h"

#include "base/arithmetic.h"
#include "dev/launch.h"
#include "exec/device_memory.h"

#include <stdio.h>

#define SOURCE "gather.cl"

enum {
	BUFFERS = 16,                 /* of a launch */
	FEWEST = 3,                   /* segments: two commands take no longer than a kernel and one */
	MEAN_COMMANDS = 4,            /* a segment's mean length, in what the bus carries in the time of a command */
	NEAR_COMMAND_BYTES = 1 << 10, /* that of a device that was forced into class stage */
	MOST_BYTES = 64 << 20,        /* of a bucket, so of the room on the device */
	OPTIONS_BYTES = 64,
	LINE_BYTES = 64,
};

/* The widest type that every place and length in the list is a multiple of. */
static uint64_t unit_of(const struct segments *segments)
{
	uint64_t bits = sizeof(cl_ulong2) | segments->block;

	for (size_t i = 0; i < segments->n; i++)
		bits |= segments->items[i + 1].from | segments->items[i].bytes;
	return bits & -bits;
}

static uint64_t blocks_of(const struct segments *segments, uint64_t bytes)
{
	return segments->block > 0 ? bytes / segments->block : 1;
}

/* Of a launch: each buffer has as many groups as the longest needs.  longest: elements. */
static struct launch_shape shape_of(const choir_device *device, uint64_t longest)
{
	return launch_shape_within(device, longest, LAUNCH_GROUPS / BUFFERS);
}

static uint64_t longest_of(const struct segments *segments, uint64_t blocks)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < segments->n; i++)
		longest = max_u64(longest, segments->items[i + 1].from - segments->items[i].from);
	return longest * blocks;
}

static void write_options(char options[OPTIONS_BYTES], uint64_t unit, struct launch_shape shape)
{
	static const char *const types[] = { "uchar", "ushort", "uint", "ulong", "ulong2" };

	snprintf(options, OPTIONS_BYTES, "-DVALUE=%s -DGROUP=%zu -DSPAN=%zu", types[__builtin_ctzll(unit)], shape.group,
	         shape.span);
}

/* Memory of the host may begin anywhere, and units are wide. */
static bool is_whole(const struct segment *segment)
{
	const struct dev_access *access = segment->access;

	return segment->ptr == NULL && access != NULL && dev_is_on_device(access) && dev_is_whole(access);
}

/* Can the kernels be built?  If not, there is another way; at the deadline that is not known yet. */
static choir_status look_for_kernels(choir_device *device, const char *options, const char *name, bool *built_p)
{
	cl_kernel kernel;
	choir_status st = dev_kernel_take(device, SOURCE, options, name, &kernel);

	*built_p = st == CHOIR_SUCCESS;
	if (*built_p)
		dev_kernel_give(device, SOURCE, options, name, kernel);
	return st == CHOIR_TIMEOUT ? st : CHOIR_SUCCESS;
}

static const char *name_of(bool written)
{
	return written ? "scatter_buffers" : "gather_buffers";
}

/* Would kernels take less time than a command a segment, and may they touch the buffers? */
static bool is_worth_kernels(const choir_device *device, const struct segments *segments, uint64_t bytes)
{
	uint64_t command = dev_command_bytes(device) > 0 ? dev_command_bytes(device) : NEAR_COMMAND_BYTES;

	if (segments->n < FEWEST || bytes == 0 || bytes > MOST_BYTES)
		return false;
	if (bytes / (segments->n * blocks_of(segments, bytes)) > MEAN_COMMANDS * command)
		return false;
	for (size_t i = 0; i < segments->n; i++)
		if (!is_whole(&segments->items[i]))
			return false;
	return true;
}

choir_status gathered_fits(choir_device *device, const struct segments *segments, uint64_t bytes, bool written,
                           bool *fits_p)
{
	uint64_t unit;
	char options[OPTIONS_BYTES];

	*fits_p = false;
	if (!is_worth_kernels(device, segments, bytes))
		return CHOIR_SUCCESS;
	unit = unit_of(segments);
	write_options(options, unit, shape_of(device, longest_of(segments, blocks_of(segments, bytes)) / unit));
	return look_for_kernels(device, options, name_of(written), fits_p);
}

/* --- the launches --- */

/* Of all segments, and the whole. */
struct move {
	choir_device *device;
	const struct segments *segments;
	const char *kernel;
	uint64_t blocks, unit, longest; /* longest: elements */
	struct launch_shape shape;
	struct dev_bytes whole;
	char options[OPTIONS_BYTES];
};

/* As in cl/gather.cl. */
struct places {
	cl_ulong from[BUFFERS], part[BUFFERS], length[BUFFERS];
};

static struct places places_of(const struct move *move, size_t first, size_t n)
{
	struct places in = { .from = { 0 } };

	for (size_t i = 0; i < n; i++) {
		const struct segment *segment = &move->segments->items[first + i];

		in.from[i] = segment->from / move->unit;
		in.part[i] = (segment[1].from - segment->from) / move->unit;
		in.length[i] = segment->bytes / move->unit;
	}
	return in;
}

/* The segments first .. first + n - 1. */
static choir_status launch(const struct move *move, size_t first, size_t n, cl_event *event_p)
{
	const struct segment *items = move->segments->items;
	const struct places in = places_of(move, first, n);
	const size_t each = launch_elements(move->shape, move->longest);
	const cl_ulong blocks = move->blocks, whole_at = move->whole.off / move->unit,
		       width = (blocks > 1 ? move->segments->block : items[move->segments->n].from) / move->unit;
	const cl_uint groups = (cl_uint)(each / move->shape.group);
	struct launch_arg args[BUFFERS + 6] = {
		[BUFFERS] = LAUNCH_ARG(in), LAUNCH_ARG(blocks),          LAUNCH_ARG(width),
		LAUNCH_ARG(groups),         LAUNCH_ARG(move->whole.mem), LAUNCH_ARG(whole_at),
	};
	const struct launch it = { .source = SOURCE,
		                   .options = move->options,
		                   .kernel = move->kernel,
		                   .args = args,
		                   .n_args = BUFFERS + 6,
		                   .global = n * each,
		                   .local = move->shape.group };

	for (size_t i = 0; i < BUFFERS; i++) /* an argument is never null */
		args[i] = (struct launch_arg)LAUNCH_ARG(items[first + (i < n ? i : 0)].access->mem);
	return launch_run(move->device, &it, event_p);
}

static choir_status start(struct run *run, const struct segments *segments, const struct dev_access *whole,
                          bool written, cl_event *event_p)
{
	struct move move = { .device = run->comm->device,
		             .segments = segments,
		             .kernel = name_of(written),
		             .blocks = blocks_of(segments, whole->bytes),
		             .unit = unit_of(segments),
		             .whole = dev_bytes_of(whole) };
	choir_status st = CHOIR_SUCCESS;

	move.longest = longest_of(segments, move.blocks) / move.unit;
	move.shape = shape_of(move.device, move.longest);
	write_options(move.options, move.unit, move.shape);
	for (size_t first = 0; first < segments->n && st == CHOIR_SUCCESS; first += BUFFERS) {
		size_t left = segments->n - first;

		st = launch(&move, first, left < BUFFERS ? left : BUFFERS, left <= BUFFERS ? event_p : NULL);
	}
	if (st != CHOIR_SUCCESS)
		clFinish(dev_queue(move.device)); /* those before it have no event */
	return st;
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
		clFinish(dev_queue(run->comm->device)); /* a gather before a read that failed has no event */
	run->lists_gathered = false;
}
