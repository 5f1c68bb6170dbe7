/* SPDX-License-Identifier: MIT */
/* The least range that holds a device's indices, found by a kernel. */
#ifndef SPARSE_RANGE_KERNEL_H
#define SPARSE_RANGE_KERNEL_H

#include "dev/dev.h"
#include "sparse/pairs.h"

struct range_job;

/* range_job_create: starts on n > 0 indices at a byte offset of a cl_mem.  OPENCL, NO_MEMORY. */
choir_status range_job_create(choir_device *device, cl_mem mem, size_t off, uint32_t ind_bytes, uint64_t n,
                              struct range_job **out_p);

/* range_job_poll: the range and the first negative index (position n if none) once done. */
choir_status range_job_poll(struct range_job *job, struct index_range *out, uint64_t *bad_at_p, int64_t *bad_index_p,
                            bool *done_p);
choir_status range_job_watch(struct range_job *job, void (*fn)(void *), void *ctx);
/* Waits for the kernel.  NULL is silent. */
void range_job_destroy(struct range_job *job);

#endif
