/* SPDX-License-Identifier: MIT */
/* One launch: kernel taken, arguments set, enqueued, kernel given back; and how work is dealt to work-items. */
#ifndef DEV_LAUNCH_H
#define DEV_LAUNCH_H

#include "dev/dev.h"

struct launch_arg {
	size_t bytes;
	const void *value;
};

#define LAUNCH_ARG(variable)                                                                                           \
	{                                                                                                              \
		sizeof(variable), &(variable)                                                                          \
	}

struct launch {
	const char *source, *options, *kernel;
	const struct launch_arg *args;
	size_t n_args;
	size_t global, local; /* local 0: the driver chooses */
};

/* launch_run: event_p may be NULL, as for dev_launch.  Blocks for a first build. */
choir_status launch_run(choir_device *device, const struct launch *launch, cl_event *event_p);

/* launch_group: work-items of a group: as many as wanted, a power of two, or fewer where the device has fewer.
 * launch_kernel_group: of a kernel that is not compiled for one size. */
size_t launch_group(const choir_device *device, size_t wanted);
size_t launch_kernel_group(const choir_device *device, cl_kernel kernel, size_t wanted);

/* The -D options GROUP and SPAN that suit a device: work-items of a group, and elements of an item (cl/walk.h). */
struct launch_shape {
	size_t group, span;
};
/* The groups of one launch at the most: a driver may drop the rest. */
enum { LAUNCH_GROUPS = 65535 };

/* launch_shape_of: for launches of at most n elements, in LAUNCH_GROUPS.  launch_shape_within: in so many groups at the
 * most. */
struct launch_shape launch_shape_of(const choir_device *device, uint64_t n);
struct launch_shape launch_shape_within(const choir_device *device, uint64_t n, uint64_t most_groups);

/* launch_elements: work-items for n elements of which each item has its span: whole groups, 0 for none. */
size_t launch_elements(struct launch_shape shape, uint64_t n);

/* launch_spans: work-groups for kernels in which a group owns a contiguous span of n > 0 elements and takes `step` of
 * them at a time; *span_p = its length, a multiple of step. */
size_t launch_spans(const choir_device *device, size_t step, uint64_t n, uint64_t *span_p);

/* launch_scan: counts, n of them, become the sums of those before each; total: of all (cl/scan.cl). */
choir_status launch_scan(choir_device *device, cl_mem counts, cl_uint n, cl_mem total);

#endif
