/* SPDX-License-Identifier: MIT */
/* The table of host loops: one copy a CPU level.  Seen by src/kern only. */
#ifndef KERN_HOST_TWIN_H
#define KERN_HOST_TWIN_H

#include <choir/types.h>

/* One (dtype, op).  Sources k >= raw_from hold original values; n_final = number of ranks, 0 = without the final expression. */
struct host_twin {
	void (*two)(void *dst, const void *a, const void *b, size_t count, size_t raw_from, int n_final);
	void (*many)(void *dst, const void *const *src, size_t n_src, size_t count, size_t raw_from, int n_final);
	void (*identity)(void *out);
};

#define HOST_DTYPES 13
#define HOST_OPS 12

/* The rows of pairs that are not defined are zero. */
extern const struct host_twin host_base_twins[HOST_DTYPES][HOST_OPS];
extern const struct host_twin host_avx2_twins[HOST_DTYPES][HOST_OPS]; /* x86-64 only */

#endif
