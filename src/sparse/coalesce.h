/* SPDX-License-Identifier: MIT */
/* Coalescing makes one list out of many: ascending distinct indices, and for each the reduction of all its rows, list
 * by list, within a list in its order.  A rank coalesces its own list, with duplicates; a merge coalesces a coalesced
 * list of each rank.
 *
 * There are two steps, since the caller needs the count to take memory for the result: coalesce_count, then
 * coalesce_fill.  Each is called until it is done; on the host that is at once, kernels need several calls.  Both give
 * the same bits. */
#ifndef SPARSE_COALESCE_H
#define SPARSE_COALESCE_H

#include "dev/dev.h"
#include "sparse/pairs.h"
#include "sparse/pool.h"
#include "sparse/scratch.h"

/* Pairs: kernels number them in 32 bits, and step as far beyond the last as a work-group reads. */
#define COALESCE_KERNEL_MOST (UINT32_MAX - 65536)

/* coalesce_kernels_have_room: for that many pairs, rows of acc_bytes while they are added, on a device whose largest
 * buffer and memory have so many bytes: entries twice, the result, and the accumulators of narrow types. */
bool coalesce_kernels_have_room(uint64_t pairs, uint64_t row_bytes, uint64_t acc_bytes, uint64_t buffer_bytes,
                                uint64_t memory_bytes);

/* coalesce_device_has_room: the same of all of a device, for rows of width elements. */
bool coalesce_device_has_room(const choir_device *device, uint64_t pairs, uint64_t width, choir_dtype dtype);

/* Pairs of one list: in host memory, or where mem is set in that cl_mem at byte offsets (kernels only). */
struct coalesce_source {
	struct pairs pairs;
	cl_mem ind_mem, val_mem;
	size_t ind_off, val_off;
};

struct coalesce_call {
	choir_dtype dtype;
	choir_op op;
	uint64_t width; /* elements a row */
	/* lists are the callers' own: any order, duplicates, square_add squares their rows; else each is coalesced:
	 * ascending, distinct */
	bool raw;
	bool final; /* apply the operator's final expression with n_ranks (mean) */
	int n_ranks;
	/* that coalesce_fill will be asked for, so that a GPU need not wait for the host in between; bytes 0 = not
	 * known */
	struct index_form form;
	struct index_range range;          /* all indices lie in it, lo >= 0 */
	const struct coalesce_source *src; /* [n_src], the caller's until fini */
	uint32_t n_src;
};

struct coalesce_device; /* coalesce_kernel.c */

struct coalesce {
	struct coalesce_call call;
	uint64_t pairs; /* in all lists */
	uint64_t count; /* distinct indices, once coalesce_count is done */
	/* host */
	const struct coalesce_way *way;
	struct pool_block bitmap, before, filled; /* bitmap route, the first by buckets too */
	struct pool_block values;                 /* by buckets: what fill copies */
	struct pool_block keys;                   /* sort route: entries */
	struct pool_block acc;
	bool wide;    /* of entries: 64 bits for key and payload */
	bool carries; /* the payload is the element itself */
	/* kernels */
	struct coalesce_device *on_device;
};

/* coalesce_init: device NULL = on the host.  call->src must outlive the job.  The kernels need fewer than 2^32 pairs.
 * NO_MEMORY. */
choir_status coalesce_init(struct coalesce *job, const struct coalesce_call *call, choir_device *device);

/* coalesce_count: finds job->count.  Errors: NO_MEMORY, OPENCL. */
choir_status coalesce_count(struct coalesce *job, bool *done_p);

/* coalesce_fill: job->count indices in the given form and rows, to host memory.  Where the kernels still run on return,
 * the memory must stay. */
choir_status coalesce_fill(struct coalesce *job, void *ind, struct index_form form, void *rows, bool *done_p);

/* coalesce_fill_mems: the same to two cl_mems at byte offsets; of a job of kernels only. */
choir_status coalesce_fill_mems(struct coalesce *job, struct dev_bytes ind, struct index_form form,
                                struct dev_bytes rows, bool *done_p);

/* coalesce_fill_kept: the same, only to memory of the job's for coalesce_keep; of a job of kernels only. */
choir_status coalesce_fill_kept(struct coalesce *job, struct index_form form, bool *done_p);

/* coalesce_keep: the result of a job of kernels that is filled, as it is on the device: after coalesce_fini too, until
 * the caller gives it back. */
void coalesce_keep(struct coalesce *job, struct scratch *ind, struct scratch *rows);

/* coalesce_watch: calls fn once the kernels are done that the job waits for. */
choir_status coalesce_watch(struct coalesce *job, void (*fn)(void *), void *ctx);

/* coalesce_fini: waits for the device if it still works for the job.  Legal on a zeroed job. */
void coalesce_fini(struct coalesce *job);

/* coalesce_range_host: the least range that holds n indices.  *bad_p = position of the first negative one, n if there
 * is none. */
struct index_range coalesce_range_host(const void *ind, uint32_t ind_bytes, uint64_t n, uint64_t *bad_p);

/* coalesce_bitmap_pays: is a bitmap of the range little work beside the pairs? */
bool coalesce_bitmap_pays(const struct coalesce_call *call, uint64_t pairs);

/* A way to coalesce on the host. */
struct coalesce_way {
	const char *name;
	bool (*fits)(const struct coalesce_call *call, uint64_t pairs);
	choir_status (*count)(struct coalesce *job);
	choir_status (*fill)(struct coalesce *job, void *ind, struct index_form form, void *rows);
};

extern const struct coalesce_way coalesce_way_buckets, coalesce_way_bitmap, coalesce_way_sort;

/* The kernels. */
choir_status coalesce_kernel_create(choir_device *device, const struct coalesce_call *call, uint64_t pairs,
                                    struct coalesce_device **out_p);
choir_status coalesce_kernel_count(struct coalesce_device *on_device, uint64_t *count_p, bool *done_p);
choir_status coalesce_kernel_fill(struct coalesce_device *on_device, void *ind, struct index_form form, void *rows,
                                  bool *done_p);
choir_status coalesce_kernel_fill_mems(struct coalesce_device *on_device, struct dev_bytes ind, struct index_form form,
                                       struct dev_bytes rows, bool *done_p);
choir_status coalesce_kernel_fill_kept(struct coalesce_device *on_device, struct index_form form, bool *done_p);
void coalesce_kernel_keep(struct coalesce_device *on_device, struct scratch *ind, struct scratch *rows);
choir_status coalesce_kernel_watch(struct coalesce_device *on_device, void (*fn)(void *), void *ctx);
void coalesce_kernel_destroy(struct coalesce_device *on_device);

#endif
