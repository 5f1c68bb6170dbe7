/* SPDX-License-Identifier: MIT */
#include "sparse/rows.h"

#include "kern/user_op.h"
#include "sparse/rows_loops.h"

static const struct rows_loops *loops_of(const struct rows *rows)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
		return &rows_avx2_loops[rows->dtype][rows->op];
#endif
	return &rows_base_loops[rows->dtype][rows->op];
}

/* By the functions of an operator of the caller's. */
static void fold_by_user(const struct rows *rows, const struct user_op *op, const struct rows_batch *batch)
{
	struct user_op_elements of = user_op_elements(op, rows->dtype, rows->n_ranks);
	uint64_t width = rows->width;

	for (size_t k = 0; k < batch->n; k++)
		user_op_fold(&of, (unsigned char *)rows->acc + batch->place[k] * width * of.acc_bytes,
		             batch->row != NULL ? batch->row[k] : batch->from + k * width * of.bytes, width, rows->raw,
		             batch->first[k]);
}

void rows_fold(const struct rows *rows, const struct rows_batch *batch)
{
	const struct user_op *user = user_op_held(rows->op);
	const struct rows_loops *loop = user == NULL ? loops_of(rows) : NULL;

	if (user != NULL) {
		fold_by_user(rows, user, batch);
		return;
	}
	if (rows->width == 1 && batch->row == NULL)
		loop->scalars(rows, batch);
	else
		loop->rows(rows, batch);
}

void rows_finish(const struct rows *rows, void *to, uint64_t count)
{
	bool changes = rows->final && reduce_has_final(rows->op);
	const struct user_op *user = user_op_held(rows->op);

	if (user != NULL) {
		struct user_op_elements of = user_op_elements(user, rows->dtype, rows->n_ranks);

		user_op_finish(&of, to, rows->acc, count * rows->width, rows->final);
		return;
	}
	if (rows->acc != to || changes)
		loops_of(rows)->finish(rows, to, count * rows->width);
}
