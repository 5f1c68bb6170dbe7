/* SPDX-License-Identifier: MIT */
/* A tensor of a state, in host memory, or far: in the device's, which the host does not reach. */
#ifndef TOPK_TENSOR_H
#define TOPK_TENSOR_H

#include "dev/dev.h"
#include "sparse/pool.h"

struct topk_tensor {
	struct pool_block near;
	cl_mem far;
};

/* tensor_take: device NULL: in host memory.  Bytes are whatever was there.  NO_MEMORY naming `what`, OPENCL.
 * tensor_give: no command may still use it; legal on a zeroed one. */
choir_status tensor_take(struct topk_tensor *tensor, choir_device *device, uint64_t bytes, const char *what);
void tensor_give(struct topk_tensor *tensor);

/* tensor_zero: far: enqueued only, on the internal in-order queue.  tensor_read, tensor_write: all of it, from and to
 * host memory; both block until the device is done. */
choir_status tensor_zero(struct topk_tensor *tensor, choir_device *device, uint64_t bytes, uint32_t elem_bytes);
choir_status tensor_read(const struct topk_tensor *tensor, choir_device *device, uint64_t bytes, void *to);
choir_status tensor_write(struct topk_tensor *tensor, choir_device *device, uint64_t bytes, const void *from);

void tensor_swap(struct topk_tensor *a, struct topk_tensor *b);

#endif
