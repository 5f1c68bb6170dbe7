/* SPDX-License-Identifier: MIT */
#include "sparse/range_kernel.h"
#include "dev/launch.h"
#include "sparse/scratch.h"

#include <stdio.h>
#include <stdlib.h>

enum { ANSWERS = 4, GPU_GROUP = 256, GPU_STEPS = 4 };

struct range_job {
	choir_device *device;
	cl_mem ind; /* the caller's */
	struct scratch found;
	size_t off;
	uint32_t ind_bytes;
	uint64_t n;
	size_t groups;
	int64_t *answers; /* ANSWERS a group, as index_range writes them */
	cl_event event;
	bool watched;
};

static choir_status start(struct range_job *job)
{
	uint64_t span, bytes;
	cl_ulong at = job->off / job->ind_bytes, n = job->n, length;
	struct dev_access found;
	struct launch_arg args[] = { LAUNCH_ARG(job->ind), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(length),
		                     LAUNCH_ARG(job->found.mem) };
	size_t group = dev_is_cpu(job->device) ? 1 : launch_group(job->device, GPU_GROUP);
	char options[40];
	struct launch launch = { .source = "index_range.cl",
		                 .options = options,
		                 .kernel = "index_range",
		                 .args = args,
		                 .n_args = sizeof args / sizeof *args,
		                 .local = group };

	snprintf(options, sizeof options, "-DINDEX=%s -DGROUP=%zu", job->ind_bytes == 4 ? "int" : "long", group);
	job->groups = launch_spans(job->device, group == 1 ? 1 : GPU_STEPS * group, job->n, &span);
	launch.global = job->groups * group;
	length = span;
	bytes = job->groups * ANSWERS * sizeof *job->answers;
	job->answers = malloc(bytes);
	if (job->answers == NULL)
		return error_no_memory("the ranges of the work-groups", bytes);
	TRY(scratch_take(job->device, bytes, "the ranges of the work-groups", &job->found));
	TRY(launch_run(job->device, &launch, NULL));
	found = dev_buffer_access(job->found.mem, 0, bytes);
	return dev_read(job->device, &found, 0, job->answers, bytes, &job->event);
}

choir_status range_job_create(choir_device *device, cl_mem mem, size_t off, uint32_t ind_bytes, uint64_t n,
                              struct range_job **out_p)
{
	struct range_job *job = calloc(1, sizeof *job);
	choir_status st;

	if (job == NULL)
		return error_no_memory("a range job", sizeof *job);
	*job = (struct range_job){ .device = device, .ind = mem, .off = off, .ind_bytes = ind_bytes, .n = n };
	st = start(job);
	if (st != CHOIR_SUCCESS) {
		range_job_destroy(job);
		return st;
	}
	*out_p = job;
	return CHOIR_SUCCESS;
}

choir_status range_job_poll(struct range_job *job, struct index_range *out, uint64_t *bad_at_p, int64_t *bad_index_p,
                            bool *done_p)
{
	struct index_range range = { .lo = INT64_MAX, .hi = INT64_MIN };
	uint64_t bad = job->n;

	TRY(dev_poll(job->event, done_p));
	if (!*done_p)
		return CHOIR_SUCCESS;
	for (size_t g = 0; g < job->groups; g++) {
		const int64_t *answer = &job->answers[ANSWERS * g];

		range.lo = answer[0] < range.lo ? answer[0] : range.lo;
		range.hi = answer[1] > range.hi ? answer[1] : range.hi;
		if ((uint64_t)answer[2] < bad) {
			bad = (uint64_t)answer[2];
			*bad_index_p = answer[3];
		}
	}
	*out = range;
	*bad_at_p = bad;
	return CHOIR_SUCCESS;
}

choir_status range_job_watch(struct range_job *job, void (*fn)(void *), void *ctx)
{
	if (job->watched)
		return CHOIR_SUCCESS;
	job->watched = true;
	return dev_watch(job->event, fn, ctx);
}

void range_job_destroy(struct range_job *job)
{
	if (job == NULL)
		return;
	/* Without an event a step failed half-way: all enqueued commands end before their memory is freed. */
	if (job->event != NULL)
		(void)dev_wait(&job->event);
	else if (job->found.mem != NULL)
		dev_drain(job->device);
	scratch_give(&job->found);
	free(job->answers);
	free(job);
}
