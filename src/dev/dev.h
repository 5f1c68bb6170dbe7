/* SPDX-License-Identifier: MIT */
/* The only room that knows OpenCL: devices, the probe, how bytes are reached, programs and launches. */
#ifndef DEV_DEV_H
#define DEV_DEV_H

#include "base/error.h"

#include <choir/device.h>
#include <stdbool.h>
#include <stdatomic.h>

/* What an OpenCL call answered, as a status and a sentence: return error_cl("clEnqueueMapBuffer", rc). */
choir_status error_cl(const char *call, cl_int rc);
const char *cl_error_name(cl_int rc);

choir_device *dev_retain(choir_device *device); /* choir_device_destroy releases */

/* dev_attach: what a higher room keeps with the device, and which holds one reference of it.  Once no other reference
 * is left, choir_device_destroy calls detach(thing), which gives that one back.  One thing at a time.
 * dev_attached: it, or NULL.  dev_detach: takes it off again. */
void dev_attach(choir_device *device, void *thing, void (*detach)(void *));
void *dev_attached(choir_device *device);
void dev_detach(choir_device *device);

/* dev_range: checks a caller's buffer for `bytes` bytes from its start: known kind, not null, offset aligned to elem_bytes, inside the cl_mem,
 * context of the device (or any, see below), supported by the device.  ARGUMENT / UNSUPPORTED with the buffer's role in the sentence.  bytes 0
 * accepts anything. */
choir_status dev_range(choir_device *device, const char *role, choir_buffer buffer, uint64_t bytes, uint64_t elem_bytes);

/* dev_overlap: do two ranges share a byte (sub-buffers of one parent and pointers included)?  *same = they start at the same byte;
 * *b_minus_a = bytes from a's start to b's, 0 if they are in unrelated memory.  Both may be NULL.  A range of 0 bytes overlaps nothing. */
bool dev_overlap(choir_buffer a, uint64_t a_bytes, choir_buffer b, uint64_t b_bytes, bool *same, int64_t *b_minus_a);

/* Where a buffer starts: an address, or a position in a cl_mem that has no host address.  dev_place: false for a handle that the driver does not
 * know. */
struct dev_place {
	cl_mem root; /* NULL: at is an address */
	uint64_t at;
};
bool dev_place(choir_buffer buffer, struct dev_place *out);

/* How bytes of a bound buffer are reached while a collective runs: direct, stage, or by mapping (neither is set). */
struct dev_access {
	unsigned char *ptr; /* DIRECT, and MAP once mapped: first byte of the caller's range */
	cl_mem mem;         /* of cl_mem buffers, whatever the way (kernels may use it in place), else NULL */
	size_t off;         /* bytes into mem */
	void *usm;          /* STAGE of USM device memory: the device pointer */
	void *svm;          /* MAP of coarse-grained SVM */
	uint64_t bytes;
	bool direct;        /* ptr is valid for the whole run without any command */
	bool stage;         /* reached by dev_read and dev_write only; neither direct nor stage: map it */
	bool write;
	bool no_read, no_write; /* STAGE: the cl_mem's flags forbid the host that; bytes go through a buffer between: dev_read, dev_write see to it */
};

/* dev_keep: retains the buffer's cl_mem, if it is one: *kept_p, else unchanged.  clReleaseMemObject gives it back. */
choir_status dev_keep(choir_buffer buffer, cl_mem *kept_p);

/* dev_resolve: which way `bytes` bytes of the buffer (checked by dev_range) are reached.  Enqueues nothing except, on DIRECT devices, the one
 * blocking map per cl_mem, whose pointer is cached until the cl_mem dies.  bytes 0: direct with ptr NULL.  A cl_mem whose flags restrict the host is
 * staged. */
choir_status dev_resolve(choir_device *device, choir_buffer buffer, uint64_t bytes, bool write, struct dev_access *out);

/* dev_deaths: grows whenever a cl_mem dies that dev_resolve found to be direct, before its handle can mean another memory: what was found out about
 * such handles holds while it stays. */
uint64_t dev_deaths(void);

/* MAP class only: dev_map starts mapping, sets access->ptr and gives the event after which it is valid; dev_unmap the reverse (ptr is NULL again, the
 * caller's memory is complete after the event).  Map a range once: two maps of the same bytes, one of them for writing, are undefined in OpenCL.
 * event_p may be NULL. */
bool dev_needs_map(const struct dev_access *access);
choir_status dev_map(choir_device *device, struct dev_access *access, cl_event *event_p);
choir_status dev_unmap(choir_device *device, struct dev_access *access, cl_event *event_p);

/* STAGE and unmapped MAP accesses: starts copying between the caller's range (at byte off) and host memory of ours, on an internal in-order queue,
 * flushed.  The host memory is the device's until the event.  event_p may be NULL. */
choir_status dev_read(choir_device *device, const struct dev_access *access, uint64_t off, void *to, uint64_t bytes, cl_event *event_p);
choir_status dev_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from, uint64_t bytes, cl_event *event_p);

/* dev_stage_read, dev_stage_write: the same on queues of their own, one for each direction, so that copies both ways and kernels overlap.  Only
 * copies of one direction are in order: what a copy needs of the other queues must be complete before. */
choir_status dev_stage_read(choir_device *device, const struct dev_access *access, uint64_t off, void *to, uint64_t bytes, cl_event *event_p);
choir_status dev_stage_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from, uint64_t bytes,
                             cl_event *event_p);

/* dev_stage_read_now, dev_stage_write_now: the same, complete when they return. */
choir_status dev_stage_read_now(choir_device *device, const struct dev_access *access, uint64_t off, void *to, uint64_t bytes);
choir_status dev_stage_write_now(choir_device *device, const struct dev_access *access, uint64_t off, const void *from, uint64_t bytes);

/* dev_poll: *done_p = true when the event is complete (then also a synchronisation point: clWaitForEvents was called on the complete event); OPENCL
 * if it ended in error.  dev_watch: rings the process's bell through fn when it completes or fails. */
choir_status dev_poll(cl_event event, bool *done_p);
choir_status dev_watch(cl_event event, void (*fn)(void *), void *ctx);

/* dev_wait: blocks until the event is complete, releases it and sets it NULL; NULL is silent.  For tests, probes and tear-down, never in the engine's
 * steps. */
choir_status dev_wait(cl_event *event_p);

/* dev_marker: an event for all that was enqueued on the caller's queue so far, flushed. */
choir_status dev_marker(cl_command_queue queue, cl_event *event_p);

/* Host memory of ours that the device may know: page aligned, wrapped as a cl_mem where the device can read it in place. */
struct dev_memory {
	void *ptr;
	uint64_t bytes;
	cl_mem mem;  /* over ptr, usable as a kernel's operand; NULL if the device has no use for it */
	cl_mem pinned; /* STAGE: the CL_MEM_ALLOC_HOST_PTR buffer behind ptr, mapped for good: for dev_read and dev_write, no kernel may touch it */
	bool foreign;/* ptr is not ours to free (arena) */
};
/* dev_memory_create: bytes of pinned memory (STAGE) or plain page-aligned memory (others).  dev_memory_wrap: the same over existing memory, which
 * outlives it; mem stays NULL unless the device is a CPU and ptr is page aligned with bytes a multiple of 64.  dev_memory_free: nothing may still use
 * it; {0} is silent. */
choir_status dev_memory_create(choir_device *device, uint64_t bytes, struct dev_memory *out);
choir_status dev_memory_wrap(choir_device *device, void *ptr, uint64_t bytes, struct dev_memory *out);
void dev_memory_free(choir_device *device, struct dev_memory *memory);

/* dev_buffer_create: memory of the device's own, for kernels (and dev_read, dev_write through dev_buffer_access).  clReleaseMemObject by
 * dev_buffer_free; NULL is silent. */
choir_status dev_buffer_create(choir_device *device, uint64_t bytes, cl_mem *out_p);
void dev_buffer_free(cl_mem mem);
struct dev_access dev_buffer_access(cl_mem mem, uint64_t off, uint64_t bytes);

/* dev_kernel_take: the kernel of that name of the embedded source file (e.g. "reduce.cl") built with options; built once per device, one build at a
 * time over the processes of the user on this machine (PoCL's cache races), cached.  Blocks for the build, seconds: TIMEOUT when the deadline of
 * dev_build_deadline passes, while the build goes on.  The caller holds the returned
 * cl_kernel alone until dev_kernel_give: kernels carry arguments and are not thread-safe, so a small free list is kept.  Give it right after
 * dev_launch: arguments are captured. */
choir_status dev_kernel_take(choir_device *device, const char *source, const char *options, const char *kernel, cl_kernel *out_p);
void dev_kernel_give(choir_device *device, const char *source, const char *options, const char *kernel, cl_kernel k);

/* dev_build_deadline: until when (CLOCK_MONOTONIC, ns) this thread waits for builds from now on; 0 = ten minutes for each. */
void dev_build_deadline(int64_t until_ns);

/* dev_launch: enqueues on the internal in-order queue and flushes; event_p may be NULL for a launch that a later one on the queue covers.  global is
 * a multiple of local; local 0 lets the driver choose. */
choir_status dev_launch(choir_device *device, cl_kernel kernel, size_t global, size_t local, cl_event *event_p);

cl_command_queue dev_queue(choir_device *device); /* the internal in-order queue */
bool dev_is_cpu(const choir_device *device);
bool dev_is_host(const choir_device *device); /* of host memory alone: there is no context, no queue */
bool dev_has_fp64(const choir_device *device);
bool dev_divides_exactly(const choir_device *device); /* f32 division rounds correctly in kernels */
bool dev_has_long_loops(const choir_device *device);  /* work-items may loop more than 65535 times in a launch */
choir_reduce_where dev_reduce_where(const choir_device *device);
size_t dev_max_group(const choir_device *device);
cl_uint dev_compute_units(const choir_device *device);

#endif
