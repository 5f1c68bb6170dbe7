/* SPDX-License-Identifier: MIT */
/* mean_std: mean and deviation of --range elements. */
#include "kernel.h"

#include "sparse/mean_std.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VAL };

struct both {
	struct mean_std expected, got;
};

static const char *unfit(const struct kernel_shape *shape, choir_device *device)
{
	if (sparse_data_why_not(shape->dtype, CHOIR_OP_SUM) != NULL)
		return "floating-point types only";
	return device != NULL && shape->dtype == CHOIR_F64 && !dev_has_fp64(device) ? "the device has no f64" : NULL;
}

static double element(choir_dtype dtype, const void *val, size_t i)
{
	uint32_t bits = dtype == CHOIR_BF16 ? (uint32_t)((const uint16_t *)val)[i] << 16 : 0;
	uint16_t half = ((const uint16_t *)val)[dtype == CHOIR_F16 ? i : 0];
	float single;

	if (dtype == CHOIR_F64)
		return ((const double *)val)[i];
	if (dtype == CHOIR_F32)
		return ((const float *)val)[i];
	memcpy(&single, &bits, 4);
	if (dtype == CHOIR_BF16)
		return single;
	return (half & 0x8000 ? -1 : 1) *
	       ldexp((half >> 10 & 31) == 0 ? 0 : 1024 + (half & 1023), (half >> 10 & 31) - 25);
}

static bool open(struct kernel_work *work)
{
	const struct kernel_shape *shape = work->shape;
	size_t n = shape->sparse.range;
	struct both *both = work->state = calloc(1, sizeof *both);
	void *val = both != NULL ? select_data_make(shape->dtype, n, shape->sparse.heavy_tailed) : NULL;
	double sum = 0, squares = 0;

	if (!kernel_add_input(work, val, n * shape->elem_bytes, shape->elem_bytes))
		return false;
	for (size_t i = 0; i < n; i++)
		sum += element(shape->dtype, val, i);
	both->expected.mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double apart = element(shape->dtype, val, i) - both->expected.mean;

		squares += apart * apart;
	}
	both->expected.deviation = sqrt(squares / (double)n);
	work->items = n;
	work->items_out = 1;
	work->moved_bytes = n * shape->elem_bytes;
	return true;
}

static choir_status run(struct kernel_work *work)
{
	struct both *both = work->state;
	struct mean_std_job *job;
	bool done = false;
	choir_status st;

	if (work->device == NULL) {
		mean_std_host(work->shape->dtype, kernel_host(work, VAL), work->items, &both->got);
		return CHOIR_SUCCESS;
	}
	TRY(mean_std_job_create(work->device, work->shape->dtype, kernel_mem(work, VAL), 0, work->items, &job));
	for (st = CHOIR_SUCCESS; st == CHOIR_SUCCESS && !done;) {
		st = kernel_finish(work->device);
		if (st == CHOIR_SUCCESS)
			st = mean_std_job_poll(job, &both->got, &done);
	}
	mean_std_job_destroy(job);
	return st;
}

/* Good to 2^-24 of the mean square, mean_std.h says; the reference itself is good to much less than twice that. */
static uint64_t wrong(struct kernel_work *work)
{
	struct both *both = work->state;
	double scale = hypot(both->expected.mean, both->expected.deviation);
	bool fine = fabs(both->got.mean - both->expected.mean) <= scale * 0x1p-23 &&
	            fabs(both->got.deviation - both->expected.deviation) <= scale * 0x1p-23;

	both->got = (struct mean_std){ .mean = NAN };
	return !fine;
}

const struct kernel kernel_mean_std = {
	.name = "mean_std",
	.about = "mean and standard deviation",
	.unit = "elements",
	.no_pairs = true,
	.unfit = unfit,
	.open = open,
	.run = run,
	.wrong = wrong,
};
