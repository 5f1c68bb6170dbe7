/* SPDX-License-Identifier: MIT */
/* Selection by magnitude on the device: what select.h does, with the same result. */
#ifndef SPARSE_SELECT_KERNEL_H
#define SPARSE_SELECT_KERNEL_H

#include "dev/dev.h"
#include "sparse/select.h"

/* Kernels number elements in 32 bits, and step as far beyond the last as a work-group reads. */
#define SELECT_MOST (UINT32_MAX - 65536)

/* Elements of a cl_mem at a byte offset that is a multiple of elem_bytes; n <= SELECT_MOST. */
struct select_source {
	cl_mem mem;
	uint64_t off;
	uint32_t elem_bytes;
	uint32_t group; /* work-items that work together; 0 = as suits the device */
	uint32_t few;   /* elements without a sample, SELECT_SAMPLES or more; 0 likewise */
	uint64_t n;
};

/* Room for capacity pairs at the start of two cl_mem. */
struct select_target {
	cl_mem ind, val;
	uint32_t ind_bytes;
	uint64_t capacity;
};

struct select_job;

/* select_job_limit: selects by a limit.  select_job_top: the k <= n largest.  Both start at once; nothing blocks but a
 * first build.  The memory is the device's until the job is done or destroyed.  OPENCL, NO_MEMORY. */
choir_status select_job_limit(choir_device *device, const struct select_source *from, struct select_limit limit,
                              const struct select_target *to, struct select_job **out_p);
choir_status select_job_top(choir_device *device, const struct select_source *from, uint64_t k,
                            const struct select_target *to, struct select_job **out_p);

/* select_job_poll: once done, how many are selected (also beyond the capacity), and the limit they were selected by. */
choir_status select_job_poll(struct select_job *job, uint64_t *count_p, struct select_limit *limit_p, bool *done_p);

/* select_job_watch: rings when the next poll is worth while. */
choir_status select_job_watch(struct select_job *job, void (*fn)(void *), void *ctx);
/* Waits for the device.  NULL is silent. */
void select_job_destroy(struct select_job *job);

#endif
