/* SPDX-License-Identifier: MIT */
/* Which data types and operators rows have. */
#ifndef TESTS_SPARSE_DEFINED_H
#define TESTS_SPARSE_DEFINED_H

#include "base/dtype.h"
#include "kern/reduce.h"

/* reference_defined: whether rows of dtype are coalesced by op. */
static inline bool reference_defined(choir_dtype dtype, choir_op op)
{
	return dtype_kind(dtype) != KIND_PAIR && op != CHOIR_OP_LOCAL && op != CHOIR_OP_PREMUL_SUM &&
	       reduce_supported(dtype, op) == CHOIR_SUCCESS;
}

#endif
