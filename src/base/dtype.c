/* SPDX-License-Identifier: MIT */
#include "base/dtype.h"

static const unsigned char kinds[] = {
#define CHOIR_DTYPE(name, number, text, bytes, kind) [number] = KIND_##kind,
#include <choir/dtype.def>
#undef CHOIR_DTYPE
};

enum dtype_kind dtype_kind(choir_dtype dtype)
{
	return (size_t)dtype < sizeof kinds ? (enum dtype_kind)kinds[dtype] : (enum dtype_kind)0;
}

bool dtype_is_float(choir_dtype dtype)
{
	return dtype_kind(dtype) == KIND_REAL || dtype_is_narrow(dtype);
}

bool dtype_is_narrow(choir_dtype dtype)
{
	return dtype_kind(dtype) == KIND_NARROW;
}

size_t dtype_acc_bytes(choir_dtype dtype)
{
	return dtype_is_narrow(dtype) ? sizeof(float) : choir_dtype_bytes(dtype);
}
