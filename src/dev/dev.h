/* SPDX-License-Identifier: MIT */
/* The room that makes all OpenCL calls: devices, the probe, access to buffers, programs and launches. */
#ifndef DEV_DEV_H
#define DEV_DEV_H

#include "base/error.h"

#include <choir/device.h>
#include <stdbool.h>
#include <stdatomic.h>

/* error_cl: a status and a sentence for an OpenCL call's error code: return error_cl("clEnqueueMapBuffer", rc). */
choir_status error_cl(const char *call, cl_int rc);
const char *cl_error_name(cl_int rc);

choir_device *dev_retain(choir_device *device); /* choir_device_destroy releases */

/* dev_attach: attaches a thing of a higher room to the device; it holds one reference of the device.  When no other
 * reference is left, choir_device_destroy calls detach(thing), which gives that one back.  One thing a device: false if
 * there is one already.
 * dev_attached: the thing, or NULL. */
bool dev_attach(choir_device *device, void *thing, void (*detach)(void *));
void *dev_attached(choir_device *device);

/* dev_range: checks a caller's buffer for `bytes` bytes from its start: its kind, that it is not null, its offset a
 * multiple of elem_bytes, the range inside the cl_mem, context and support of the device.  bytes 0 accepts anything.
 * ARGUMENT, UNSUPPORTED, with `role` ("send") in the sentence. */
choir_status dev_range(choir_device *device, const char *role, choir_buffer buffer, uint64_t bytes,
                       uint64_t elem_bytes);

/* dev_overlap: whether two ranges share a byte.  Sub-buffers and cl_mems over host pointers are compared as what they
 * cover.  *same: both start at the same byte.  *b_minus_a: bytes from a's start to b's, 0 in unrelated memory.  Both
 * outputs may be NULL.  A range of 0 bytes overlaps nothing. */
bool dev_overlap(choir_buffer a, uint64_t a_bytes, choir_buffer b, uint64_t b_bytes, bool *same, int64_t *b_minus_a);

/* dev_origin: where a buffer starts: an address, or an offset in a cl_mem that has no host address.  false for a handle
 * that the driver does not know. */
struct dev_origin {
	cl_mem root; /* NULL: at is an address */
	uint64_t at;
};
bool dev_origin(choir_buffer buffer, struct dev_origin *out);

/* dev_spans_meet: whether two of the ranges share a byte and one of them is written; ids: of these two, ascending.
 * Sorts them; n log n. */
struct dev_span {
	struct dev_origin origin;
	uint64_t bytes; /* > 0 */
	size_t id;
	bool written;
};
bool dev_spans_meet(struct dev_span *spans, size_t n, size_t ids[2]);

/* The way to a buffer's bytes during a collective: direct, stage, or by mapping where neither is set. */
struct dev_access {
	unsigned char *ptr; /* direct, and map once mapped: first byte of the caller's range */
	cl_mem mem;         /* the cl_mem of a cl_mem buffer, so that kernels can use it in place; else NULL */
	size_t off;         /* bytes into mem */
	void *usm;          /* the pointer: of USM device memory, which is staged, or shared, which is direct */
	void *svm;          /* map of coarse-grained SVM */
	uint64_t bytes;
	bool direct; /* ptr is valid for the whole run without any command */
	bool stage;  /* reached by dev_read and dev_write only */
	bool write;
	/* stage: the cl_mem's flags forbid the host to read or write it; dev_read and dev_write use a second buffer */
	bool no_read, no_write;
	/* and kernels to read it, to write it; USM: the platform cannot pass it to any */
	bool no_kernel, no_kernel_write;
};

/* dev_keep: retains the buffer's cl_mem in *kept_p; other kinds leave *kept_p unchanged.  The caller releases it with
 * clReleaseMemObject. */
choir_status dev_keep(choir_buffer buffer, cl_mem *kept_p);

/* dev_resolve: the access to `bytes` bytes of a buffer that dev_range has checked.  It enqueues nothing, except on
 * DIRECT devices one blocking map for each cl_mem, whose pointer is cached until the cl_mem is destroyed.  bytes 0:
 * direct with ptr NULL.  A cl_mem whose flags restrict the host is staged.  SVM on STAGE devices that are no CPUs:
 * blocks for the build of the kernel that copies it; TIMEOUT as of dev_kernel_take. */
choir_status dev_resolve(choir_device *device, choir_buffer buffer, uint64_t bytes, bool write, struct dev_access *out);

/* dev_deaths: a counter that grows when a cl_mem that prepared calls hold on to is destroyed, before its handle can be
 * reused.  Facts learnt about such handles hold while the counter stays. */
uint64_t dev_deaths(void);
/* dev_watch_death: the death of a cl_mem that the caller holds will be counted; false if the driver cannot tell. */
bool dev_watch_death(choir_device *device, cl_mem mem);
void dev_count_death(void); /* of something else that prepared calls hold on to */

/* dev_map, dev_unmap: class map only.  dev_map starts mapping and sets access->ptr, valid after *event_p; dev_unmap
 * sets it to NULL, and the caller's memory is complete after *event_p.  event_p may be NULL.  Two maps of the same
 * bytes, one of them for writing, are undefined in OpenCL: map a range once. */
bool dev_needs_map(const struct dev_access *access);
choir_status dev_map(choir_device *device, struct dev_access *access, cl_event *event_p);
choir_status dev_unmap(choir_device *device, struct dev_access *access, cl_event *event_p);

/* dev_read, dev_write: start a copy between the caller's range (from byte off) and host memory of the library, for
 * accesses that are staged or not mapped.  On the internal in-order queue; the host memory belongs to the device until
 * *event_p.  event_p NULL: the copy starts with the queue's next command that has an event. */
choir_status dev_read(choir_device *device, const struct dev_access *access, uint64_t off, void *to, uint64_t bytes,
                      cl_event *event_p);
choir_status dev_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                       uint64_t bytes, cl_event *event_p);

/* dev_stage_read, dev_stage_write: the same on one queue for each direction, so that copies both ways and kernels
 * overlap.  Only copies of one direction are in order: a copy starts after what it needs of other queues.
 * A GPU's SVM is copied on the internal queue (Note [SVM and host memory] in copy.c). */
choir_status dev_stage_read(choir_device *device, const struct dev_access *access, uint64_t off, void *to,
                            uint64_t bytes, cl_event *event_p);
choir_status dev_stage_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                             uint64_t bytes, cl_event *event_p);

/* dev_stage_read_now, dev_stage_write_now: the same, blocking until the copy is complete. */
choir_status dev_stage_read_now(choir_device *device, const struct dev_access *access, uint64_t off, void *to,
                                uint64_t bytes);
choir_status dev_stage_write_now(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                                 uint64_t bytes);

/* dev_kernels_may: do the cl_mem's flags let kernels read it, and write it where the call does?
 * dev_is_on_device: does the range lie in a cl_mem of class stage, SVM that the host has to map, or USM of the device
 * or shared, and may kernels use it?  Or is it empty?
 * dev_kind_of, dev_bytes_of: of bytes; of such a range.
 * dev_copies_between: does dev_copy copy from the one range to the other?
 * dev_copy: copies between memory of one kind, of the device's context, on the internal in-order queue.  event_p NULL:
 * it starts with the queue's next command that has an event. */
bool dev_kernels_may(const struct dev_access *access);
bool dev_is_on_device(const struct dev_access *access);
bool dev_is_whole(const struct dev_access *access); /* a whole cl_mem, no sub-buffer, and not over the host's memory */
enum dev_kind { DEV_MEM, DEV_SVM, DEV_USM, DEV_KINDS };
struct dev_bytes {
	cl_mem mem;
	uint64_t off;
	void *pointer; /* instead of mem: of SVM, or of USM */
	bool is_usm;
};
enum dev_kind dev_kind_of(struct dev_bytes bytes);
struct dev_bytes dev_bytes_of(const struct dev_access *access);
bool dev_copies_between(const struct dev_access *to, const struct dev_access *from);
choir_status dev_copy(choir_device *device, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                      cl_event *event_p);

/* dev_poll: *done_p = true once the event is complete, which then is a synchronisation point too.  OPENCL if the
 * command failed. */
choir_status dev_poll(cl_event event, bool *done_p);

/* dev_watch: calls fn(ctx) on a driver's thread when the event completes or fails. */
choir_status dev_watch(cl_event event, void (*fn)(void *), void *ctx);

/* dev_wait: blocks until the event is complete, releases it and sets it NULL; NULL is silent.  For probes, tests,
 * calls that end, and copies that their caller needs at once; what is long is polled (Note [device at work] in
 * exec/device_wait.c). */
choir_status dev_wait(cl_event *event_p);

/* dev_flush_event: flushes the queue of a command that may not have been flushed yet, since some drivers begin nothing
 * before. */
void dev_flush_event(cl_event event);

/* dev_ends_by: polls a command of the device until until_ns, once at least, and releases the event.  False: it failed
 * or was not over by then. */
bool dev_ends_by(const choir_device *device, cl_event event, int64_t until_ns);

/* dev_drain: after a failure: blocks until all commands of dev_queue are over, and writes of dev_stage_write, also
 * those that no event tells of.  Leaves the thread's last error alone. */
void dev_drain(choir_device *device);

/* dev_queue_after: what is enqueued on dev_queue from now on starts after the event, of another queue, which was
 * flushed.  Releases the event and sets it NULL. */
choir_status dev_queue_after(choir_device *device, cl_event *event_p);

/* dev_marker: an event for all that was enqueued on the caller's queue so far, flushed. */
choir_status dev_marker(cl_command_queue queue, cl_event *event_p);

/* Host memory of the library, page aligned; a cl_mem lies over it where the device can read it in place. */
struct dev_memory {
	void *ptr;
	uint64_t bytes;
	cl_mem mem; /* over ptr, usable as a kernel's operand; NULL where the device cannot use it in place */
	/* stage: the CL_MEM_ALLOC_HOST_PTR buffer behind ptr, mapped until it is freed; kernels must not touch it */
	cl_mem pinned;
	bool foreign; /* ptr belongs to another owner (the arena) */
};

/* dev_memory_create: pinned memory (class stage) or plain page-aligned memory (the others). */
choir_status dev_memory_create(choir_device *device, uint64_t bytes, struct dev_memory *out);

/* dev_memory_wrap: the same over existing memory, which outlives it.  mem stays NULL unless the device is a CPU, ptr is
 * page aligned and bytes are a multiple of 64. */
choir_status dev_memory_wrap(choir_device *device, void *ptr, uint64_t bytes, struct dev_memory *out);

/* dev_memory_free: no command may still use the memory; {0} is silent. */
void dev_memory_free(choir_device *device, struct dev_memory *memory);

/* dev_memory_pin: tells the driver of host memory that copies will come from and go to, until dev_buffer_free of
 * *mem_p: it copies there without a bounce.  *mem_p is NULL where it has no use for that. */
void dev_memory_pin(choir_device *device, void *ptr, uint64_t bytes, cl_mem *mem_p);

/* dev_fill_zero: elements of elem_bytes (1 to 16, a power of two) at a byte offset that is a multiple of it.  On the
 * internal in-order queue of kernels; event_p as for dev_copy. */
choir_status dev_fill_zero(choir_device *device, cl_mem mem, size_t off, uint64_t bytes, size_t elem_bytes,
                           cl_event *event_p);

/* dev_buffer_create: device memory of the library, for kernels, and through dev_buffer_access for dev_read and
 * dev_write.  dev_buffer_free releases it; NULL is silent. */
choir_status dev_buffer_create(choir_device *device, uint64_t bytes, cl_mem *out_p);
void dev_buffer_free(cl_mem mem);

/* dev_buffer_take: the same for a short while: a buffer that was given back, if one is large enough, since drivers take
 * long to allocate one, most of them when a command first uses it.  dev_buffer_give: keeps it; no command may still use
 * it, and {0} is silent.  A device frees the buffers that it keeps at its end, or when it cannot create one. */
struct dev_buffer {
	cl_mem mem;
	uint64_t bytes; /* as many as were asked for, or more */
};
choir_status dev_buffer_take(choir_device *device, uint64_t bytes, struct dev_buffer *out);
void dev_buffer_give(choir_device *device, struct dev_buffer *buffer);

/* dev_buffer_place: tells the driver that this device is the first to write the buffer, whose bytes so far are not
 * needed: of several devices of a context, each with its memory, it then is in this one's before the first command
 * needs it. */
void dev_buffer_place(choir_device *device, cl_mem mem);
struct dev_access dev_buffer_access(cl_mem mem, uint64_t off, uint64_t bytes);

/* dev_room_create: device memory of the library of any kind, to copy by kernels.  dev_room_free: no command may still
 * use it; {0} is silent.  dev_room_argument: makes it that argument of a kernel. */
choir_status dev_room_create(choir_device *device, enum dev_kind kind, uint64_t bytes, struct dev_bytes *out);
void dev_room_free(choir_device *device, struct dev_bytes *room);
cl_int dev_room_argument(choir_device *device, cl_kernel kernel, cl_uint index, const struct dev_bytes *room);

/* Copies by a kernel on the internal queue; the offsets are not looked at, and the first use blocks for the build.
 * dev_copy_rooms: from one room of the library's to another, of another kind, up to the next multiple of 16 bytes.
 * dev_copy_svm: so many bytes from SVM to a cl_mem, or from a cl_mem to SVM.  dev_copy_svm_warm: blocks for its build,
 * which dev_resolve has done where the device's copies of SVM need it. */
choir_status dev_copy_rooms(choir_device *device, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                            cl_event *event_p);
choir_status dev_copy_svm(choir_device *device, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                          cl_event *event_p);
choir_status dev_copy_svm_warm(choir_device *device);

/* dev_kernel_take: a kernel of an embedded source file ("reduce.cl"), built with options once for each device and
 * cached.  Blocks for the build, which takes seconds; TIMEOUT at the deadline of dev_build_deadline, while the build
 * goes on.  One process of a user builds at a time, since PoCL's cache on disk races; not on a GPU's own driver.
 * Kernels carry arguments and are not thread-safe: the caller holds the cl_kernel alone until dev_kernel_give, which it
 * calls right after dev_launch (arguments are captured there). */
choir_status dev_kernel_take(choir_device *device, const char *source, const char *options, const char *kernel,
                             cl_kernel *out_p);
void dev_kernel_give(choir_device *device, const char *source, const char *options, const char *kernel, cl_kernel k);

/* The option that puts the text of an operator of the caller's, of that hash in 16 digits, in place of the mark in the
 * source (cl/ops.h).  The caller of dev_kernel_take holds the operator. */
#define DEV_TEXT_OPTION "-D CHOIR_TEXT="

/* dev_build_deadline: this thread waits for builds until until_ns (CLOCK_MONOTONIC) from now on; 0: ten minutes
 * each. */
void dev_build_deadline(int64_t until_ns);
int64_t dev_build_until(void); /* as set last */

/* dev_build_waits: what every thread calls before and after it waits for a build; for the whole process. */
void dev_build_waits(void (*begins)(void), void (*ends)(void));

/* dev_launch: enqueues the kernel on the internal in-order queue; event_p as for dev_copy, since each flush is a call
 * of the driver's to the GPU.  global is a multiple of local; local 0 lets the driver choose.  More groups than
 * LAUNCH_GROUPS are several launches, in which kernels go by get_global_id alone (cl/group.h). */
choir_status dev_launch(choir_device *device, cl_kernel kernel, size_t global, size_t local, cl_event *event_p);

/* dev_queue: the internal in-order queue, of kernels and of what is enqueued beside them.  The reads and writes of
 * class stage have queues of their own (dev/copy.c). */
cl_command_queue dev_queue(choir_device *device);

/* dev_list_way: the faster way to gather short cl_mems on this device, as exec found.
 * dev_list_way_try: true for one thread at a time while it is not known: it is to find out, and calls
 * dev_list_way_set; others use kernels meanwhile.  What is found holds as long as the device. */
enum dev_list_way { DEV_LIST_UNTRIED, DEV_LIST_TRYING, DEV_LIST_KERNELS, DEV_LIST_COPIES };
enum dev_list_way dev_list_way(const choir_device *device);
bool dev_list_way_try(choir_device *device);
void dev_list_way_set(choir_device *device, enum dev_list_way way);

bool dev_is_cpu(const choir_device *device);
bool dev_has_far_memory(const choir_device *device); /* class stage, and not because somebody forced a CPU into it */
/* dev_has_quick_callbacks: of far memory, unless the probe found that a look every 50 us is sooner. */
bool dev_has_quick_callbacks(const choir_device *device);
/* dev_command_bytes: the bytes that a command copies to memory of class stage in the time that it takes without any, as
 * measured, but of a CPU; 0 = of another class.  dev_short_bytes: buffers up to this are copied by one command, longer
 * ones in chunks. */
uint64_t dev_command_bytes(const choir_device *device);
uint64_t dev_short_bytes(const choir_device *device);
/* dev_short_map_bytes: of class map, buffers up to this are copied by one command, longer ones mapped; measured when
 * the device was created. */
uint64_t dev_short_map_bytes(const choir_device *device);
/* dev_bus_ns: how long so many commands take, with so many bytes between far memory and pageable memory of the host, as
 * measured. */
double dev_bus_ns(const choir_device *device, uint64_t commands, uint64_t bytes);
/* dev_crossing_ns: the same of one read or one write, and pinned memory; 0: the memory is near, or was not
 * measured. */
double dev_crossing_ns(const choir_device *device, bool write, uint64_t bytes);
/* dev_peer_percent: the time of a copy from the other device's memory, which may be the same device, over that of as
 * many bytes on the bus, in percent; 0: the memory of one of them is near, the bus was not measured, or no copy was
 * over by until_ns (CLOCK_MONOTONIC).  Both are of one context.  Blocks for as long as three copies of 2 MB; this
 * thread's last error stays. */
unsigned dev_peer_percent(choir_device *to, choir_device *from, int64_t until_ns);
bool dev_is_host(const choir_device *device); /* of host memory alone: there is no context, no queue */
/* dev_is_the_parents: in a forked child: its OpenCL objects were made before the fork, and the driver's threads are not
 * here. */
bool dev_is_the_parents(const choir_device *device);
bool dev_has_fp64(const choir_device *device);
bool dev_divides_exactly(const choir_device *device); /* f32 division rounds correctly in kernels */
bool dev_keeps_denormals(const choir_device *device); /* of f32, in kernels */
bool dev_has_long_loops(const choir_device *device);  /* Note [long loops] in facts.c */
choir_reduce_where dev_reduce_where(const choir_device *device);
size_t dev_max_group(const choir_device *device);
/* dev_vector_width: how many elements of so many bytes a work-item should take at once: 1, 2, 4, 8 or 16. */
unsigned dev_vector_width(const choir_device *device, size_t elem_bytes);
cl_uint dev_compute_units(const choir_device *device);
uint64_t dev_memory_bytes(const choir_device *device);
uint64_t dev_most_buffer_bytes(const choir_device *device); /* of one cl_mem */

#endif
