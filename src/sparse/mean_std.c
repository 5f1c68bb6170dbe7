/* SPDX-License-Identifier: MIT */
#include "sparse/mean_std.h"

#include "base/arithmetic.h"
#include "base/simd.h"
#include "dev/launch.h"
#include "sparse/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES            16
#define BLOCK            4096
#define JOINED           64 /* blocks whose lanes are added where they are: 1/1024 byte an element crosses the bus */
#define GROUP            ((uint64_t)JOINED * BLOCK)
#define MEAN_STD_OPTIONS " -DOP=SUM -DLANES=16 -DBLOCK=4096 -DJOINED=64"
#define LOCAL            64
#define GPU_PREFETCH     " -DPREFETCH=16 -DJOINED_PREFETCH=8"
#define CPU_PREFETCH     " -DPREFETCH=1 -DJOINED_PREFETCH=1"
#define OPTIONS_BYTES    128

#define DTYPE F16
#include "sparse/mean_std_dtype.inc"
#undef DTYPE
#define DTYPE BF16
#include "sparse/mean_std_dtype.inc"
#undef DTYPE
#define DTYPE F32
#include "sparse/mean_std_dtype.inc"
#undef DTYPE
#define DTYPE F64
#include "sparse/mean_std_dtype.inc"
#undef DTYPE

/* The sums over the elements so far. */
struct tally {
	double sum, squares;
};

struct mean_std_type {
	void (*block)(const void *from, size_t n, void *to);
	void (*join)(void *group, const void *block);
	const char *options;
	size_t acc_bytes;
};

static const struct mean_std_type types[] = {
	[CHOIR_F16] = { op_F16_SUM_mean_std_block, op_F16_SUM_mean_std_join, "-DDTYPE=F16" MEAN_STD_OPTIONS,
	                sizeof(float) },
	[CHOIR_BF16] = { op_BF16_SUM_mean_std_block, op_BF16_SUM_mean_std_join, "-DDTYPE=BF16" MEAN_STD_OPTIONS,
	                 sizeof(float) },
	[CHOIR_F32] = { op_F32_SUM_mean_std_block, op_F32_SUM_mean_std_join, "-DDTYPE=F32" MEAN_STD_OPTIONS,
	                sizeof(float) },
	[CHOIR_F64] = { op_F64_SUM_mean_std_block, op_F64_SUM_mean_std_join, "-DDTYPE=F64" MEAN_STD_OPTIONS,
	                sizeof(double) },
};

static double number(const void *numbers, size_t acc_bytes, size_t i)
{
	return acc_bytes == sizeof(float) ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

/* Lanes join in their order, on the host always. */
static void join(struct tally *tally, const void *numbers, size_t acc_bytes, uint64_t lanes)
{
	for (uint64_t l = 0; l < lanes; l++) {
		tally->sum += number(numbers, acc_bytes, 4 * l) + number(numbers, acc_bytes, 4 * l + 1);
		tally->squares += number(numbers, acc_bytes, 4 * l + 2) + number(numbers, acc_bytes, 4 * l + 3);
	}
}

static struct mean_std conclude(const struct tally *tally, uint64_t n)
{
	double mean = n == 0 ? 0 : tally->sum / (double)n,
	       variance = n == 0 ? 0 : tally->squares / (double)n - mean * mean;

	return (struct mean_std){ .mean = mean, .deviation = variance <= 0 ? 0 : sqrt(variance) };
}

void mean_std_host(choir_dtype dtype, const void *val, uint64_t n, struct mean_std *out)
{
	const struct mean_std_type *type = &types[dtype];
	struct tally tally = { 0 };
	double numbers[4 * LANES], group[4 * LANES];

	for (uint64_t first = 0; first < n; first += GROUP) {
		uint64_t end = n - first < GROUP ? n : first + GROUP;

		memset(group, 0, sizeof group);
		for (uint64_t i = first; i < end; i += BLOCK) {
			type->block((const unsigned char *)val + i * choir_dtype_bytes(dtype),
			            end - i < BLOCK ? (size_t)(end - i) : BLOCK, numbers);
			type->join(group, numbers);
		}
		join(&tally, group, type->acc_bytes, LANES);
	}
	*out = conclude(&tally, n);
}

struct mean_std_job {
	choir_device *device;
	const struct mean_std_type *type;
	struct scratch blocks, out;
	uint64_t n, items; /* items: of the groups */
	void *numbers;     /* 4 an item */
	cl_event event;
	bool watched;
};

static choir_status launch(struct mean_std_job *job, const char *kernel, const struct launch_arg *args, size_t n_args,
                           uint64_t items)
{
	size_t group = launch_group(job->device, LOCAL);
	char options[OPTIONS_BYTES];
	struct launch it = { .source = "mean_std.cl",
		             .options = options,
		             .kernel = kernel,
		             .args = args,
		             .n_args = n_args,
		             .global = (size_t)round_up(items, group),
		             .local = group };

	snprintf(options, sizeof options, "%s%s -DGROUP=%zu", job->type->options,
	         dev_is_cpu(job->device) ? CPU_PREFETCH : GPU_PREFETCH, group);
	return launch_run(job->device, &it, NULL);
}

static choir_status start(struct mean_std_job *job, choir_dtype dtype, cl_mem mem, uint64_t off)
{
	uint64_t bytes = job->items * 4 * job->type->acc_bytes;
	cl_ulong at = off / choir_dtype_bytes(dtype), n = job->n, blocks = (n + BLOCK - 1) / BLOCK,
		 lanes = blocks * LANES, items = job->items;
	struct dev_access out;

	job->numbers = malloc(bytes);
	if (job->numbers == NULL)
		return error_no_memory("the sums of the work-items", bytes);
	TRY(scratch_take(job->device, lanes * 4 * job->type->acc_bytes, "the sums of the blocks", &job->blocks));
	TRY(scratch_take(job->device, bytes, "the sums of the work-items", &job->out));
	const struct launch_arg args[] = { LAUNCH_ARG(mem), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(lanes),
		                           LAUNCH_ARG(job->blocks.mem) },
				joins[] = { LAUNCH_ARG(job->blocks.mem), LAUNCH_ARG(blocks), LAUNCH_ARG(items),
		                            LAUNCH_ARG(job->out.mem) };

	TRY(launch(job, "mean_std", args, sizeof args / sizeof *args, lanes));
	TRY(launch(job, "mean_std_join", joins, sizeof joins / sizeof *joins, items));
	out = dev_buffer_access(job->out.mem, 0, bytes);
	return dev_read(job->device, &out, 0, job->numbers, bytes, &job->event);
}

choir_status mean_std_job_create(choir_device *device, choir_dtype dtype, cl_mem mem, uint64_t off, uint64_t n,
                                 struct mean_std_job **out_p)
{
	struct mean_std_job *job;
	choir_status st;

	if (dtype == CHOIR_F64 && !dev_has_fp64(device))
		return error_set(CHOIR_UNSUPPORTED, "mean and deviation of f64: the device has no fp64");
	job = calloc(1, sizeof *job);
	if (job == NULL)
		return error_no_memory("mean and deviation on the device", sizeof *job);
	*job = (struct mean_std_job){
		.device = device, .type = &types[dtype], .n = n, .items = (n + GROUP - 1) / GROUP * LANES
	};
	st = start(job, dtype, mem, off);
	if (st != CHOIR_SUCCESS) {
		mean_std_job_destroy(job);
		return st;
	}
	*out_p = job;
	return CHOIR_SUCCESS;
}

choir_status mean_std_job_poll(struct mean_std_job *job, struct mean_std *out, bool *done_p)
{
	struct tally tally = { 0 };

	TRY(dev_poll(job->event, done_p));
	if (!*done_p)
		return CHOIR_SUCCESS;
	join(&tally, job->numbers, job->type->acc_bytes, job->items);
	*out = conclude(&tally, job->n);
	return CHOIR_SUCCESS;
}

choir_status mean_std_job_watch(struct mean_std_job *job, void (*fn)(void *), void *ctx)
{
	if (job->watched)
		return CHOIR_SUCCESS;
	job->watched = true;
	return dev_watch(job->event, fn, ctx);
}

void mean_std_job_destroy(struct mean_std_job *job)
{
	if (job == NULL)
		return;
	/* Without an event a step failed half-way: all enqueued commands end before their memory is freed. */
	if (job->event != NULL)
		(void)dev_wait(&job->event);
	else if (job->out.mem != NULL)
		dev_drain(job->device);
	scratch_give(&job->blocks);
	scratch_give(&job->out);
	free(job->numbers);
	free(job);
}
