/* SPDX-License-Identifier: MIT */
/* The sort route of the kernels, for any pairs: radix sort, heads, scan, then segments are folded in order.  Entries
 * carry the elements themselves where a row is one; longer rows are fetched by position.  Temporaries: two entries a
 * pair, and a start a segment unless a CPU folds elements. */
#include "sparse/coalesce_kernel.h"
#include "sparse/coalesce_kernel_options.h"

static bool fits(const choir_device *device, const struct coalesce_call *call, uint64_t pairs)
{
	(void)device;
	(void)call;
	(void)pairs;
	return true;
}

static choir_status count(struct coalesce_device *job)
{
	cl_uint n = job->n;
	cl_mem entries, counts;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(entries), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(counts) };

	if (job->is_short)
		return coalesce_sort_short(job);
	TRY(job->group > 1 ? coalesce_sort_blocks(job) : coalesce_sort(job, 0));
	entries = coalesce_mem(job, job->sorted);
	counts = coalesce_mem(job, SCRATCH_COUNTS);
	coalesce_segment_options(options, job, 4);
	TRY(coalesce_run_groups(job, "segment.cl", options, "segment_count", args, sizeof args / sizeof *args,
	                        job->n_spans));
	return coalesce_scan(job, counts, (cl_uint)job->n_spans);
}

static choir_status take_scalars(struct coalesce_device *job, struct index_form form)
{
	cl_mem entries = coalesce_mem(job, job->sorted), heads = coalesce_mem(job, SCRATCH_COUNTS);
	cl_mem ind = coalesce_mem(job, SCRATCH_OUT_IND), out = coalesce_mem(job, SCRATCH_OUT_VAL);
	cl_uint n = job->n;
	cl_long shift = job->call.range.lo - form.base;
	cl_int n_ranks = job->call.n_ranks;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(entries), LAUNCH_ARG(n),       LAUNCH_ARG(job->span), LAUNCH_ARG(heads),
		                     LAUNCH_ARG(shift),   LAUNCH_ARG(n_ranks), LAUNCH_ARG(ind),       LAUNCH_ARG(out) };

	coalesce_fold_options(options, job, form.bytes);
	return coalesce_run_groups(job, "segment_fold.cl", options, "segment_take", args, sizeof args / sizeof *args,
	                           job->n_spans);
}

/* Where they start, and their indices. */
static choir_status find_segments(struct coalesce_device *job, struct index_form form)
{
	cl_mem entries = coalesce_mem(job, job->sorted), heads = coalesce_mem(job, SCRATCH_COUNTS), start;
	cl_mem segments = coalesce_mem(job, SCRATCH_TOTAL), ind = coalesce_mem(job, SCRATCH_OUT_IND);
	cl_uint n = job->n;
	cl_long shift = job->call.range.lo - form.base;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(entries),  LAUNCH_ARG(n),     LAUNCH_ARG(job->span), LAUNCH_ARG(heads),
		                     LAUNCH_ARG(segments), LAUNCH_ARG(shift), LAUNCH_ARG(start),     LAUNCH_ARG(ind) };

	TRY(coalesce_take(job, SCRATCH_START, (job->room + UINT64_C(1)) * 4));
	start = coalesce_mem(job, SCRATCH_START);
	coalesce_segment_options(options, job, form.bytes);
	return coalesce_run_groups(job, "segment.cl", options, "segment_start", args, sizeof args / sizeof *args,
	                           job->n_spans);
}

static choir_status fill(struct coalesce_device *job, struct index_form form)
{
	cl_mem entries = coalesce_mem(job, job->sorted), start, out = coalesce_mem(job, SCRATCH_OUT_VAL),
	       segments = coalesce_mem(job, SCRATCH_TOTAL);
	cl_ulong rows_at, width = job->call.width;
	cl_int n_ranks = job->call.n_ranks;
	struct dense_rows rows = { .mem = entries, .elem_bytes = 1 }; /* not read where entries carry elements */
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(rows.mem), LAUNCH_ARG(rows_at), LAUNCH_ARG(entries), LAUNCH_ARG(start),
		                     LAUNCH_ARG(segments), LAUNCH_ARG(width),   LAUNCH_ARG(n_ranks), LAUNCH_ARG(out) };

	if (job->carries && job->group == 1)
		return take_scalars(job, form);
	TRY(find_segments(job, form));
	if (!job->carries)
		TRY(coalesce_rows_joined(job, &rows));
	rows_at = rows.off / rows.elem_bytes;
	start = coalesce_mem(job, SCRATCH_START);
	coalesce_fold_options(options, job, form.bytes);
	return coalesce_run(job, "segment_fold.cl", options, "segment_fold", args, sizeof args / sizeof *args,
	                    job->room * width);
}

const struct coalesce_route coalesce_route_sort = { .name = "sort", .fits = fits, .count = count, .fill = fill };
