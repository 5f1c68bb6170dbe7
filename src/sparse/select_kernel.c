/* SPDX-License-Identifier: MIT */
/* Design notes.  The k-th largest is found a digit of its key at a time from the top: a launch counts the keys that begin like it, 256 counts come to the host,
 * which says how the next one begins.  That reads everything once a digit, which a GPU does faster than it could sample and sort; on CPU devices the host
 * twin works (Note [pivot] in select.c).  What is selected is written by select.cl, where items work together, or by select_words.cl, where they work alone:
 * 14.7 M f32 on one core took 40 ms by the first, 7 by the second.  All launches go to the internal in-order queue. */
#include "sparse/select_kernel.h"

#include "sparse/launch.h"
#include "sparse/scratch.h"

#include <stdio.h>
#include <stdlib.h>

#define DIGIT_BITS 8
#define DIGITS     (1 << DIGIT_BITS)
#define SCAN_GROUP 64
#define GPU_GROUP  256
#define WORD       64 /* select_words.cl: elements of a word of bits */
#define STREAMS    8  /* and spans of a work-item */

struct select_job {
	choir_device *device;
	struct select_source from;
	struct select_target to;
	size_t group, n_groups;
	cl_uint span;
	char options[64];
	cl_mem above, equal, totals[2], count;
	struct scratch masks, aside; /* select_words.cl: where items work alone */
	cl_uint n_above, n_equal, digits[DIGITS];
	/* the search for the limit: the k-th largest begins with prefix, at the bits from shift on */
	bool searching;
	uint64_t prefix, k;
	unsigned shift, bits;
	struct select_limit limit;
	cl_event event;
	bool watched;
};

static choir_status run_as(struct select_job *job, const char *source, const char *options, const char *kernel, const struct launch_arg *args,
                           size_t n_args, size_t groups)
{
	struct launch launch = { .source = source, .options = options, .kernel = kernel, .args = args, .n_args = n_args,
				 .global = groups * job->group, .local = job->group };

	return launch_run(job->device, &launch, NULL);
}

static choir_status run(struct select_job *job, const char *kernel, const struct launch_arg *args, size_t n_args)
{
	return run_as(job, "select.cl", job->options, kernel, args, n_args, job->n_groups);
}

static choir_status scan(struct select_job *job, cl_mem counts, cl_mem total)
{
	cl_uint n = (cl_uint)job->n_groups;
	struct launch_arg args[] = { LAUNCH_ARG(counts), LAUNCH_ARG(n), LAUNCH_ARG(total) };
	struct launch launch = { .source = "scan.cl", .options = "-DGROUP=64", .kernel = "scan_group", .args = args,
				 .n_args = sizeof args / sizeof *args, .global = SCAN_GROUP, .local = SCAN_GROUP };

	return launch_run(job->device, &launch, NULL);
}

static choir_status read_totals(struct select_job *job)
{
	struct dev_access above = dev_buffer_access(job->totals[0], 0, 4), equal = dev_buffer_access(job->totals[1], 0, 4);

	TRY(dev_read(job->device, &above, 0, &job->n_above, 4, NULL));
	return dev_read(job->device, &equal, 0, &job->n_equal, 4, &job->event);
}

static cl_uint at_most(uint64_t n)
{
	return (cl_uint)(n < UINT32_MAX ? n : UINT32_MAX);
}

/* By select_words.cl. */
static choir_status write_by_words(struct select_job *job)
{
	static const char *const keys[] = { "-DKEY=ushort -DSIGNED=short", "-DKEY=uint -DSIGNED=int", "-DKEY=ulong -DSIGNED=long" };
	cl_uint n = (cl_uint)job->from.n, span = job->span / WORD, capacity = at_most(job->to.capacity), ties = at_most(job->limit.ties);
	cl_ulong at = job->from.off / job->from.elem_bytes, key = job->limit.key;
	char options[96];
	struct launch_arg count_args[] = { LAUNCH_ARG(job->from.mem), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(span), LAUNCH_ARG(key),
					   LAUNCH_ARG(job->masks.mem), LAUNCH_ARG(job->aside.mem), LAUNCH_ARG(job->above), LAUNCH_ARG(job->equal) };
	struct launch_arg take_args[] = { LAUNCH_ARG(n), LAUNCH_ARG(span), LAUNCH_ARG(key), LAUNCH_ARG(ties), LAUNCH_ARG(job->above),
					  LAUNCH_ARG(job->equal), LAUNCH_ARG(capacity), LAUNCH_ARG(job->masks.mem), LAUNCH_ARG(job->aside.mem),
					  LAUNCH_ARG(job->to.ind), LAUNCH_ARG(job->to.val) };

	snprintf(options, sizeof options, "%s -DINDEX=%s -DTIES=%d", keys[job->from.elem_bytes / 4], job->to.ind_bytes == 8 ? "long" : "int",
		 ties < UINT32_MAX);
	TRY(run_as(job, "select_words.cl", options, "select_words", count_args, sizeof count_args / sizeof *count_args,
		   job->n_groups / STREAMS));
	TRY(scan(job, job->above, job->totals[0]));
	TRY(scan(job, job->equal, job->totals[1]));
	if (capacity > 0)
		TRY(run_as(job, "select_words.cl", options, "select_take", take_args, sizeof take_args / sizeof *take_args,
			   job->n_groups));
	return read_totals(job);
}

/* By select.cl. */
static choir_status write_by_groups(struct select_job *job)
{
	cl_uint n = (cl_uint)job->from.n, capacity = at_most(job->to.capacity), ties = at_most(job->limit.ties);
	cl_ulong at = job->from.off / job->from.elem_bytes, key = job->limit.key;
	struct launch_arg count_args[] = { LAUNCH_ARG(job->from.mem), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(key),
					   LAUNCH_ARG(job->above), LAUNCH_ARG(job->equal) };
	struct launch_arg write_args[] = { LAUNCH_ARG(job->from.mem), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(key),
					   LAUNCH_ARG(ties), LAUNCH_ARG(job->above), LAUNCH_ARG(job->equal), LAUNCH_ARG(capacity),
					   LAUNCH_ARG(job->to.ind), LAUNCH_ARG(job->to.val) };

	TRY(run(job, "select_count", count_args, sizeof count_args / sizeof *count_args));
	TRY(scan(job, job->above, job->totals[0]));
	TRY(scan(job, job->equal, job->totals[1]));
	if (capacity > 0)
		TRY(run(job, "select_write", write_args, sizeof write_args / sizeof *write_args));
	return read_totals(job);
}

static choir_status write_selected(struct select_job *job)
{
	job->searching = false;
	return job->masks.mem != NULL ? write_by_words(job) : write_by_groups(job);
}

static choir_status count_digits(struct select_job *job)
{
	static const cl_uint zeros[DIGITS];
	cl_uint n = (cl_uint)job->from.n, shift, bits;
	cl_ulong at = job->from.off / job->from.elem_bytes, prefix = job->prefix;
	struct dev_access count = dev_buffer_access(job->count, 0, sizeof job->digits);
	struct launch_arg args[] = { LAUNCH_ARG(job->from.mem), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(prefix),
				     LAUNCH_ARG(shift), LAUNCH_ARG(bits), LAUNCH_ARG(job->count) };

	job->bits = bits = job->shift < DIGIT_BITS ? job->shift : DIGIT_BITS;
	job->shift -= job->bits;
	shift = job->shift;
	TRY(dev_write(job->device, &count, 0, zeros, sizeof zeros, NULL));
	TRY(run(job, "select_digits", args, sizeof args / sizeof *args));
	return dev_read(job->device, &count, 0, job->digits, sizeof job->digits, &job->event);
}

/* The next digit of the k-th largest is known by now. */
static choir_status search_on(struct select_job *job)
{
	unsigned digit = (1u << job->bits) - 1;

	for (; job->digits[digit] < job->k; digit--)
		job->k -= job->digits[digit];
	job->prefix = job->prefix << job->bits | digit;
	if (job->shift > 0)
		return count_digits(job);
	job->limit = (struct select_limit){ .key = job->prefix, .ties = job->k };
	return write_selected(job);
}

static choir_status prepare(struct select_job *job)
{
	static const char *const keys[] = { "ushort", "uint", "ulong" };
	uint64_t span, step;

	job->group = job->from.group > 0 ? job->from.group : dev_is_cpu(job->device) ? 1 : GPU_GROUP;
	step = job->group == 1 ? WORD * STREAMS : job->group;
	job->n_groups = launch_items(job->device, (job->from.n + step - 1) / step, &span);
	job->span = (cl_uint)(span * step);
	if (job->group == 1) { /* as many spans an item */
		job->n_groups *= STREAMS;
		job->span /= STREAMS;
	}
	snprintf(job->options, sizeof job->options, "-DKEY=%s -DINDEX=%s -DGROUP=%zu", keys[job->from.elem_bytes / 4],
		 job->to.ind_bytes == 8 ? "long" : "int", job->group);
	TRY(dev_buffer_create(job->device, job->n_groups * 4, &job->above));
	TRY(dev_buffer_create(job->device, job->n_groups * 4, &job->equal));
	TRY(dev_buffer_create(job->device, 4, &job->totals[0]));
	TRY(dev_buffer_create(job->device, 4, &job->totals[1]));
	if (job->group == 1) {
		TRY(scratch_take(job->device, (job->from.n + WORD - 1) / WORD * sizeof(cl_ulong), "the masks of a selection", &job->masks));
		TRY(scratch_take(job->device, job->from.n * job->from.elem_bytes, "what a selection puts aside", &job->aside));
	}
	return dev_buffer_create(job->device, sizeof job->digits, &job->count);
}

static choir_status start(struct select_job *job)
{
	if (job->from.n == 0)
		return CHOIR_SUCCESS;
	TRY(prepare(job));
	return job->searching ? count_digits(job) : write_selected(job);
}

static choir_status create(choir_device *device, const struct select_source *from, const struct select_target *to, struct select_job first,
                           struct select_job **out_p)
{
	struct select_job *job = malloc(sizeof *job);
	choir_status st;

	if (job == NULL)
		return error_no_memory("a selection on the device", sizeof *job);
	*job = first;
	job->device = device;
	job->from = *from;
	job->to = *to;
	st = start(job);
	if (st != CHOIR_SUCCESS) {
		select_job_destroy(job);
		return st;
	}
	*out_p = job;
	return CHOIR_SUCCESS;
}

choir_status select_job_limit(choir_device *device, const struct select_source *from, struct select_limit limit, const struct select_target *to,
                              struct select_job **out_p)
{
	return create(device, from, to, (struct select_job){ .limit = limit }, out_p);
}

choir_status select_job_top(choir_device *device, const struct select_source *from, uint64_t k, const struct select_target *to,
                            struct select_job **out_p)
{
	unsigned key_bits = 8 * from->elem_bytes - 1;

	if (k == 0) /* nothing is above the highest key */
		return create(device, from, to, (struct select_job){ .limit = { .key = UINT64_MAX >> (64 - key_bits) } }, out_p);
	return create(device, from, to, (struct select_job){ .searching = true, .k = k, .shift = key_bits }, out_p);
}

choir_status select_job_poll(struct select_job *job, uint64_t *count_p, struct select_limit *limit_p, bool *done_p)
{
	bool over = true;

	*done_p = false;
	while (job->event != NULL) {
		bool searched = job->searching;

		TRY(dev_poll(job->event, &over));
		if (!over)
			return CHOIR_SUCCESS;
		job->watched = false;
		TRY(dev_wait(&job->event));
		if (searched)
			TRY(search_on(job));
	}
	*done_p = true;
	*count_p = job->n_above + (job->n_equal < job->limit.ties ? job->n_equal : job->limit.ties);
	*limit_p = job->limit;
	return CHOIR_SUCCESS;
}

choir_status select_job_watch(struct select_job *job, void (*fn)(void *), void *ctx)
{
	if (job->event == NULL || job->watched)
		return CHOIR_SUCCESS;
	job->watched = true;
	return dev_watch(job->event, fn, ctx);
}

void select_job_destroy(struct select_job *job)
{
	if (job == NULL)
		return;
	/* Without an event something failed half-way: what was enqueued ends before its memory goes. */
	if (job->event != NULL)
		(void)dev_wait(&job->event);
	else if (job->above != NULL)
		(void)clFinish(dev_queue(job->device));
	dev_buffer_free(job->above);
	dev_buffer_free(job->equal);
	dev_buffer_free(job->totals[0]);
	dev_buffer_free(job->totals[1]);
	dev_buffer_free(job->count);
	scratch_give(&job->masks);
	scratch_give(&job->aside);
	free(job);
}
