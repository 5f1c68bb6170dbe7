/* SPDX-License-Identifier: MIT */
#include "trials/sparse_calls.h"

#include "world/sparse_flight.h"

#include <string.h>

enum { ROW_WIDTH = 16, ROW_BYTES = ROW_WIDTH * sizeof(float) };

static size_t rows_of(size_t count)
{
	return count / ROW_WIDTH + 1; /* the last one is this rank's alone */
}

size_t sparse_rows_bytes(int n, size_t count)
{
	return 4 * 4 * SENTINEL_BYTES + 2 * (rows_of(count) + (size_t)n) * (sizeof(int32_t) + ROW_BYTES);
}

bool sparse_rows_make(struct sparse_rows *s, choir_device *device, bool on_device, int n, int rank, size_t count,
                      int algorithm)
{
	int32_t *ind;
	float *val;

	*s = (struct sparse_rows){ .n = n, .rank = rank, .rows = rows_of(count) };
	s->most = s->rows + (size_t)n - 1;
	s->options = sparse_call_options[(size_t)algorithm % SPARSE_CALL_OPTIONS];
	if (!memory_make(&s->ind, device, on_device, s->rows * sizeof *ind, 0) ||
	    !memory_make(&s->val, device, on_device, s->rows * ROW_BYTES, 0) ||
	    !memory_make(&s->got_ind, device, on_device, s->most * sizeof *ind, 0) ||
	    !memory_make(&s->got_val, device, on_device, s->most * ROW_BYTES, 0))
		return false;
	ind = (int32_t *)(void *)memory_payload(&s->ind);
	val = (float *)(void *)memory_payload(&s->val);
	for (size_t i = 0; i < s->rows; i++)
		ind[i] = (int32_t)i + (i + 1 == s->rows ? rank : 0);
	for (size_t i = 0; i < s->rows * ROW_WIDTH; i++)
		val[i] = (float)(rank + 1);
	memory_push(&s->ind);
	memory_push(&s->val);
	return true;
}

void sparse_rows_prepare(struct sparse_rows *s)
{
	memset(memory_payload(&s->got_ind), SENTINEL, s->got_ind.bytes);
	memory_push(&s->got_ind);
}

choir_status sparse_rows_call(struct sparse_rows *s, choir_comm *comm)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_call call = CHOIR_CALL_INIT;

	call.options = s->options;
	s->n_ind = s->most;
	s->n_val = s->most * ROW_WIDTH;
	return choir_sparse_allreduce(comm, s->ind.buffer, s->rows, s->val.buffer, s->rows * ROW_WIDTH,
	                              s->got_ind.buffer, &s->n_ind, s->got_val.buffer, &s->n_val, CHOIR_I32, CHOIR_F32,
	                              CHOIR_OP_SUM, &attr, &call, NULL);
}

bool sparse_rows_are_right(struct sparse_rows *s)
{
	const int32_t *ind = (const int32_t *)(const void *)memory_payload(&s->got_ind);
	const float *val = (const float *)(const void *)memory_payload(&s->got_val);

	if (s->n_ind != s->most || s->n_val != s->most * ROW_WIDTH)
		return false;
	memory_pull(&s->got_ind);
	memory_pull(&s->got_val);
	for (size_t i = 0; i < s->most; i++) {
		float want = i + 1 < s->rows ? (float)(s->n * (s->n + 1) / 2) : (float)(i + 2 - s->rows);

		if (ind[i] != (int32_t)i || val[i * ROW_WIDTH] != want || val[i * ROW_WIDTH + ROW_WIDTH - 1] != want)
			return false;
	}
	return memory_sentinels_stand(&s->got_ind) && memory_sentinels_stand(&s->got_val);
}

void sparse_rows_free(struct sparse_rows *s)
{
	memory_free(&s->ind);
	memory_free(&s->val);
	memory_free(&s->got_ind);
	memory_free(&s->got_val);
}
