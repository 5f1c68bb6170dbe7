/* SPDX-License-Identifier: MIT */
/* Coalescing by kernels: what its routes share.
 *
 * Design notes.  All launches go to the device's internal in-order queue, so only the last one of a step has an event:
 * once for the count, once for the result.  Until an event is complete the device may read the sources and write the
 * result; destroy waits for it.
 *
 * Note [counts].  The kernels that make the result read its count on the device, in SCRATCH_TOTAL.  On a GPU they are
 * enqueued right behind those that count: the result has room for as many pairs as there can be, and the host learns
 * the count while they run.  Where the device has no such room, and on CPUs, whose memory that would be, they follow
 * when the host has seen the count. */
#ifndef SPARSE_COALESCE_KERNEL_H
#define SPARSE_COALESCE_KERNEL_H

#include "sparse/coalesce.h"
#include "sparse/dense.h"
#include "dev/launch.h"
#include "sparse/scratch.h"

/* Temporaries; which of them there are is the route's. */
enum coalesce_scratch {
	SCRATCH_IND, /* indices and rows that were in host memory */
	SCRATCH_ROWS,
	SCRATCH_COUNTS, /* of work-items, then scanned; their sum */
	SCRATCH_TOTAL,
	SCRATCH_OUT_IND,
	SCRATCH_OUT_VAL,
	SCRATCH_ENTRIES, /* what is sorted, and where it is sorted to */
	SCRATCH_ENTRIES_TO,
	SCRATCH_START,  /* of segments; of buckets in the result */
	SCRATCH_BITMAP, /* the union, the bits below each word, what earlier lists had */
	SCRATCH_BEFORE,
	SCRATCH_SEEN,
	SCRATCH_ACC,
	N_SCRATCH
};

struct coalesce_device;

/* A route.  count: enqueues all up to reading the number of distinct indices (coalesce_kernel_read_count).  fill: all
 * that makes the result, for which there is room; it does not know the count (Note [counts]). */
struct coalesce_route {
	const char *name;
	bool (*fits)(const choir_device *device, const struct coalesce_call *call, uint64_t pairs);
	choir_status (*count)(struct coalesce_device *job);
	choir_status (*fill)(struct coalesce_device *job, struct index_form form);
};

extern const struct coalesce_route coalesce_route_merge, coalesce_route_cells, coalesce_route_sort;

struct coalesce_device {
	choir_device *device;
	struct coalesce_call call;
	const struct coalesce_route *route;
	struct launch_shape shape;
	uint32_t n, count;
	uint32_t room; /* pairs: of the result */
	struct scratch scratch[N_SCRATCH];
	/* sorting */
	bool wide;    /* keys of 64 bits */
	bool carries; /* entries carry elements, not positions */
	unsigned radix_bits;
	int sorted;            /* which scratch holds the entries */
	size_t group, n_spans; /* of the kernels in which a group of so many items owns a span */
	bool is_short;         /* one group sorts, in one launch */
	cl_uint span;
	unsigned each; /* entries that an item takes at a time */
	unsigned cell_bits;
	cl_event event;
	bool counting, made, filling, enqueued; /* made: the kernels that make the result are enqueued */
	bool over;
	bool watched; /* event rings already */
};

cl_mem coalesce_mem(const struct coalesce_device *job, enum coalesce_scratch which);
choir_status coalesce_take(struct coalesce_device *job, enum coalesce_scratch which, uint64_t bytes);

/* coalesce_indices, coalesce_rows: copies what lies in host memory to the device (the memory stays the device's until a
 * later event of the queue).
 * coalesce_list, coalesce_rows_of: then where list s is. */
choir_status coalesce_indices(struct coalesce_device *job);
choir_status coalesce_rows(struct coalesce_device *job);
struct dense_list coalesce_list(const struct coalesce_device *job, uint32_t s);
struct dense_rows coalesce_rows_of(const struct coalesce_device *job, uint32_t s);

/* coalesce_rows_joined: the rows of all lists one after the other, in one cl_mem. */
choir_status coalesce_rows_joined(struct coalesce_device *job, struct dense_rows *out);

/* coalesce_run: enqueues a kernel; elements: how many it is for, each item its span of them.  coalesce_run_items: so
 * many items.  coalesce_run_groups: so many groups of
 * job->group items. */
choir_status coalesce_run(struct coalesce_device *job, const char *source, const char *options, const char *kernel,
                          const struct launch_arg *args, size_t n_args, uint64_t elements);
choir_status coalesce_run_items(struct coalesce_device *job, const char *source, const char *options,
                                const char *kernel, const struct launch_arg *args, size_t n_args, size_t items);

choir_status coalesce_run_groups(struct coalesce_device *job, const char *source, const char *options,
                                 const char *kernel, const struct launch_arg *args, size_t n_args, size_t groups);

/* coalesce_scan: exclusive prefix sums of n counts in place, their sum to SCRATCH_TOTAL. */
choir_status coalesce_scan(struct coalesce_device *job, cl_mem counts, cl_uint n);

/* coalesce_kernel_read_count: the total, as the count. */
choir_status coalesce_kernel_read_count(struct coalesce_device *job);

/* coalesce_take_result: SCRATCH_OUT_IND and SCRATCH_OUT_VAL for so many pairs, which become job->room. */
choir_status coalesce_take_result(struct coalesce_device *job, struct index_form form, uint32_t pairs);

/* coalesce_is_short: so few pairs that one group of a GPU sorts them before twelve launches would have begun. */
enum { COALESCE_GROUP = 256, COALESCE_SHORT = 4096 };
bool coalesce_is_short(const choir_device *device, uint64_t pairs);

/* coalesce_key_bits: of the keys, which are indices less the least one. */
unsigned coalesce_key_bits(const struct coalesce_call *call);

/* coalesce_sort: entries of all lists in the order of the keys' bits from from_bit on, otherwise in that in which they
 * came; job->sorted says where.  coalesce_sort_blocks: by all bits, where groups have many items.  coalesce_sort_short:
 * the same of a short list, and counts segments: SCRATCH_COUNTS and SCRATCH_TOTAL are as a scan leaves them.
 * coalesce_take_entries: what both need: room for two entries a pair, of coalesce_entry_bytes each, and for
 * 2^radix_bits counts a span. */
choir_status coalesce_sort(struct coalesce_device *job, unsigned from_bit);
choir_status coalesce_sort_blocks(struct coalesce_device *job);
choir_status coalesce_sort_short(struct coalesce_device *job);
choir_status coalesce_take_entries(struct coalesce_device *job);
uint64_t coalesce_entry_bytes(const struct coalesce_device *job);

#endif
