/* SPDX-License-Identifier: MIT */
/* Folding what all ranks sent for the same rows, where they came as dense blocks. */
#include "kern/user_op.h"
#include "sparse/state.h"

choir_status sparse_fold(const struct sparse *sparse, const void *blocks, uint64_t block_bytes, uint64_t off,
                         uint64_t count, void *to)
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
		                    .count = count,
		                    .user = sparse->user };
	struct pool_block list;
	const void **src;

	if (count == 0)
		return CHOIR_SUCCESS;
	TRY(pool_take(&list, n * sizeof *src, "the rows to fold"));
	src = list.ptr;
	for (uint32_t r = 0; r < n; r++)
		src[r] = (const unsigned char *)blocks + r * block_bytes + off;
	if (sparse->user != NULL)
		user_op_reduce(&todo, &to, src);
	else
		reduce_host(&todo, &to, src);
	pool_give(&list);
	return CHOIR_SUCCESS;
}
