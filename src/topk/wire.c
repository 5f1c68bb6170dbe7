/* SPDX-License-Identifier: MIT */
#include "topk/wire.h"

#include "kern/convert.h"
#include "sparse/block.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BATCH = 512 };

bool wire_is_narrow(const struct topk_types *types)
{
	return types->wire != types->work;
}

static double largest(choir_dtype dtype)
{
	return dtype == CHOIR_F16 ? 65504 : dtype == CHOIR_BF16 ? 0x1.fep127 : FLT_MAX;
}

static double value_at(const struct topk_types *types, const void *values, uint64_t i)
{
	return types->work == CHOIR_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

static void put_at(const struct topk_types *types, void *values, uint64_t i, double value)
{
	if (types->work == CHOIR_F64)
		((double *)values)[i] = value;
	else
		((float *)values)[i] = (float)value;
}

/* Infinity and NaN stay what they are. */
static float clamp(double value, double most)
{
	if (!isfinite(value))
		return (float)value;
	return (float)(value > most ? most : value < -most ? -most : value);
}

void wire_write(const struct topk_types *types, void *to, const void *values, uint64_t n)
{
	const double most = largest(types->wire);
	float batch[BATCH];

	if (!wire_is_narrow(types)) {
		if (n > 0)
			memcpy(to, values, n * types->elem_bytes);
		return;
	}
	for (uint64_t i = 0; i < n; i += BATCH) {
		uint64_t some = n - i < BATCH ? n - i : BATCH;

		for (uint64_t k = 0; k < some; k++)
			batch[k] = clamp(value_at(types, values, i + k), most);
		convert_values(types->wire, (unsigned char *)to + i * types->wire_bytes, CHOIR_F32, batch, some);
	}
}

void wire_read(const struct topk_types *types, void *values, const void *from, uint64_t n)
{
	float batch[BATCH];

	if (!wire_is_narrow(types)) {
		if (n > 0)
			memcpy(values, from, n * types->elem_bytes);
		return;
	}
	for (uint64_t i = 0; i < n; i += BATCH) {
		uint64_t some = n - i < BATCH ? n - i : BATCH;

		convert_values(CHOIR_F32, batch, types->wire, (const unsigned char *)from + i * types->wire_bytes,
		               some);
		for (uint64_t k = 0; k < some; k++)
			put_at(types, values, i + k, batch[k]);
	}
}

void wire_write_block(const struct topk_types *types, void *to, const struct pairs *list)
{
	if (list->count == 0)
		return;
	index_convert(to, types->form, list->ind, list->form, list->count);
	wire_write(types, (unsigned char *)to + block_rows_off(types->form, list->count), list->rows, list->count);
}

/* Rounds a batch of values to the wire type; more: the rounding error of each. */
static void round_batch(const struct topk_types *types, void *values, uint64_t n, double *more)
{
	unsigned char wire[BATCH * sizeof(double)];

	for (uint64_t i = 0; i < n; i++)
		more[i] = value_at(types, values, i);
	wire_write(types, wire, values, n);
	wire_read(types, values, wire, n);
	for (uint64_t i = 0; i < n; i++)
		more[i] = isfinite(more[i]) ? more[i] - value_at(types, values, i) : 0;
}

choir_status wire_round(const struct topk_types *types, struct topk_list *list, uint64_t from, uint64_t end,
                        struct topk_list *lost)
{
	const uint64_t form_bytes = types->form.bytes;
	double more[BATCH];

	TRY(list_take(lost, types, end - from));
	for (uint64_t i = from; i < end; i += BATCH) {
		uint64_t some = end - i < BATCH ? end - i : BATCH;

		round_batch(types, (unsigned char *)list->val.ptr + i * types->elem_bytes, some, more);
		for (uint64_t k = 0; k < some; k++) {
			if (more[k] == 0)
				continue;
			memcpy((unsigned char *)lost->ind.ptr + lost->count * form_bytes,
			       (unsigned char *)list->ind.ptr + (i + k) * form_bytes, form_bytes);
			put_at(types, lost->val.ptr, lost->count++, more[k]);
		}
	}
	return CHOIR_SUCCESS;
}
