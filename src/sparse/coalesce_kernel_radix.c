/* SPDX-License-Identifier: MIT */
/* Note [groups on a device].  A CPU with few cores sorts a long list by its uppermost digit first and then each group
 * by one work-item, inside the second cache, which is faster than three passes through memory.  With more cores one
 * large group would keep the others waiting, and the data decide how large groups are: those CPUs, and GPUs
 * (coalesce_kernel_blocks.c), sort by the lowest digit first, all work-items in each pass.
 *
 * The radix passes of the kernels.  Each reads and writes all entries once; the first reads the indices where they lie,
 * unless there are several lists, whose indices are brought together first. */
#include "sparse/coalesce_kernel.h"
#include "sparse/coalesce_kernel_options.h"

#define CPU_BITS     8
#define CPU_MOST     11    /* two thousand streams to write: slower than 256, but one pass less of 31 bits */
#define CPU_MOST_FOR 65536 /* pairs from which on that pays */

#define GROUP_UNITS 4  /* Note [groups on a device] */
#define GROUP_MOST  12 /* bits of a digit within a group */

static unsigned passes(unsigned key_bits, unsigned bits)
{
	return key_bits <= bits ? 1 : (key_bits + bits - 1) / bits;
}

static unsigned radix_bits(const struct coalesce_device *job, unsigned key_bits)
{
	return job->n >= CPU_MOST_FOR && passes(key_bits, CPU_MOST) < passes(key_bits, CPU_BITS) ? CPU_MOST : CPU_BITS;
}

/* The indices of all lists as keys, to where the second half of the entries will be. */
static choir_status load(struct coalesce_device *job)
{
	cl_mem keys = coalesce_mem(job, SCRATCH_ENTRIES_TO);
	cl_ulong to = 0;
	char options[COALESCE_OPTIONS_BYTES];

	for (uint32_t s = 0; s < job->call.n_src; s++) {
		struct dense_list list = coalesce_list(job, s);
		cl_ulong at = list.off / list.form.bytes, n = list.n;
		cl_long shift = list.form.base - job->call.range.lo;
		struct launch_arg args[] = { LAUNCH_ARG(list.ind), LAUNCH_ARG(at),   LAUNCH_ARG(n),
			                     LAUNCH_ARG(shift),    LAUNCH_ARG(keys), LAUNCH_ARG(to) };

		coalesce_radix_options(options, job, list.form.bytes == 4 ? "int" : "long");
		TRY(coalesce_run(job, "radix.cl", options, "radix_load", args, sizeof args / sizeof *args, n));
		to += n;
	}
	return CHOIR_SUCCESS;
}

/* From the indices, and the rows where entries carry them, to the first half. */
static choir_status first_pass(struct coalesce_device *job, cl_uint bit)
{
	bool several = job->call.n_src > 1;
	struct dense_list list = coalesce_list(job, 0);
	struct dense_rows rows = { .mem = list.ind, .elem_bytes = 1 };
	cl_mem ind = several ? coalesce_mem(job, SCRATCH_ENTRIES_TO) : list.ind,
	       counts = coalesce_mem(job, SCRATCH_COUNTS);
	cl_mem to = coalesce_mem(job, SCRATCH_ENTRIES);
	cl_ulong at = several ? 0 : list.off / list.form.bytes, rows_at;
	cl_long shift = several ? 0 : list.form.base - job->call.range.lo;
	cl_uint n = job->n;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg count_args[] = { LAUNCH_ARG(ind),   LAUNCH_ARG(at),  LAUNCH_ARG(n),     LAUNCH_ARG(job->span),
		                           LAUNCH_ARG(shift), LAUNCH_ARG(bit), LAUNCH_ARG(counts) };
	struct launch_arg move_args[] = { LAUNCH_ARG(ind),     LAUNCH_ARG(at),  LAUNCH_ARG(rows.mem),
		                          LAUNCH_ARG(rows_at), LAUNCH_ARG(n),   LAUNCH_ARG(job->span),
		                          LAUNCH_ARG(shift),   LAUNCH_ARG(bit), LAUNCH_ARG(counts),
		                          LAUNCH_ARG(to) };

	if (job->carries)
		TRY(coalesce_rows_joined(job, &rows));
	rows_at = rows.off / rows.elem_bytes;
	if (several)
		TRY(load(job));
	coalesce_radix_options(options, job,
	                       several                ? (job->wide ? "ulong" : "uint")
	                       : list.form.bytes == 4 ? "int"
	                                              : "long");
	TRY(coalesce_run_groups(job, "radix.cl", options, "radix_count_first", count_args,
	                        sizeof count_args / sizeof *count_args, job->n_spans));
	TRY(coalesce_scan(job, counts, (cl_uint)(job->n_spans << job->radix_bits)));
	TRY(coalesce_run_groups(job, "radix.cl", options, "radix_move_first", move_args,
	                        sizeof move_args / sizeof *move_args, job->n_spans));
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

	coalesce_radix_options(options, job, "int");
	TRY(coalesce_run_groups(job, "radix.cl", options, "radix_count", count_args,
	                        sizeof count_args / sizeof *count_args, job->n_spans));
	TRY(coalesce_scan(job, counts, (cl_uint)(job->n_spans << job->radix_bits)));
	TRY(coalesce_run_groups(job, "radix.cl", options, "radix_move", move_args, sizeof move_args / sizeof *move_args,
	                        job->n_spans));
	job->sorted = other;
	return CHOIR_SUCCESS;
}

static bool sorts_groups(const struct coalesce_device *job, unsigned from_bit, unsigned bits)
{
	return dev_is_cpu(job->device) && dev_compute_units(job->device) <= GROUP_UNITS && from_bit == 0 &&
	       job->n >= CPU_MOST_FOR && bits > 2 * CPU_BITS;
}

/* After the pass by the uppermost digit: the rest of the key, below from_bits. */
static choir_status groups(struct coalesce_device *job, unsigned from_bits)
{
	cl_mem entries = coalesce_mem(job, SCRATCH_ENTRIES), spare = coalesce_mem(job, SCRATCH_ENTRIES_TO),
	       counts = coalesce_mem(job, SCRATCH_COUNTS);
	cl_uint n = job->n, items = (cl_uint)job->n_spans;
	unsigned n_passes = passes(from_bits, GROUP_MOST);
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(entries), LAUNCH_ARG(spare), LAUNCH_ARG(n), LAUNCH_ARG(items),
		                     LAUNCH_ARG(counts) };

	coalesce_groups_options(options, job, passes(from_bits, n_passes), n_passes);
	job->sorted = n_passes % 2 == 0 ? SCRATCH_ENTRIES : SCRATCH_ENTRIES_TO;
	return coalesce_run_items(job, "radix_groups.cl", options, "radix_groups", args, sizeof args / sizeof *args,
	                          (size_t)1 << job->radix_bits);
}

choir_status coalesce_sort(struct coalesce_device *job, unsigned from_bit)
{
	unsigned key_bits = coalesce_key_bits(&job->call), bits = key_bits > from_bit ? key_bits - from_bit : 0;
	bool by_groups = sorts_groups(job, from_bit, bits);

	job->radix_bits = by_groups ? CPU_BITS : radix_bits(job, bits);
	TRY(coalesce_take_entries(job));
	if (by_groups) {
		TRY(first_pass(job, key_bits - CPU_BITS));
		return groups(job, key_bits - CPU_BITS);
	}
	TRY(first_pass(job, from_bit));
	for (unsigned bit = from_bit + job->radix_bits; bit < key_bits; bit += job->radix_bits)
		TRY(pass(job, bit));
	return CHOIR_SUCCESS;
}
