/* SPDX-License-Identifier: MIT */
/* Pairs on one device, without a comm: what a trainer that sparsifies its own gradients needs beside the collectives.
 *
 * A pair is an index (I32 or I64) and a row of `width` elements.  Every call takes any kind of buffer, has deps and an
 * event like a collective (docs/events.md; event_p NULL blocks), and takes no options.  A failure is the call's alone.
 * Calls of one device run one after the other, in any order.  Kernels do the work on a GPU where all operands are
 * cl_mem, or as CHOIR_REDUCE says; else the host does, with the same result.  Written and read operands may not
 * overlap. docs/pairs.md has an example.
 *
 * Errors: ARGUMENT (null, misaligned or overlapping buffers, of another context, counts beyond any memory, indices that
 * do not fit ind_dtype), UNSUPPORTED (dtype, op), CAPACITY, OPENCL, NO_MEMORY, TIMEOUT; or that of a dep. */
#ifndef CHOIR_PAIRS_H
#define CHOIR_PAIRS_H

#include <choir/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* choir_select_top: the k <= count elements of largest magnitude, as pairs in ascending order of their index: exactly
 * k; of equal magnitudes those with the lowest index.  F16, BF16, F32, F64.  NaN counts as larger than all else, so
 * that none is left behind unseen. */
CHOIR_API choir_status choir_select_top(choir_device *device, choir_buffer from, size_t count, choir_dtype dtype,
                                        size_t k, choir_buffer ind, choir_dtype ind_dtype, choir_buffer val,
                                        const choir_call *call, choir_event **event_p);

/* choir_select_above: the elements with magnitude >= threshold (>= 0), and every NaN, in ascending order of their
 * index.  *pairs_p: room in ind and val in, how many there are out; it must live until the event completes.  More than
 * there is room for: CAPACITY, *pairs_p says how many, and what ind and val hold is undefined. */
CHOIR_API choir_status choir_select_above(choir_device *device, choir_buffer from, size_t count, choir_dtype dtype,
                                          double threshold, choir_buffer ind, choir_dtype ind_dtype, choir_buffer val,
                                          size_t *pairs_p, const choir_call *call, choir_event **event_p);

/* choir_gather_rows: row i of `to` = row ind[i] of `from`, which has `rows` rows.  Any dtype; indices in any order,
 * duplicates too.  ARGUMENT if an index is no row; nothing is written then. */
CHOIR_API choir_status choir_gather_rows(choir_device *device, choir_buffer ind, size_t ind_count,
                                         choir_dtype ind_dtype, choir_buffer from, size_t rows, size_t width,
                                         choir_dtype dtype, choir_buffer to, const choir_call *call,
                                         choir_event **event_p);

/* choir_scatter_rows: row ind[i] of `to`, which has `rows` rows, = row i of `from`; the other rows stay.  Rows
 * with the same index overwrite each other element by element, in an order that is undefined.  ARGUMENT as above. */
CHOIR_API choir_status choir_scatter_rows(choir_device *device, choir_buffer ind, size_t ind_count,
                                          choir_dtype ind_dtype, choir_buffer from, choir_buffer to, size_t rows,
                                          size_t width, choir_dtype dtype, const choir_call *call,
                                          choir_event **event_p);

/* choir_intersect: byte i of found = 1 if ind[i] is one of the among_count indices of `among` (>= 0), else 0.  Both in
 * any order, with duplicates. */
CHOIR_API choir_status choir_intersect(choir_device *device, choir_buffer ind, size_t ind_count, choir_buffer among,
                                       size_t among_count, choir_dtype ind_dtype, choir_buffer found,
                                       const choir_call *call, choir_event **event_p);

/* choir_coalesce_rows: pairs in any order (indices >= 0) -> ascending distinct indices, the rows of one index reduced
 * by op in the order in which they came, so the bits never vary.  val_count / ind_count is the width.  op: any but
 * mean, premul_sum, local and one with a final function, which need ranks; val_dtype: any but pairs.  *pairs_p as for
 * choir_select_above; with CAPACITY nothing is written. */
CHOIR_API choir_status choir_coalesce_rows(choir_device *device, choir_buffer ind, size_t ind_count, choir_buffer val,
                                           size_t val_count, choir_dtype ind_dtype, choir_dtype val_dtype, choir_op op,
                                           choir_buffer to_ind, choir_buffer to_val, size_t *pairs_p,
                                           const choir_call *call, choir_event **event_p);

#ifdef __cplusplus
}
#endif

#endif
