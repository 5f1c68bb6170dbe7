/* SPDX-License-Identifier: MIT */
/* Devices: choir's state for one (cl_context, cl_device_id).  Buffers: the arguments that name memory in calls. */
#ifndef CHOIR_DEVICE_H
#define CHOIR_DEVICE_H

#include <choir/types.h>
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct choir_device choir_device;

/* The way in which the host reaches a cl_mem of the device.  AUTO: a probe finds it by trying it and checking bytes. */
typedef enum choir_memory_class {
	CHOIR_CLASS_AUTO = 0,
	CHOIR_CLASS_DIRECT = 1, /* through a pointer that is mapped once: collectives enqueue no command */
	CHOIR_CLASS_MAP = 2,    /* mapped and unmapped once for each collective; short buffers are copied instead */
	CHOIR_CLASS_STAGE = 3,  /* copied through pinned memory: short buffers at once, long ones in chunks */
} choir_memory_class;

/* The place where reductions run.  AUTO: dense ones on the host, but in kernels by the algorithms `device` of ranks
 * whose devices share a context, and by GPUs with memory of their own where a reduce_scatter of two or three ranks of a
 * node goes by `slots` from one cl_mem to another; sparse ones on the host for CPU devices, else in kernels.  HOST: on
 * the host, but by the algorithms `device`. */
typedef enum choir_reduce_where {
	CHOIR_REDUCE_AUTO = 0,
	CHOIR_REDUCE_HOST = 1,
	CHOIR_REDUCE_KERNEL = 2
} choir_reduce_where;

typedef struct choir_device_config {
	size_t struct_size; /* sizeof(choir_device_config) */
	choir_memory_class memory_class;
	choir_reduce_where reduce;
} choir_device_config;
#define CHOIR_DEVICE_CONFIG_INIT                                                                                       \
	{                                                                                                              \
		sizeof(choir_device_config), CHOIR_CLASS_AUTO, CHOIR_REDUCE_AUTO                                       \
	}

/* choir_device_create: creates a choir_device for a device of the caller's context; it retains both.  config NULL: the
 * defaults; CHOIR_CLASS and CHOIR_REDUCE in the environment override AUTO.  Blocks for the probe (some ms).  Any
 * thread.  ARGUMENT: null, or the device is not of the context; UNSUPPORTED: the device cannot be of class direct;
 * OPENCL, NO_MEMORY. */
CHOIR_API choir_status choir_device_create(cl_context context, cl_device_id device, const choir_device_config *config,
                                           choir_device **out_p);

/* choir_device_create_default: the local_rank-th GPU of the machine, round robin, else a CPU device, in a new context.
 * CHOIR_DEVICE chooses instead, by a part of the platform's name or as "P:D", the numbers that choir-info prints. */
CHOIR_API choir_status choir_device_create_default(int local_rank, choir_device **out_p);

/* choir_device_create_queue: the device and the context of a queue of the caller's; else as choir_device_create. */
CHOIR_API choir_status choir_device_create_queue(cl_command_queue queue, const choir_device_config *config,
                                                 choir_device **out_p);

/* choir_device_create_host: host memory alone: for programs that keep nothing on an OpenCL device.  No OpenCL function
 * is called for it, and none has to be installed but the loader.  Its comms take choir_host() only, else UNSUPPORTED;
 * reductions run on the host; choir_device_context and choir_device_id give NULL.  ARGUMENT, NO_MEMORY. */
CHOIR_API choir_status choir_device_create_host(choir_device **out_p);

/* choir_device_destroy: NULL is silent.  Comms keep their device alive: any order is safe.  The last reference waits
 * for calls of pairs.h that are under way.  A forked child frees nothing of its parent's device. */
CHOIR_API void choir_device_destroy(choir_device *device);

/* The OpenCL handles of a device, not retained for the caller, and its memory class.  choir_memory_class_name: a
 * constant text; "unknown" for other numbers. */
CHOIR_API cl_context choir_device_context(const choir_device *device);
CHOIR_API cl_device_id choir_device_id(const choir_device *device);
CHOIR_API choir_memory_class choir_device_class(const choir_device *device);
CHOIR_API const char *choir_memory_class_name(choir_memory_class memory_class);

/* choir_device_json: the device's properties as a JSON object, which choir-info prints.  The caller frees *text_p with
 * free(). */
CHOIR_API choir_status choir_device_json(const choir_device *device, char **text_p);

/* A buffer names memory of the caller and owns nothing; it is passed by value.  A zero-initialised buffer names no
 * memory, which is legal only where a call says so or the count is 0. */
typedef enum choir_buffer_kind {
	CHOIR_BUFFER_NONE = 0,
	CHOIR_BUFFER_MEM = 1,  /* cl_mem + offset */
	CHOIR_BUFFER_HOST = 2, /* plain host pointer */
	CHOIR_BUFFER_SVM = 3,  /* pointer from clSVMAlloc, or any pointer with fine-grained system SVM */
	CHOIR_BUFFER_USM = 4,  /* pointer of cl_intel_unified_shared_memory: host, shared or device */
} choir_buffer_kind;

typedef struct choir_buffer {
	choir_buffer_kind kind;
	void *base; /* a cl_mem or a pointer */
	size_t offset_bytes;
} choir_buffer;

/* Buffers of each kind; choir_none: of no memory.  Nothing is checked before the call. */
CHOIR_API choir_buffer choir_mem(cl_mem mem, size_t offset_bytes);
CHOIR_API choir_buffer choir_host(const void *pointer);
CHOIR_API choir_buffer choir_svm(const void *pointer);
CHOIR_API choir_buffer choir_usm(const void *pointer);
CHOIR_API choir_buffer choir_none(void);

#ifdef __cplusplus
}
#endif

#endif
