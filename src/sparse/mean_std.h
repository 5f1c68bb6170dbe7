/* SPDX-License-Identifier: MIT */
/* Mean and standard deviation in one pass, for f16, bf16, f32, f64.  Same bits on every device and on the host: sums
 * are cut into blocks and lanes by position alone (cl/moments.cl), and joined in order, in f64.  The sums are
 * compensated, the squares rounded once each: the variance is good to 2^-24 of the mean square for f32, better for the
 * others.  Squares beyond the type in which they are added (float for all but f64) are infinite. */
#ifndef SPARSE_MOMENTS_H
#define SPARSE_MOMENTS_H

#include "dev/dev.h"

struct moments {
	double mean, deviation; /* of the whole population; both 0 if there is nothing */
};

/* moments_host: of n elements. */
void moments_host(choir_dtype dtype, const void *val, uint64_t n, struct moments *out);

struct moments_job;

/* moments_job_create: starts on n > 0 elements at a byte offset of a cl_mem.  UNSUPPORTED for f64 where the device has
 * none; OPENCL, NO_MEMORY. */
choir_status moments_job_create(choir_device *device, choir_dtype dtype, cl_mem mem, uint64_t off, uint64_t n,
                                struct moments_job **out_p);
choir_status moments_job_poll(struct moments_job *job, struct moments *out, bool *done_p);

/* moments_job_watch: rings when the next poll is worth while. */
choir_status moments_job_watch(struct moments_job *job, void (*fn)(void *), void *ctx);
/* Waits for the device.  NULL is silent. */
void moments_job_destroy(struct moments_job *job);

#endif
