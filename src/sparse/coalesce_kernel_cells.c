/* SPDX-License-Identifier: MIT */
/* The bitmap route of the kernels, on CPUs, for scalars in a range that is not much larger than their number: entries
 * are grouped by the upper bits of their index only, then a work-item a group folds them in a cell for each index, with
 * a bit that tells which were touched.  Temporaries: two entries a pair, a bit an index of the range.  On a GPU the
 * group of the most frequent indices would keep all others waiting. */
#include "base/dtype.h"
#include "sparse/coalesce_kernel.h"
#include "sparse/coalesce_kernel_options.h"
#include "sparse/rows.h"

#define CELLS_A_PAIR   64
#define LOCAL_BYTES    (UINT64_C(128) << 10) /* half a CPU's second cache; devices that have less give less */
#define FEW_BITS       11
#define BUCKETS_A_UNIT 4

static bool fits(const choir_device *device, const struct coalesce_call *call, uint64_t pairs)
{
	return dev_is_cpu(device) && call->width == 1 &&
	       (uint64_t)(call->range.hi - call->range.lo) / CELLS_A_PAIR <= pairs;
}

/* As many cells as local memory has room for, since few groups are grouped faster; fewer where that leaves compute
 * units without work. */
static unsigned cell_bits(const struct coalesce_device *job)
{
	uint64_t span = (uint64_t)(job->call.range.hi - job->call.range.lo), units = dev_compute_units(job->device);
	uint64_t room = 0;
	cl_ulong bytes = 0;
	unsigned bits = FEW_BITS;

	if (clGetDeviceInfo(choir_device_id(job->device), CL_DEVICE_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL) ==
	    CL_SUCCESS)
		room = bytes / 2 < LOCAL_BYTES ? bytes / 2 : LOCAL_BYTES;
	if (span >> FEW_BITS < units * BUCKETS_A_UNIT)
		return FEW_BITS;
	while (dtype_acc_bytes(job->call.dtype) << (bits + 1) <= room && span >> (bits + 1) >= units * BUCKETS_A_UNIT)
		bits++;
	return bits;
}

static uint64_t buckets(const struct coalesce_device *job)
{
	return ((uint64_t)(job->call.range.hi - job->call.range.lo) >> job->cell_bits) + 1;
}

static choir_status count(struct coalesce_device *job)
{
	cl_uint n = job->n, n_buckets;
	cl_mem entries, counts, bitmap;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(entries), LAUNCH_ARG(n), LAUNCH_ARG(counts), LAUNCH_ARG(bitmap) };

	job->cell_bits = cell_bits(job);
	n_buckets = (cl_uint)buckets(job);
	TRY(coalesce_sort(job, job->cell_bits));
	entries = coalesce_mem(job, job->sorted);
	TRY(coalesce_take(job, SCRATCH_START, n_buckets * UINT64_C(4)));
	TRY(coalesce_take(job, SCRATCH_BITMAP, (uint64_t)n_buckets << job->cell_bits >> 3));
	counts = coalesce_mem(job, SCRATCH_START);
	bitmap = coalesce_mem(job, SCRATCH_BITMAP);
	coalesce_cells_options(options, job, 4);
	TRY(coalesce_run_items(job, "cells.cl", options, "cells_count", args, sizeof args / sizeof *args, n_buckets));
	return coalesce_scan(job, counts, n_buckets);
}

static choir_status fill(struct coalesce_device *job, struct index_form form)
{
	cl_mem entries = coalesce_mem(job, job->sorted), counts = coalesce_mem(job, SCRATCH_START);
	cl_mem ind = coalesce_mem(job, SCRATCH_OUT_IND), out = coalesce_mem(job, SCRATCH_OUT_VAL);
	cl_mem bitmap = coalesce_mem(job, SCRATCH_BITMAP);
	cl_uint n = job->n;
	cl_long shift = job->call.range.lo - form.base;
	cl_int n_ranks = job->call.n_ranks;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(entries), LAUNCH_ARG(n),       LAUNCH_ARG(counts), LAUNCH_ARG(bitmap),
		                     LAUNCH_ARG(shift),   LAUNCH_ARG(n_ranks), LAUNCH_ARG(ind),    LAUNCH_ARG(out) };

	coalesce_cells_options(options, job, form.bytes);
	return coalesce_run_items(job, "cells.cl", options, "cells_take", args, sizeof args / sizeof *args,
	                          buckets(job));
}

const struct coalesce_route coalesce_route_cells = { .name = "cells", .fits = fits, .count = count, .fill = fill };
