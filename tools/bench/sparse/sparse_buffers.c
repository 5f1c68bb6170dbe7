/* SPDX-License-Identifier: MIT */
#include "sparse_job.h"

#include "bench/data/check.h"

#include <stdlib.h>
#include <string.h>

static bool init(struct memory *memory, const struct sparse_job *sparse, size_t bytes)
{
	return memory_init(memory, &sparse->job->memory, bytes + CHECK_GUARD_BYTES);
}

bool sparse_buffers_init(struct sparse_buffers *buffers, const struct sparse_job *sparse)
{
	size_t in = sparse->mine.rows, out = sparse->expected.rows;

	*buffers = (struct sparse_buffers){ 0 };
	if (init(&buffers->send_ind, sparse, in * sparse->ind_bytes) &&
	    init(&buffers->send_val, sparse, in * sparse->row_bytes) &&
	    init(&buffers->recv_ind, sparse, out * sparse->ind_bytes) &&
	    init(&buffers->recv_val, sparse, out * sparse->row_bytes)) {
		size_t rows = in > out ? in : out,
		       row = sparse->row_bytes > sparse->ind_bytes ? sparse->row_bytes : sparse->ind_bytes;

		buffers->scratch = malloc(rows * row + CHECK_GUARD_BYTES);
		if (buffers->scratch != NULL)
			return true;
	}
	sparse_buffers_fini(buffers);
	return false;
}

void sparse_buffers_fini(struct sparse_buffers *buffers)
{
	memory_fini(&buffers->send_ind);
	memory_fini(&buffers->send_val);
	memory_fini(&buffers->recv_ind);
	memory_fini(&buffers->recv_val);
	free(buffers->scratch);
	buffers->scratch = NULL;
}

/* data NULL = sentinel everywhere. */
static bool write(struct sparse_buffers *buffers, struct memory *memory, const void *data)
{
	memset(buffers->scratch, CHECK_SENTINEL, memory->bytes);
	if (data != NULL)
		memcpy(buffers->scratch, data, memory->bytes - CHECK_GUARD_BYTES);
	return memory_write(memory, buffers->scratch);
}

bool sparse_buffers_fill(struct sparse_buffers *buffers, const struct sparse_job *sparse)
{
	return write(buffers, &buffers->send_ind, sparse->mine.ind) &&
	       write(buffers, &buffers->send_val, sparse->mine.val) && write(buffers, &buffers->recv_ind, NULL) &&
	       write(buffers, &buffers->recv_val, NULL);
}

/* Rows of the memory that are not the data's, and its guard. */
static bool count(struct sparse_buffers *buffers, struct memory *memory, const void *data, size_t rows,
                  size_t row_bytes, uint64_t *wrong_p)
{
	const unsigned char *got = buffers->scratch;
	uint64_t guard = 0;

	if (!memory_read(memory, buffers->scratch))
		return false;
	for (size_t i = 0; i < rows; i++)
		*wrong_p += memcmp(got + i * row_bytes, (const char *)data + i * row_bytes, row_bytes) != 0;
	for (size_t i = 0; i < CHECK_GUARD_BYTES; i++)
		guard |= got[rows * row_bytes + i] != CHECK_SENTINEL;
	*wrong_p += guard;
	return true;
}

bool sparse_buffers_count(struct sparse_buffers *buffers, const struct sparse_job *sparse, size_t rows,
                          uint64_t *wrong_p)
{
	size_t in = sparse->mine.rows, out = sparse->expected.rows;

	*wrong_p = rows != out;
	return count(buffers, &buffers->recv_ind, sparse->expected.ind, out, sparse->ind_bytes, wrong_p) &&
	       count(buffers, &buffers->recv_val, sparse->expected.val, out, sparse->row_bytes, wrong_p) &&
	       count(buffers, &buffers->send_ind, sparse->mine.ind, in, sparse->ind_bytes, wrong_p) &&
	       count(buffers, &buffers->send_val, sparse->mine.val, in, sparse->row_bytes, wrong_p);
}
