/* SPDX-License-Identifier: MIT */
/* Mean and standard deviation in one pass, for f16, bf16, f32, f64.  Same bits on every device and on the host: sums
 * are cut into blocks and lanes by position alone (cl/mean_std.cl), and joined in order, in f64.  The sums are
 * compensated, the squares rounded once each: the variance is good to 2^-24 of the mean square for f32, better for the
 * others.  Squares beyond the type in which they are added (float for all but f64) are infinite. */
#ifndef SPARSE_MEAN_STD_H
#define SPARSE_MEAN_STD_H

#include "dev/dev.h"

struct mean_std {
	double mean, deviation; /* of the whole population; both 0 if there is nothing */
};

/* mean_std_host: of n elements. */
void mean_std_host(choir_dtype dtype, const void *val, uint64_t n, struct mean_std *out);

struct mean_std_job;

/* mean_std_job_create: starts on n > 0 elements at a byte offset of a cl_mem.  UNSUPPORTED for f64 where the device has
 * none; OPENCL, NO_MEMORY. */
choir_status mean_std_job_create(choir_device *device, choir_dtype dtype, cl_mem mem, uint64_t off, uint64_t n,
                                 struct mean_std_job **out_p);
choir_status mean_std_job_poll(struct mean_std_job *job, struct mean_std *out, bool *done_p);

/* mean_std_job_watch: rings when the next poll is worth while. */
choir_status mean_std_job_watch(struct mean_std_job *job, void (*fn)(void *), void *ctx);
/* Waits for the device.  NULL is silent. */
void mean_std_job_destroy(struct mean_std_job *job);

#endif
