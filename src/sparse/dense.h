/* SPDX-License-Identifier: MIT */
/* Pairs against a dense tensor and against bitmaps: on the host, and as kernels with the same result.
 * Row x of the tensor, and bit x of a bitmap, stand for index lo + x. */
#ifndef SPARSE_DENSE_H
#define SPARSE_DENSE_H

#include "dev/dev.h"
#include "sparse/pairs.h"

/* Host.  Indices lie in the tensor or bitmap; where rows are written they are distinct. */
void dense_scatter(const struct pairs *pairs, uint64_t row_bytes, int64_t lo, void *dense);
void dense_gather(const void *ind, struct index_form form, uint64_t n, uint64_t row_bytes, int64_t lo,
                  const void *dense, void *rows);
void dense_zero(const void *ind, struct index_form form, uint64_t n, uint64_t row_bytes, int64_t lo, void *dense);

/* dense_contains: found[i] = 1 if index i is a set bit of the bitmap of so many 64-bit words, else 0; any index may be
 * asked for. */
void dense_contains(const void *ind, struct index_form form, uint64_t n, int64_t lo, const uint64_t *bitmap,
                    uint64_t words, uint8_t *found);

/* Indices on the device: in a cl_mem at a byte offset. */
struct dense_list {
	cl_mem ind;
	uint64_t off;
	struct index_form form;
	uint64_t n; /* > 0 */
};

/* Rows or a tensor on the device. */
struct dense_rows {
	cl_mem mem;
	uint64_t off;
	uint64_t elem_bytes, width; /* of a row */
};

/* Kernels: enqueued on the internal in-order queue; event_p may be NULL.  They block for a first build only.  Errors:
 * OPENCL, NO_MEMORY. */
choir_status dense_kernel_scatter(choir_device *device, const struct dense_list *list, const struct dense_rows *rows,
                                  int64_t lo, const struct dense_rows *dense, cl_event *event_p);
choir_status dense_kernel_gather(choir_device *device, const struct dense_list *list, const struct dense_rows *dense,
                                 int64_t lo, const struct dense_rows *rows, cl_event *event_p);
choir_status dense_kernel_zero(choir_device *device, const struct dense_list *list, int64_t lo,
                               const struct dense_rows *dense, cl_event *event_p);

/* A bitmap on the device, of 32-bit words (on a little-endian device the same bytes as the host's). */
struct dense_bitmap {
	cl_mem mem;
	uint64_t words;
	int64_t lo;
};

/* dense_kernel_clear: no bit is set. */
choir_status dense_kernel_clear(choir_device *device, const struct dense_bitmap *bitmap, cl_event *event_p);

/* dense_kernel_mark: sets the list's bits; the others stay. */
choir_status dense_kernel_mark(choir_device *device, const struct dense_list *list, const struct dense_bitmap *bitmap,
                               cl_event *event_p);

/* dense_kernel_number: before[w] = bits below word w (uint, [words]); total (uint, [1]) = all of them.  scratch: uint,
 * [dense_kernel_spans]. */
uint64_t dense_kernel_spans(choir_device *device, uint64_t words);
choir_status dense_kernel_number(choir_device *device, const struct dense_bitmap *bitmap, cl_mem scratch, cl_mem before,
                                 cl_mem total, cl_event *event_p);

/* dense_kernel_indices: the bits as ascending indices of a form, to the start of ind. */
choir_status dense_kernel_indices(choir_device *device, const struct dense_bitmap *bitmap, cl_mem before, cl_mem ind,
                                  struct index_form form, cl_event *event_p);

/* dense_kernel_contains: found: uchar, [list->n]. */
choir_status dense_kernel_contains(choir_device *device, const struct dense_list *list,
                                   const struct dense_bitmap *bitmap, cl_mem found, cl_event *event_p);

#endif
