/* SPDX-License-Identifier: MIT */
/* Folding what all ranks sent for the same rows, where they came as dense blocks.  A row that a rank lacks holds what
 * changes no bit; of a caller's operator nobody knows such a value, so the senders of a row are asked for. */
#include "kern/user_op.h"
#include "sparse/state.h"

enum { BLOCK_BYTES = 8192 }; /* stays in the first-level cache */

static bool has_row(const struct sparse_senders *senders, uint32_t rank, uint64_t row)
{
	return senders->words[rank * senders->stride + row / 64] >> row % 64 & 1;
}

static bool have_same_senders(const struct sparse_senders *senders, uint32_t n, uint64_t row, uint64_t other)
{
	for (uint32_t r = 0; r < n; r++)
		if (has_row(senders, r, row) != has_row(senders, r, other))
			return false;
	return true;
}

/* The end of the elements from `at` on, `most` at most, that the same ranks sent. */
static uint64_t end_of_alike(const struct sparse *sparse, const struct sparse_senders *senders, uint64_t at,
                             uint64_t most)
{
	uint64_t width = sparse->facts.width, end = (at / width + 1) * width;

	while (end < most && have_same_senders(senders, (uint32_t)sparse->env.layout->n, at / width, end / width))
		end += width;
	return end < most ? end : most;
}

/* Rows that nobody sent are zeros: no result has them. */
static void fold_by_user(const struct sparse *sparse, const void *const *src, const struct sparse_senders *senders,
                         uint64_t count, unsigned char *to)
{
	uint32_t n = (uint32_t)sparse->env.layout->n;
	struct user_op_elements of = user_op_elements(sparse->user, sparse->wire_dtype, (int)n);
	_Alignas(64) unsigned char acc[BLOCK_BYTES];
	uint64_t most = BLOCK_BYTES / of.acc_bytes;

	for (uint64_t at = 0, end; at < count; at = end) {
		bool is_first = true;

		end = end_of_alike(sparse, senders, at, count - at < most ? count : at + most);
		for (uint32_t r = 0; r < n; r++) {
			if (!has_row(senders, r, at / sparse->facts.width))
				continue;
			user_op_fold(&of, acc, (const unsigned char *)src[r] + at * of.bytes, end - at, false,
			             is_first);
			is_first = false;
		}
		if (is_first)
			memset(to + at * of.bytes, 0, (end - at) * of.bytes);
		else
			user_op_finish(&of, to + at * of.bytes, acc, end - at, true);
	}
}

choir_status sparse_fold(const struct sparse *sparse, const void *blocks, uint64_t block_bytes, uint64_t off,
                         uint64_t rows, const struct sparse_senders *senders, void *to)
{
	uint32_t n = (uint32_t)sparse->env.layout->n;
	struct reduce_call todo = { .dtype = sparse->wire_dtype,
		                    .op = sparse->call.op,
		                    .n_src = n,
		                    .raw_from = n,
		                    .final = true,
		                    .n_ranks = (int)n,
		                    .factor = 1,
		                    .n_dst = 1,
		                    .nt_from = 1,
		                    .count = rows * sparse->facts.width };
	struct pool_block list;
	const void **src;

	if (todo.count == 0)
		return CHOIR_SUCCESS;
	TRY(pool_take(&list, n * sizeof *src, "the rows to fold"));
	src = list.ptr;
	for (uint32_t r = 0; r < n; r++)
		src[r] = (const unsigned char *)blocks + r * block_bytes + off;
	if (sparse->user != NULL)
		fold_by_user(sparse, src, senders, todo.count, to);
	else
		reduce_host(&todo, &to, src);
	pool_give(&list);
	return CHOIR_SUCCESS;
}
