/* SPDX-License-Identifier: MIT */
/* The build options of the coalescing kernels: each combination is a program of its own. */
#ifndef SPARSE_COALESCE_KERNEL_OPTIONS_H
#define SPARSE_COALESCE_KERNEL_OPTIONS_H

#include "sparse/coalesce.h"

#define COALESCE_OPTIONS_BYTES 96

/* ind_bytes: 4 or 8; wide: keys of 64 bits.  All write at most COALESCE_OPTIONS_BYTES. */
void coalesce_radix_options(char *out, uint32_t ind_bytes, bool wide, unsigned radix_bits);
void coalesce_segment_options(char *out, uint32_t ind_bytes, bool wide);
void coalesce_fold_options(char *out, const struct coalesce_call *call);

#endif
