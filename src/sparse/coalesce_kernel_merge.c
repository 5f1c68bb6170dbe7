/* SPDX-License-Identifier: MIT */
/* The merge of coalesced lists by kernels, where a bitmap of their range is not much larger than they are: the union's
 * bits are set and numbered, then each list in rank order folds its rows into those of the result.  Launches: two a
 * list and a handful.  Temporaries: three bits and a word's number for 32 indices of the range; accumulators for 16-bit
 * floats. */
#include "base/dtype.h"
#include "sparse/coalesce_kernel.h"
#include "sparse/coalesce_kernel_options.h"
#include "sparse/rows.h"

#include "kern/reduce.h"

/* Short lists are sorted in fewer launches, but their rows are joined first. */
enum { SORTED_BYTES = 4 << 20 };

static bool fits(const choir_device *device, const struct coalesce_call *call, uint64_t pairs)
{
	bool is_sorted =
	    coalesce_is_short(device, pairs) && pairs * call->width * choir_dtype_bytes(call->dtype) <= SORTED_BYTES;

	return !call->raw && call->n_src > 1 && !is_sorted && coalesce_bitmap_pays(call, pairs);
}

static struct dense_bitmap bitmap_of(const struct coalesce_device *job, enum coalesce_scratch which)
{
	uint64_t words = (uint64_t)(job->call.range.hi - job->call.range.lo) / 32 + 1;

	return (struct dense_bitmap){ .mem = coalesce_mem(job, which), .words = words, .lo = job->call.range.lo };
}

static choir_status take_bitmap(struct coalesce_device *job, enum coalesce_scratch which)
{
	struct dense_bitmap bitmap = bitmap_of(job, which);

	TRY(coalesce_take(job, which, bitmap.words * 4));
	bitmap.mem = coalesce_mem(job, which);
	job->enqueued = true;
	return dense_kernel_clear(job->device, &bitmap, NULL);
}

static choir_status mark(struct coalesce_device *job, enum coalesce_scratch which, uint32_t s)
{
	struct dense_list list = coalesce_list(job, s);
	struct dense_bitmap bitmap = bitmap_of(job, which);

	return list.n == 0 ? CHOIR_SUCCESS : dense_kernel_mark(job->device, &list, &bitmap, NULL);
}

static choir_status count(struct coalesce_device *job)
{
	struct dense_bitmap bitmap;

	TRY(take_bitmap(job, SCRATCH_BITMAP));
	bitmap = bitmap_of(job, SCRATCH_BITMAP);
	TRY(coalesce_take(job, SCRATCH_BEFORE, bitmap.words * 4));
	TRY(coalesce_take(job, SCRATCH_COUNTS, dense_kernel_spans(job->device, bitmap.words) * 4));
	TRY(coalesce_take(job, SCRATCH_TOTAL, 4));
	for (uint32_t s = 0; s < job->call.n_src; s++)
		TRY(mark(job, SCRATCH_BITMAP, s));
	return dense_kernel_number(job->device, &bitmap, coalesce_mem(job, SCRATCH_COUNTS),
	                           coalesce_mem(job, SCRATCH_BEFORE), coalesce_mem(job, SCRATCH_TOTAL), NULL);
}

static choir_status fold(struct coalesce_device *job, uint32_t s, cl_mem acc)
{
	struct dense_list list = coalesce_list(job, s);
	struct dense_rows rows = coalesce_rows_of(job, s);
	cl_mem bitmap = coalesce_mem(job, SCRATCH_BITMAP), before = coalesce_mem(job, SCRATCH_BEFORE),
	       seen = coalesce_mem(job, SCRATCH_SEEN);
	cl_ulong ind_at = list.off / list.form.bytes, rows_at = rows.off / rows.elem_bytes, n = list.n,
		 width = rows.width;
	cl_long shift = list.form.base - job->call.range.lo;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(list.ind), LAUNCH_ARG(ind_at), LAUNCH_ARG(rows.mem),
		                     LAUNCH_ARG(rows_at),  LAUNCH_ARG(n),      LAUNCH_ARG(width),
		                     LAUNCH_ARG(shift),    LAUNCH_ARG(bitmap), LAUNCH_ARG(before),
		                     LAUNCH_ARG(seen),     LAUNCH_ARG(acc) };

	coalesce_merge_options(options, job, list.form.bytes);
	return coalesce_run(job, "merge.cl", options, "merge_fold", args, sizeof args / sizeof *args, n * width);
}

static choir_status finish(struct coalesce_device *job, cl_mem acc)
{
	cl_mem out = coalesce_mem(job, SCRATCH_OUT_VAL), rows = coalesce_mem(job, SCRATCH_TOTAL);
	cl_ulong width = job->call.width;
	cl_int n_ranks = job->call.n_ranks;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(acc), LAUNCH_ARG(rows), LAUNCH_ARG(width), LAUNCH_ARG(n_ranks),
		                     LAUNCH_ARG(out) };

	coalesce_merge_options(options, job, 4);
	return coalesce_run(job, "merge.cl", options, "merge_finish_rows", args, sizeof args / sizeof *args,
	                    job->room * width);
}

static choir_status fill(struct coalesce_device *job, struct index_form form)
{
	const struct coalesce_call *call = &job->call;
	struct dense_bitmap bitmap = bitmap_of(job, SCRATCH_BITMAP);
	size_t acc_bytes = dtype_acc_bytes(call->dtype);
	bool rounds = acc_bytes != choir_dtype_bytes(call->dtype);
	cl_mem acc = coalesce_mem(job, SCRATCH_OUT_VAL);

	TRY(dense_kernel_indices(job->device, &bitmap, coalesce_mem(job, SCRATCH_BEFORE),
	                         coalesce_mem(job, SCRATCH_OUT_IND), form, NULL));
	TRY(coalesce_rows(job));
	TRY(take_bitmap(job, SCRATCH_SEEN));
	if (rounds) {
		TRY(coalesce_take(job, SCRATCH_ACC, job->room * call->width * acc_bytes));
		acc = coalesce_mem(job, SCRATCH_ACC);
	}
	for (uint32_t s = 0; s < call->n_src; s++) {
		TRY(fold(job, s, acc));
		if (s + 1 < call->n_src)
			TRY(mark(job, SCRATCH_SEEN, s));
	}
	return rounds || (call->final && reduce_has_final(call->op)) ? finish(job, acc) : CHOIR_SUCCESS;
}

const struct coalesce_route coalesce_route_merge = { .name = "merge", .fits = fits, .count = count, .fill = fill };
