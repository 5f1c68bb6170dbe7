/* SPDX-License-Identifier: MIT */
/* A finished result in host memory of ours. */
#ifndef SPARSE_RESULT_H
#define SPARSE_RESULT_H

#include "sparse/pool.h"
#include "sparse/sparse.h"

struct sparse_result {
	choir_device *device; /* retained */
	choir_dtype ind_dtype, val_dtype;
	uint64_t count, width;
	struct pool_block ind, val;
};

/* result_create: memory for count pairs, unwritten.  NO_MEMORY. */
choir_status result_create(choir_device *device, choir_dtype ind_dtype, choir_dtype val_dtype, uint64_t count,
                           uint64_t width, struct sparse_result **out_p);

/* result_fits: SUCCESS, or CAPACITY naming capacities and needs. */
choir_status result_fits(uint64_t ind_needed, uint64_t ind_capacity, uint64_t val_needed, uint64_t val_capacity);

#endif
