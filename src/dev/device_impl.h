/* SPDX-License-Identifier: MIT */
/* The members of choir_device; for src/dev only. */
#ifndef DEV_DEVICE_IMPL_H
#define DEV_DEVICE_IMPL_H

#include "base/keep.h"
#include "dev/dev.h"
#include "dev/pointer_cache.h"
#include "dev/program.h"
#include "dev/rates.h"

#include <CL/cl_ext.h>
#include <pthread.h>

/* Properties of the device and its driver, found when it is created and constant from then on. */
enum { VECTOR_WIDTHS = 4 };

struct device_facts {
	char name[128], vendor[128], platform[128], version[128], driver[128];
	cl_device_type type;
	bool fp64;
	bool exact_division; /* f32 division can be asked to round correctly */
	bool denormals;      /* f32 denormals are kept */
	bool long_loops;     /* a launch bounds no work-item's loops: Note [long loops] in facts.c */
	bool host_unified;
	/* the OpenCL C in which programs may sum over sub-groups, as an option; NULL = none */
	const char *sub_group_std;
	/* every device of the context is a CPU: no other memory that a buffer's newest bytes could be in */
	bool cpus_only;
	bool alone; /* the context has no other device */
	cl_device_svm_capabilities svm;
	size_t max_group;
	cl_uint vector_widths[VECTOR_WIDTHS]; /* elements of 1, 2, 4, 8 bytes that a work-item should take at once */
	cl_uint compute_units;
	cl_ulong memory_bytes, max_buffer_bytes;
	bool direct_works; /* found by the probe, whichever class is in use */
	bool map_works;
};

/* cl_intel_unified_shared_memory: NULL where the platform lacks it. */
struct device_usm {
	clGetMemAllocInfoINTEL_fn info;
	clEnqueueMemcpyINTEL_fn copy;
	/* all three or none: what plans on the device need too */
	clDeviceMemAllocINTEL_fn alloc;
	clMemFreeINTEL_fn free;
	clSetKernelArgMemPointerINTEL_fn set_argument;
};

enum { COPY_READS, COPY_WRITES, COPY_QUEUES };

struct choir_device {
	atomic_int refs;
	int generation;     /* of the process (fork) */
	cl_context context; /* retained */
	cl_device_id id;
	cl_command_queue queue; /* in order; every enqueue with an event is flushed */
	/* the same, for dev_stage_read and dev_stage_write; NULL until first used */
	cl_command_queue _Atomic copies[COPY_QUEUES];
	struct device_facts facts;
	struct device_usm usm;
	struct device_rates rates; /* measured only where memory is far */
	uint64_t short_map_bytes;  /* class map: Note [short maps] in map_rates.c */
	choir_memory_class memory_class;
	choir_reduce_where reduce;
	struct pointer_cache *pointers;
	struct program_cache programs;
	struct keep buffers;    /* dev_buffer_give */
	atomic_int list_way;    /* enum dev_list_way */
	void *_Atomic attached; /* dev_attach */
	void (*detach)(void *);
};

/* queue_create: an in-order queue of the device.  OPENCL. */
choir_status queue_create(choir_device *device, cl_command_queue *out_p);

/* buffers_init, buffers_free: the buffers that dev_buffer_give keeps. */
void buffers_init(choir_device *device);
void buffers_free(choir_device *device);

/* facts_learn: fills usm, and facts but direct_works and map_works.  OPENCL, NO_MEMORY. */
choir_status facts_learn(cl_context context, cl_device_id id, struct device_facts *facts, struct device_usm *usm);

/* context_devices: the devices of a context; the caller frees *ids_p.  OPENCL, NO_MEMORY. */
choir_status context_devices(cl_context context, cl_device_id **ids_p, size_t *n_p);

/* probe_direct, probe_map: try the way on buffers of the device's context and compare bytes; false also on any OpenCL
 * error. */
bool probe_direct(choir_device *device);
bool probe_map(choir_device *device);

/* usm_find: kind, first byte and size of the allocation that holds pointer.  ARGUMENT if it is none of this
 * context's. */
choir_status usm_find(const choir_device *device, const char *role, const void *pointer, cl_uint *kind_p,
                      uintptr_t *base_p, size_t *bytes_p);

/* dev_through_kernel: are host memory's copies from and to it made by a kernel?  Note [SVM and host memory] in copy.c.
 */
bool dev_through_kernel(const choir_device *device, const struct dev_access *access);

/* What dev_build_waits was given, or nothing. */
void dev_build_wait_begins(void);
void dev_build_wait_ends(void);

#endif
