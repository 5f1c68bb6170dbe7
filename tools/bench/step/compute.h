/* SPDX-License-Identifier: MIT */
/* A kernel that keeps the whole device busy for a chosen time, for what collectives are to hide behind. */
#ifndef BENCH_COMPUTE_H
#define BENCH_COMPUTE_H

#include "bench/ranks/world.h"

#include <choir/device.h>

struct compute {
	cl_command_queue queue; /* in order */
	cl_program program;
	cl_kernel kernel;
	cl_mem out;
	double rounds_per_us; /* of all groups together */
};

/* compute_open: finds out how much work a microsecond is; false, on all ranks, if a device cannot, which has been said
 * then.  Collective: all ranks calibrate at once, since they may share cores. */
bool compute_open(struct compute *compute, struct world *world, choir_device *device);
void compute_close(struct compute *compute);

/* compute_enqueue: about us microseconds of work, at least a launch; not flushed. */
bool compute_enqueue(struct compute *compute, double us);

#endif
