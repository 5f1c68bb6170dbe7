/* SPDX-License-Identifier: MIT */
#include "topk/vector.h"

#include "base/simd.h"

#include <math.h>

#define VALUE   float
#define NAME(x) x##_f32
#include "topk/vector_type.inc"
#undef VALUE
#undef NAME
#define VALUE   double
#define NAME(x) x##_f64
#include "topk/vector_type.inc"

void vector_accumulate(choir_dtype work, uint64_t n, const struct accumulation *what)
{
	if (work == CHOIR_F32)
		accumulate_f32(n, what);
	else
		accumulate_f64(n, what);
}

void vector_restart(const struct topk_types *types, const void *ind, uint64_t n, uint64_t from,
                    const struct accumulation *what)
{
	if (types->work == CHOIR_F32)
		restart_f32(ind, types->form, n, from, what);
	else
		restart_f64(ind, types->form, n, from, what);
}

uint64_t vector_first_nan(const struct topk_types *types, const void *from)
{
	return types->work == CHOIR_F32 ? first_nan_f32(types->n, from) : first_nan_f64(types->n, from);
}

void vector_divide(const struct topk_types *types, void *values, uint64_t n, double by)
{
	if (types->work == CHOIR_F32)
		divide_f32(n, values, by);
	else
		divide_f64(n, values, by);
}

void vector_add(const struct topk_types *types, void *tensor, const struct topk_list *list)
{
	if (types->work == CHOIR_F32)
		add_f32(tensor, list, types->form);
	else
		add_f64(tensor, list, types->form);
}
