/* SPDX-License-Identifier: MIT */
/* All commands here go to the device's queue of kernels. */
#include "exec/gathered_move.h"

#include "base/arithmetic.h"
#include "base/wait.h"
#include "dev/launch.h"

#include <stdio.h>
#include <stdlib.h>

#define SOURCE "gather.cl"

enum {
	BUFFERS = 16, /* of a launch */
	OPTIONS_BYTES = 64,
};

/* The widest type that every place and length in the list is a multiple of. */
static uint64_t unit_of(const struct segments *segments)
{
	uint64_t bits = sizeof(cl_ulong2) | segments->block;

	for (size_t i = 0; i < segments->n; i++)
		bits |= segments->items[i + 1].from | segments->items[i].bytes;
	return bits & -bits;
}

uint64_t gathered_blocks(const struct segments *segments, uint64_t bytes)
{
	return segments->block > 0 ? bytes / segments->block : 1;
}

static uint64_t longest_of(const struct segments *segments, uint64_t blocks)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < segments->n; i++)
		longest = max_u64(longest, segments->items[i + 1].from - segments->items[i].from);
	return longest * blocks;
}

/* --- kernels --- */

struct kernels {
	const struct gathered_move *move;
	const char *name;
	uint64_t blocks, unit, longest; /* longest: elements of the longest segment */
	struct launch_shape shape;
	char options[OPTIONS_BYTES];
};

/* As in cl/gather.cl. */
struct places {
	cl_ulong from[BUFFERS], part[BUFFERS], length[BUFFERS];
};

static struct kernels kernels_of(const struct gathered_move *move)
{
	static const char *const types[] = { "uchar", "ushort", "uint", "ulong", "ulong2" };
	struct kernels k = { .move = move,
		             .name = move->scatters ? "scatter_buffers" : "gather_buffers",
		             .blocks = gathered_blocks(move->segments, move->bytes),
		             .unit = unit_of(move->segments) };

	k.longest = longest_of(move->segments, k.blocks) / k.unit;
	/* each buffer has as many groups as the longest needs */
	k.shape = launch_shape_within(move->device, k.longest, LAUNCH_GROUPS / BUFFERS);
	snprintf(k.options, sizeof k.options, "-DVALUE=%s -DGROUP=%zu -DSPAN=%zu", types[__builtin_ctzll(k.unit)],
	         k.shape.group, k.shape.span);
	return k;
}

static struct places places_of(const struct kernels *k, size_t first, size_t n)
{
	struct places in = { .from = { 0 } };

	for (size_t i = 0; i < n; i++) {
		const struct segment *segment = &k->move->segments->items[first + i];

		in.from[i] = segment->from / k->unit;
		in.part[i] = (segment[1].from - segment->from) / k->unit;
		in.length[i] = segment->bytes / k->unit;
	}
	return in;
}

/* The segments first .. first + n - 1. */
static choir_status launch(const struct kernels *k, size_t first, size_t n, cl_event *event_p)
{
	const struct segments *segments = k->move->segments;
	const struct segment *items = segments->items;
	const struct places in = places_of(k, first, n);
	const size_t each = launch_elements(k->shape, k->longest);
	const cl_ulong blocks = k->blocks, whole_at = k->move->whole.off / k->unit,
		       width = (blocks > 1 ? segments->block : items[segments->n].from) / k->unit;
	const cl_uint groups = (cl_uint)(each / k->shape.group);
	struct launch_arg args[BUFFERS + 6] = {
		[BUFFERS] = LAUNCH_ARG(in),     LAUNCH_ARG(blocks),   LAUNCH_ARG(width), LAUNCH_ARG(groups),
		LAUNCH_ARG(k->move->whole.mem), LAUNCH_ARG(whole_at),
	};
	const struct launch it = { .source = SOURCE,
		                   .options = k->options,
		                   .kernel = k->name,
		                   .args = args,
		                   .n_args = BUFFERS + 6,
		                   .global = n * each,
		                   .local = k->shape.group };

	for (size_t i = 0; i < BUFFERS; i++) /* an argument is never null */
		args[i] = (struct launch_arg)LAUNCH_ARG(items[first + (i < n ? i : 0)].access->mem);
	return launch_run(k->move->device, &it, event_p);
}

static choir_status by_kernels(const struct gathered_move *move, cl_event *event_p)
{
	const struct kernels k = kernels_of(move);
	size_t n = move->segments->n;
	choir_status st = CHOIR_SUCCESS;

	for (size_t first = 0; first < n && st == CHOIR_SUCCESS; first += BUFFERS) {
		size_t left = n - first;

		st = launch(&k, first, left < BUFFERS ? left : BUFFERS, left <= BUFFERS ? event_p : NULL);
	}
	return st;
}

choir_status gathered_move_build(const struct gathered_move *move, bool *built_p)
{
	const struct kernels k = kernels_of(move);
	cl_kernel kernel;
	choir_status st = dev_kernel_take(move->device, SOURCE, k.options, k.name, &kernel);

	*built_p = st == CHOIR_SUCCESS;
	if (*built_p)
		dev_kernel_give(move->device, SOURCE, k.options, k.name, kernel);
	return st == CHOIR_TIMEOUT ? st : CHOIR_SUCCESS;
}

/* --- copies --- */

bool gathered_move_copies(const struct gathered_move *move)
{
	const struct segments *segments = move->segments;

	if (gathered_blocks(segments, move->bytes) > 1)
		return false;
	for (size_t i = 0; i < segments->n; i++)
		if (segments->items[i].bytes < segments->items[i + 1].from - segments->items[i].from)
			return false;
	return true;
}

static choir_status by_copies(const struct gathered_move *move, cl_event *event_p)
{
	const struct segments *segments = move->segments;
	choir_status st = CHOIR_SUCCESS;

	for (size_t i = 0; i < segments->n && st == CHOIR_SUCCESS; i++) {
		const struct segment *segment = &segments->items[i];
		struct dev_bytes one = { .mem = segment->access->mem }, whole = move->whole;

		whole.off += segment->from;
		st = dev_copy(move->device, move->scatters ? one : whole, move->scatters ? whole : one, segment->bytes,
		              i + 1 == segments->n ? event_p : NULL);
	}
	return st;
}

choir_status gathered_move_start(const struct gathered_move *move, bool copies, cl_event *event_p)
{
	choir_status st = copies ? by_copies(move, event_p) : by_kernels(move, event_p);

	if (st != CHOIR_SUCCESS)
		dev_drain(move->device); /* those before it have no event */
	return st;
}

/* --- which is faster: 16 buffers of 1 KB --- */

enum { TRIES = 3, TRIED_BYTES = 1 << 10, TRIES_NS = 5000000, FIRST_S = 10, MOST_NS = 1000000000 };

struct trial {
	struct gathered_move move;
	struct segments segments;
	struct segment items[BUFFERS + 1];
	struct dev_access accesses[BUFFERS];
	cl_mem whole, mems[BUFFERS];
};

static bool trial_make(struct trial *t, choir_device *device)
{
	if (dev_buffer_create(device, BUFFERS * TRIED_BYTES, &t->whole) != CHOIR_SUCCESS)
		return false;
	for (int i = 0; i <= BUFFERS; i++) {
		t->items[i].from = (uint64_t)i * TRIED_BYTES;
		if (i == BUFFERS)
			break;
		if (dev_buffer_create(device, TRIED_BYTES, &t->mems[i]) != CHOIR_SUCCESS)
			return false;
		t->accesses[i] = dev_buffer_access(t->mems[i], 0, TRIED_BYTES);
		t->items[i].bytes = TRIED_BYTES;
		t->items[i].access = &t->accesses[i];
	}
	t->segments = (struct segments){ .items = t->items, .n = BUFFERS };
	t->move = (struct gathered_move){
		.device = device, .segments = &t->segments, .whole = { .mem = t->whole }, .bytes = BUFFERS * TRIED_BYTES
	};
	return true;
}

/* The time of one gather; INT64_MAX if it failed or is not over by then. */
static int64_t trial_ns(const struct trial *t, bool copies, int64_t until_ns)
{
	int64_t start = wait_now_ns();
	cl_event event = NULL;

	if (gathered_move_start(&t->move, copies, &event) != CHOIR_SUCCESS ||
	    !dev_ends_by(t->move.device, event, until_ns))
		return INT64_MAX;
	return wait_now_ns() - start;
}

/* The first of each, for which a CPU's runtime compiles the kernel once more, do not count and have until until_ns. The
 * second ones are tried in any case, and have MOST_NS with all that follow.  False: not all of these were over. */
static bool try_both(const struct trial *t, int64_t until_ns, bool *copies_win_p)
{
	int64_t best[2] = { INT64_MAX, INT64_MAX }, end_ns = 0;

	for (int i = -2; i < 2 * TRIES && (i < 2 || wait_now_ns() < end_ns); i++) {
		int64_t ns = trial_ns(t, i % 2 != 0, until_ns);

		if (ns == INT64_MAX)
			return false;
		if (i == -1) {
			end_ns = wait_now_ns() + TRIES_NS;
			until_ns = min_i64(until_ns, wait_now_ns() + MOST_NS);
		} else if (i >= 0) {
			best[i % 2] = min_i64(best[i % 2], ns);
		}
	}
	*copies_win_p = best[1] < best[0];
	return true;
}

static choir_status try_ways(const struct trial *t, enum dev_list_way *way_p)
{
	int64_t until_ns = wait_now_ns() + FIRST_S * INT64_C(1000000000), deadline_ns = dev_build_until();
	bool built, copies_win = false;

	TRY(gathered_move_build(&t->move, &built));
	if (!built) {
		*way_p = DEV_LIST_COPIES;
		return CHOIR_SUCCESS;
	}
	if (deadline_ns > 0)
		until_ns = min_i64(until_ns, deadline_ns);
	if (!try_both(t, until_ns, &copies_win) && deadline_ns > 0 && wait_now_ns() >= deadline_ns)
		return CHOIR_SUCCESS;
	*way_p = copies_win ? DEV_LIST_COPIES : DEV_LIST_KERNELS;
	return CHOIR_SUCCESS;
}

choir_status gathered_move_try(choir_device *device, enum dev_list_way *way_p)
{
	struct trial *t = calloc(1, sizeof *t);
	choir_status st = CHOIR_SUCCESS;

	*way_p = DEV_LIST_UNTRIED;
	if (t != NULL && trial_make(t, device))
		st = try_ways(t, way_p);
	for (int i = 0; t != NULL && i < BUFFERS; i++)
		dev_buffer_free(t->mems[i]);
	if (t != NULL)
		dev_buffer_free(t->whole);
	free(t);
	return st;
}
