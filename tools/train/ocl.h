/* SPDX-License-Identifier: MIT */
/* One rank's OpenCL: an in-order queue, this tool's kernels, matrix products by CLBlast. */
#ifndef TRAIN_OCL_H
#define TRAIN_OCL_H

#include "fail.h"

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <stdint.h>

#define OCL_GROUP 64 /* work-items in a group, of every kernel here */
/* Groups of a launch: more are several launches, in which get_group_id begins at 0 again. */
#define OCL_MOST_GROUPS 65535

enum ocl_kernel {
#define KERNEL(name) OCL_##name,
#include "kernels.def"
#undef KERNEL
	OCL_N_KERNELS
};

struct ocl {
	cl_context context; /* retained */
	cl_device_id device;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernels[OCL_N_KERNELS];
};

/* An argument of a kernel: OCL_ARG(variable). */
struct ocl_arg {
	size_t bytes;
	const void *value;
};
#define OCL_ARG(variable)                                                                                              \
	{                                                                                                              \
		sizeof(variable), &(variable)                                                                          \
	}

/* ocl_open: a queue and the kernels for rows of width floats.  Blocks for the build.  ocl_close: a zeroed or failed ocl
 * is fine. */
choir_status ocl_open(struct ocl *ocl, cl_context context, cl_device_id device, size_t width);
void ocl_close(struct ocl *ocl);

/* ocl_queue: another in-order queue; the caller's to release. */
choir_status ocl_queue(struct ocl *ocl, cl_command_queue *out);

/* ocl_launch: n work-items, rounded up to whole groups.  n = 0 launches nothing and leaves *event_p; event_p may be
 * NULL. */
choir_status ocl_launch(struct ocl *ocl, enum ocl_kernel kernel, size_t n, const struct ocl_arg *args, size_t n_args,
                        cl_event *event_p);

/* ocl_buffer: bytes of device memory, undefined; never none at all. */
choir_status ocl_buffer(struct ocl *ocl, size_t bytes, cl_mem *out);

/* ocl_write: enqueued only: from must stay until the queue has passed it.  ocl_read blocks. */
choir_status ocl_write(struct ocl *ocl, cl_mem mem, size_t off, size_t bytes, const void *from);
choir_status ocl_read(struct ocl *ocl, cl_mem mem, size_t off, size_t bytes, void *to);

/* A row-major matrix inside a buffer, as stored; transposed = used the other way round. */
struct ocl_matrix {
	cl_mem mem;
	size_t first;   /* element */
	size_t columns; /* as stored */
	int transposed;
};

/* ocl_product: c (m x n) = a (m x k) * b (k x n), + beta * c.  event_p may be NULL. */
choir_status ocl_product(struct ocl *ocl, size_t m, size_t n, size_t k, struct ocl_matrix a, struct ocl_matrix b,
                         float beta, struct ocl_matrix c, cl_event *event_p);

#endif
