/* SPDX-License-Identifier: MIT */
/* The kernels of `choir-bench kernel`, as one rank runs them: OpenCL kernels on cl_mems (--memory device) or their
 * twins on host memory (--memory host). */
#ifndef BENCH_KERNEL_KERNEL_H
#define BENCH_KERNEL_KERNEL_H

#include "base/error.h"
#include "bench/ways/contender.h"
#include "bench/data/memory.h"
#include "bench/sparse/sparse_data.h"

#include <choir/device.h>

enum { KERNEL_MAX_BUFFERS = 2 * ARGS_MAX_LIST + 8 };

/* What a row of the table is about. */
struct kernel_shape {
	const struct args *args;
	struct args_sparse sparse; /* rows: those of this row */
	const struct sparse_text *text;
	choir_dtype dtype;
	choir_op op;
	size_t elem_bytes, ind_bytes, row_bytes;
};

struct kernel_buffer {
	struct memory memory; /* bytes, and a guard */
	void *data;           /* an input's content, or what must be in an output; NULL = nobody looks */
	size_t bytes, elem_bytes;
	bool is_output;
};

struct kernel;

/* A row under measurement: a contender whose once() is the kernel's run(). */
struct kernel_work {
	struct contender base;
	const struct kernel *kernel;
	const struct kernel_shape *shape;
	choir_device *device; /* NULL: the host twin */
	struct memory_source source;
	struct kernel_buffer buffer[KERNEL_MAX_BUFFERS];
	int n_buffers;
	unsigned char *scratch; /* of the largest */
	void *state;            /* the kernel's, freed by free() */
	/* set by open(): */
	size_t items, items_out;
	uint64_t moved_bytes; /* inputs read once and outputs written once */
	char algorithm[48];
	int manner; /* where there are several */
};

struct kernel {
	const char *name, *about;
	const char *unit; /* of items */
	bool reduces;     /* by an operator */
	bool no_pairs;    /* --rows means nothing to it */
	int host_manners; /* ways of the host twin, of which the fastest counts; 0 = one */
	/* unfit: NULL, or why there is no such kernel for the shape. */
	const char *(*unfit)(const struct kernel_shape *shape, choir_device *device);
	/* open: makes data, buffers and state, sets the fields above.  false if there is no memory. */
	bool (*open)(struct kernel_work *work);
	/* run: once, until the result is there. */
	choir_status (*run)(struct kernel_work *work);
	/* wrong: results that no buffer holds; NULL = none. */
	uint64_t (*wrong)(struct kernel_work *work);
};

extern const struct kernel kernel_coalesce, kernel_merge, kernel_select, kernel_topk, kernel_mean_std, kernel_scatter,
    kernel_gather, kernel_intersect, kernel_bitmap_pack, kernel_bitmap_unpack, kernel_reduce;

/* kernel_open: NULL if there is no memory.  device NULL = the host twin.  shape outlives it. */
struct kernel_work *kernel_open(const struct kernel *kernel, const struct kernel_shape *shape, choir_device *device);

/* kernel_add_input, kernel_add_output: a buffer where the kernel has its operands.  data is malloc'ed
 * and now the work's; the buffer is of no bytes, and false the answer, if it is NULL (with bytes) or there is no
 * memory.  Inputs are numbered in the order in which they are added, from 0, outputs too. */
bool kernel_add_input(struct kernel_work *work, void *data, size_t bytes, size_t elem_bytes);
bool kernel_add_output(struct kernel_work *work, void *data, size_t bytes, size_t elem_bytes);

/* kernel_mem, kernel_host: the i-th buffer as one or the other. */
cl_mem kernel_mem(const struct kernel_work *work, int i);
void *kernel_host(const struct kernel_work *work, int i);

/* kernel_finish: waits for all that the library has enqueued on the device. */
choir_status kernel_finish(choir_device *device);

/* kernel_sparse: the shape as sparse_data.h takes it. */
struct sparse_shape kernel_sparse(const struct kernel_shape *shape, int n_ranks);

/* copy_open: --vs bound: copies half of so many bytes from one place to another, which moves all of them, by the
 * fastest of the ways there are.  NULL if there is no memory. */
struct contender *copy_open(uint64_t moved_bytes, const struct memory_source *source, choir_device *device);

/* select_data_make: n elements, normal or heavy-tailed. */
void *select_data_make(choir_dtype dtype, size_t n, bool heavy_tailed);

/* select_data_key: the magnitude of an element as a number.  select_data_kth: the k-th largest of n, k >= 1; false if
 * there is no memory. */
uint64_t select_data_key(size_t elem_bytes, const void *val, size_t i);
bool select_data_kth(size_t elem_bytes, const void *val, size_t n, size_t k, uint64_t *key_p);

#endif
