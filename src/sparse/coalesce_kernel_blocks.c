/* SPDX-License-Identifier: MIT */
/* The radix sort of devices whose groups have many items: the lists become entries, then each pass reads and writes all
 * of them once.  Launches: one a list and three a pass; one for all passes of a short list. */
#include "sparse/coalesce_kernel.h"
#include "sparse/coalesce_kernel_options.h"

#define BITS 4 /* a pass: its counts, one an item and digit, have to fit local memory */

static choir_status load(struct coalesce_device *job, uint32_t s, cl_ulong first)
{
	struct dense_list list = coalesce_list(job, s);
	struct dense_rows rows = { .mem = list.ind, .elem_bytes = 1 }; /* not read unless entries carry elements */
	cl_mem entries = coalesce_mem(job, SCRATCH_ENTRIES);
	cl_ulong ind_at = list.off / list.form.bytes, rows_at, n = list.n;
	cl_long shift = list.form.base - job->call.range.lo;
	size_t block = job->group * job->each;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(list.ind), LAUNCH_ARG(ind_at), LAUNCH_ARG(rows.mem),
		                     LAUNCH_ARG(rows_at),  LAUNCH_ARG(n),      LAUNCH_ARG(shift),
		                     LAUNCH_ARG(first),    LAUNCH_ARG(entries) };

	if (job->carries)
		rows = coalesce_rows_of(job, s);
	rows_at = rows.off / rows.elem_bytes;
	if (n == 0)
		return CHOIR_SUCCESS;
	coalesce_blocks_options(options, job, list.form.bytes);
	return coalesce_run_groups(job, "radix_blocks.cl", options, "radix_entries", args, sizeof args / sizeof *args,
	                           (n + block - 1) / block);
}

static choir_status load_all(struct coalesce_device *job)
{
	cl_ulong first = 0;

	if (job->carries)
		TRY(coalesce_rows(job));
	for (uint32_t s = 0; s < job->call.n_src; s++) {
		TRY(load(job, s, first));
		first += job->call.src[s].pairs.count;
	}
	job->sorted = SCRATCH_ENTRIES;
	return CHOIR_SUCCESS;
}

static choir_status pass(struct coalesce_device *job, cl_uint bit)
{
	int other = job->sorted == SCRATCH_ENTRIES ? SCRATCH_ENTRIES_TO : SCRATCH_ENTRIES;
	cl_mem entries = coalesce_mem(job, job->sorted), to = coalesce_mem(job, other),
	       counts = coalesce_mem(job, SCRATCH_COUNTS);
	cl_uint n = job->n;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg count_args[] = { LAUNCH_ARG(entries), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(bit),
		                           LAUNCH_ARG(counts) };
	struct launch_arg move_args[] = { LAUNCH_ARG(entries), LAUNCH_ARG(n),      LAUNCH_ARG(job->span),
		                          LAUNCH_ARG(bit),     LAUNCH_ARG(counts), LAUNCH_ARG(to) };

	coalesce_blocks_options(options, job, 4);
	TRY(coalesce_run_groups(job, "radix_blocks.cl", options, "radix_count", count_args,
	                        sizeof count_args / sizeof *count_args, job->n_spans));
	TRY(coalesce_scan(job, counts, (cl_uint)(job->n_spans << BITS)));
	TRY(coalesce_run_groups(job, "radix_blocks.cl", options, "radix_move", move_args,
	                        sizeof move_args / sizeof *move_args, job->n_spans));
	job->sorted = other;
	return CHOIR_SUCCESS;
}

choir_status coalesce_sort_blocks(struct coalesce_device *job)
{
	job->radix_bits = BITS;
	TRY(coalesce_take_entries(job));
	TRY(load_all(job));
	for (unsigned bit = 0; bit < coalesce_key_bits(&job->call); bit += BITS)
		TRY(pass(job, bit));
	return CHOIR_SUCCESS;
}

choir_status coalesce_sort_short(struct coalesce_device *job)
{
	cl_uint n = job->n, bits = coalesce_key_bits(&job->call);
	cl_mem entries, spare, heads, count;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(entries), LAUNCH_ARG(spare), LAUNCH_ARG(n),
		                     LAUNCH_ARG(bits),    LAUNCH_ARG(heads), LAUNCH_ARG(count) };

	job->radix_bits = BITS;
	TRY(coalesce_take_entries(job));
	TRY(load_all(job));
	entries = coalesce_mem(job, SCRATCH_ENTRIES);
	spare = coalesce_mem(job, SCRATCH_ENTRIES_TO);
	heads = coalesce_mem(job, SCRATCH_COUNTS);
	count = coalesce_mem(job, SCRATCH_TOTAL);
	job->sorted = (bits + BITS - 1) / BITS % 2 == 0 ? SCRATCH_ENTRIES : SCRATCH_ENTRIES_TO;
	coalesce_blocks_options(options, job, 4);
	return coalesce_run_groups(job, "radix_blocks.cl", options, "radix_short", args, sizeof args / sizeof *args, 1);
}
