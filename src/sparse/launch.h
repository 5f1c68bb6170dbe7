/* SPDX-License-Identifier: MIT */
/* One launch: kernel taken, arguments set, enqueued, kernel given back. */
#ifndef SPARSE_LAUNCH_H
#define SPARSE_LAUNCH_H

#include "dev/dev.h"

struct launch_arg {
	size_t bytes;
	const void *value;
};

#define LAUNCH_ARG(variable) { sizeof(variable), &(variable) }

struct launch {
	const char *source, *options, *kernel;
	const struct launch_arg *args;
	size_t n_args;
	size_t global, local; /* local 0: the driver chooses */
};

/* launch_run: event_p may be NULL, as for dev_launch.  Blocks for a first build. */
choir_status launch_run(choir_device *device, const struct launch *launch, cl_event *event_p);

/* launch_items: work-items for kernels in which an item owns a contiguous span of n > 0 elements; *span_p = its length. */
size_t launch_items(const choir_device *device, uint64_t n, uint64_t *span_p);

#endif
