/* SPDX-License-Identifier: MIT */
/* The tables of host loops, one for each CPU level.  For src/kern only. */
#ifndef KERN_HOST_TWIN_H
#define KERN_HOST_TWIN_H

#include "base/dtype.h"
#include "kern/reduce.h"

#define HOST_LINE_BYTES 64

/* The destinations of lines of results.  A destination with nt stores is aligned to a line. */
struct host_lines {
	unsigned char *first, *second; /* second may be NULL */
	bool first_nt, second_nt;
};

/* One (dtype, op). */
struct host_twin {
	/* Reduces elements first .. first + count - 1 of the sources to dst[0] .. dst[count - 1]; the call's own count
	 * and destinations are ignored. */
	void (*reduce)(const struct reduce_call *call, void *dst, const void *const *src, size_t first, size_t count);
	/* The same for two sources, n_lines * HOST_LINE_BYTES bytes of each. */
	void (*reduce_lines)(const struct reduce_call *call, const struct host_lines *to, const void *const *src,
	                     size_t first, size_t n_lines);
	void (*identity)(void *out);
};

/* The rows of undefined pairs are zero. */
typedef struct host_twin host_twins[N_OPS];
extern const host_twins host_base_twins[N_DTYPES];
extern const host_twins host_avx2_twins[N_DTYPES];   /* x86-64 only */
extern const host_twins host_avx512_twins[N_DTYPES]; /* x86-64 only */

/* The tables, fastest first; a row without a name ends them. */
struct host_level {
	const char *name;
	bool (*fits)(void); /* true if this CPU has the level */
	const host_twins *twins;
};
extern const struct host_level host_levels[];

/* host_use: from now on all reductions of this process use that table; NULL: the fastest that fits, as without this
 * call. For tests. */
void host_use(const struct host_level *level);

#endif
