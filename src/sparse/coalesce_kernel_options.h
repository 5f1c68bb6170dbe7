/* SPDX-License-Identifier: MIT */
/* The build options of the coalescing kernels: each combination is a program of its own. */
#ifndef SPARSE_COALESCE_KERNEL_OPTIONS_H
#define SPARSE_COALESCE_KERNEL_OPTIONS_H

#include "sparse/coalesce_kernel.h"

#define COALESCE_OPTIONS_BYTES 224

/* index: the OpenCL type of the indices; ind_bytes: 4 or 8, those of the result.  All write at most
 * COALESCE_OPTIONS_BYTES. */
void coalesce_radix_options(char *out, const struct coalesce_device *job, const char *index);
void coalesce_blocks_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes);
void coalesce_groups_options(char *out, const struct coalesce_device *job, unsigned digit_bits, unsigned passes);
void coalesce_segment_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes);
void coalesce_fold_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes);
void coalesce_cells_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes);
void coalesce_merge_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes);

#endif
