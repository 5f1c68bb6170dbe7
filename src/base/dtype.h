/* SPDX-License-Identifier: MIT */
/* Properties of the data types, from the kinds of <choir/dtype.def>. */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <choir/types.h>
#include <stdbool.h>

enum dtype_kind { KIND_SIGNED = 1, KIND_UNSIGNED, KIND_BOOL, KIND_REAL, KIND_NARROW, KIND_PAIR };

enum {
#define CHOIR_DTYPE(name, number, text, bytes, kind) +1
	N_DTYPES = 0
#include <choir/dtype.def>
#undef CHOIR_DTYPE
	,
#define CHOIR_OP(name, number, text, about) +1
	N_OPS = 0
#include <choir/op.def>
#undef CHOIR_OP
};

/* dtype_kind: 0 for an unknown number. */
enum dtype_kind dtype_kind(choir_dtype dtype);

bool dtype_is_float(choir_dtype dtype);

/* dtype_is_narrow: true if the accumulator, f32, is wider than the elements, so partial results lose bits. */
bool dtype_is_narrow(choir_dtype dtype);

/* dtype_acc_bytes: the size of one accumulator (ACC in cl/ops.h). */
size_t dtype_acc_bytes(choir_dtype dtype);

#endif
