/* SPDX-License-Identifier: MIT */
/* Design notes.  The k-th largest is found a digit of its key at a time from the top: a launch counts the keys that
 * begin like it, 256 counts come to the host, which says how the next one begins.  That reads everything once a digit,
 * which a GPU does faster than it could sample and sort.  On a CPU a sample says above which key about k lie (Note
 * [pivot] in select.c), what lies above it is collected, and the digits are counted of that only: a third of the
 * time.  What is selected is written by select.cl, where items work together, or by select_words.cl, where they work
 * alone, which a CPU does several times faster.  All launches go to the internal in-order queue. */
#include "sparse/select_kernel.h"

#include "dev/launch.h"
#include "sparse/scratch.h"

#include <stdio.h>
#include <stdlib.h>

#define DIGIT_BITS 8
#define DIGITS     (1 << DIGIT_BITS)
#define GPU_GROUP  256
#define WORD       64 /* select_words.cl: elements of a word of bits */
#define STREAMS    8  /* and spans of a work-item */
#define SAMPLERS   64

/* What is under way.  SAMPLING and COLLECTING only where they pay. */
enum select_phase { SAMPLING, COLLECTING, SEARCHING, WRITING };

/* Elements that are gone through, each group its span of them. */
struct select_extent {
	cl_mem mem;
	cl_ulong at;
	cl_uint n, span;
	size_t n_groups;
};

struct select_job {
	choir_device *device;
	struct select_source from;
	struct select_target to;
	size_t group;
	struct select_extent all, among; /* among: where the limit is sought */
	char options[64];
	enum select_phase phase;
	cl_mem above, equal, totals[2], count;
	struct scratch masks, aside;     /* select_words.cl: where items work alone */
	struct scratch found, found_ind; /* above the pivot; room for so many */
	uint64_t room;
	cl_mem sampled;
	struct pool_block sample;
	cl_uint n_above, n_equal, digits[DIGITS];
	/* the search for the limit: the k-th largest begins with prefix, at the bits from shift on */
	uint64_t prefix, k, asked; /* asked: k at its start */
	unsigned shift, bits;
	struct select_limit limit;
	cl_event event;
	bool watched;
	bool is_counted; /* the search found n_above and n_equal */
};

static choir_status run_as(struct select_job *job, const char *source, const char *options, const char *kernel,
                           const struct launch_arg *args, size_t n_args, size_t groups)
{
	struct launch launch = { .source = source,
		                 .options = options,
		                 .kernel = kernel,
		                 .args = args,
		                 .n_args = n_args,
		                 .global = groups * job->group,
		                 .local = job->group };

	return launch_run(job->device, &launch, NULL);
}

static choir_status scan(struct select_job *job, cl_mem counts, cl_mem total)
{
	return launch_scan(job->device, counts, (cl_uint)job->all.n_groups, total);
}

/* Of a limit that was searched they are known. */
static choir_status read_totals(struct select_job *job)
{
	struct dev_access above = dev_buffer_access(job->totals[0], 0, 4),
			  equal = dev_buffer_access(job->totals[1], 0, 4);

	if (job->is_counted)
		return dev_marker(dev_queue(job->device), &job->event);
	TRY(dev_read(job->device, &above, 0, &job->n_above, 4, NULL));
	return dev_read(job->device, &equal, 0, &job->n_equal, 4, &job->event);
}

static cl_uint at_most(uint64_t n)
{
	return (cl_uint)(n < UINT32_MAX ? n : UINT32_MAX);
}

/* What the limit selects of all, by select_words.cl. */
static choir_status write_by_words(struct select_job *job, struct select_limit limit, const struct select_target *to)
{
	static const char *const keys[] = { "-DKEY=ushort -DSIGNED=short", "-DKEY=uint -DSIGNED=int",
		                            "-DKEY=ulong -DSIGNED=long" };
	const struct select_extent *all = &job->all;
	cl_uint span = all->span / WORD, capacity = at_most(to->capacity), ties = at_most(limit.ties);
	cl_ulong key = limit.key;
	char options[96];
	struct launch_arg count_args[] = {
		LAUNCH_ARG(all->mem),       LAUNCH_ARG(all->at),    LAUNCH_ARG(all->n),
		LAUNCH_ARG(span),           LAUNCH_ARG(key),        LAUNCH_ARG(job->masks.mem),
		LAUNCH_ARG(job->aside.mem), LAUNCH_ARG(job->above), LAUNCH_ARG(job->equal)
	};
	struct launch_arg take_args[] = { LAUNCH_ARG(all->n),   LAUNCH_ARG(span),           LAUNCH_ARG(key),
		                          LAUNCH_ARG(ties),     LAUNCH_ARG(job->above),     LAUNCH_ARG(job->equal),
		                          LAUNCH_ARG(capacity), LAUNCH_ARG(job->masks.mem), LAUNCH_ARG(job->aside.mem),
		                          LAUNCH_ARG(to->ind),  LAUNCH_ARG(to->val) };

	snprintf(options, sizeof options, "%s -DINDEX=%s -DTIES=%d", keys[job->from.elem_bytes / 4],
	         to->ind_bytes == 8 ? "long" : "int", ties < UINT32_MAX);
	TRY(run_as(job, "select_words.cl", options, "select_words", count_args, sizeof count_args / sizeof *count_args,
	           all->n_groups / STREAMS));
	TRY(scan(job, job->above, job->totals[0]));
	TRY(scan(job, job->equal, job->totals[1]));
	if (capacity > 0)
		TRY(run_as(job, "select_words.cl", options, "select_take", take_args,
		           sizeof take_args / sizeof *take_args, all->n_groups));
	return read_totals(job);
}

/* The same by select.cl. */
static choir_status write_by_groups(struct select_job *job, struct select_limit limit, const struct select_target *to)
{
	const struct select_extent *all = &job->all;
	cl_uint capacity = at_most(to->capacity), ties = at_most(limit.ties);
	cl_ulong key = limit.key;
	struct launch_arg count_args[] = { LAUNCH_ARG(all->mem),  LAUNCH_ARG(all->at), LAUNCH_ARG(all->n),
		                           LAUNCH_ARG(all->span), LAUNCH_ARG(key),     LAUNCH_ARG(job->above),
		                           LAUNCH_ARG(job->equal) };
	struct launch_arg write_args[] = { LAUNCH_ARG(all->mem),   LAUNCH_ARG(all->at),    LAUNCH_ARG(all->n),
		                           LAUNCH_ARG(all->span),  LAUNCH_ARG(key),        LAUNCH_ARG(ties),
		                           LAUNCH_ARG(job->above), LAUNCH_ARG(job->equal), LAUNCH_ARG(capacity),
		                           LAUNCH_ARG(to->ind),    LAUNCH_ARG(to->val) };

	TRY(run_as(job, "select.cl", job->options, "select_count", count_args, sizeof count_args / sizeof *count_args,
	           all->n_groups));
	TRY(scan(job, job->above, job->totals[0]));
	TRY(scan(job, job->equal, job->totals[1]));
	if (capacity > 0)
		TRY(run_as(job, "select.cl", job->options, "select_write", write_args,
		           sizeof write_args / sizeof *write_args, all->n_groups));
	return read_totals(job);
}

static choir_status write_selected(struct select_job *job)
{
	job->phase = WRITING;
	return (job->masks.mem != NULL ? write_by_words : write_by_groups)(job, job->limit, &job->to);
}

static choir_status count_digits(struct select_job *job)
{
	const struct select_extent *among = &job->among;
	cl_uint shift, bits;
	cl_ulong prefix = job->prefix;
	struct dev_access count = dev_buffer_access(job->count, 0, sizeof job->digits);
	struct launch_arg args[] = { LAUNCH_ARG(among->mem),  LAUNCH_ARG(among->at), LAUNCH_ARG(among->n),
		                     LAUNCH_ARG(among->span), LAUNCH_ARG(prefix),    LAUNCH_ARG(shift),
		                     LAUNCH_ARG(bits),        LAUNCH_ARG(job->count) };

	job->phase = SEARCHING;
	job->bits = bits = job->shift < DIGIT_BITS ? job->shift : DIGIT_BITS;
	job->shift -= job->bits;
	shift = job->shift;
	TRY(dev_fill_zero(job->device, job->count, 0, sizeof job->digits, sizeof *job->digits, NULL));
	TRY(run_as(job, "select.cl", job->options, "select_digits", args, sizeof args / sizeof *args, among->n_groups));
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
	job->n_above = (cl_uint)(job->asked - job->k);
	job->n_equal = (cl_uint)job->k; /* or more, of which so many are taken */
	job->is_counted = true;
	return write_selected(job);
}

static struct select_extent extent_of(const struct select_job *job, cl_mem mem, uint64_t off, uint64_t n)
{
	uint64_t span, step = job->group == 1 ? WORD * STREAMS : job->group;
	size_t n_groups = launch_items(job->device, (n + step - 1) / step, &span);
	struct select_extent extent = { .mem = mem,
		                        .at = off / job->from.elem_bytes,
		                        .n = (cl_uint)n,
		                        .span = (cl_uint)(span * step),
		                        .n_groups = n_groups };

	if (job->group == 1) { /* as many spans an item */
		extent.n_groups *= STREAMS;
		extent.span /= STREAMS;
	}
	return extent;
}

static bool pivot_pays(const struct select_job *job)
{
	return job->group == 1 && job->from.n > SELECT_FEW && select_pivot_rank(job->from.n, job->k) < SELECT_SAMPLES;
}

static choir_status take_sample(struct select_job *job)
{
	uint64_t bytes = (uint64_t)SELECT_SAMPLES * job->from.elem_bytes;
	cl_ulong stride = job->from.n / SELECT_SAMPLES;
	cl_uint samples = SELECT_SAMPLES, span = SELECT_SAMPLES / SAMPLERS;
	struct dev_access access;
	struct launch_arg args[] = { LAUNCH_ARG(job->all.mem), LAUNCH_ARG(job->all.at), LAUNCH_ARG(stride),
		                     LAUNCH_ARG(samples),      LAUNCH_ARG(span),        LAUNCH_ARG(job->sampled) };

	job->phase = SAMPLING;
	TRY(pool_take(&job->sample, bytes, "a sample"));
	TRY(dev_buffer_create(job->device, bytes, &job->sampled));
	access = dev_buffer_access(job->sampled, 0, bytes);
	TRY(run_as(job, "select.cl", job->options, "select_sample", args, sizeof args / sizeof *args, SAMPLERS));
	return dev_read(job->device, &access, 0, job->sample.ptr, bytes, &job->event);
}

/* The sample is there: what lies at or above its pivot. */
static choir_status collect(struct select_job *job)
{
	uint64_t rank = select_pivot_rank(job->from.n, job->k);
	struct select_input sample = { .val = job->sample.ptr,
		                       .elem_bytes = job->from.elem_bytes,
		                       .n = SELECT_SAMPLES };
	struct select_target to = { .ind_bytes = 4, .capacity = select_pivot_room(job->from.n, rank) };
	struct select_limit pivot;

	job->phase = COLLECTING;
	TRY(select_top_limit(&sample, rank, &pivot));
	TRY(scratch_take(job->device, to.capacity * job->from.elem_bytes, "the candidates of a selection",
	                 &job->found));
	TRY(scratch_take(job->device, to.capacity * to.ind_bytes, "their positions", &job->found_ind));
	to.val = job->found.mem;
	to.ind = job->found_ind.mem;
	job->room = to.capacity;
	return write_by_words(job, (struct select_limit){ .key = pivot.key, .ties = UINT64_MAX }, &to);
}

/* Among the candidates, unless there are too few, since the sample misled, or more than were kept. */
static choir_status search(struct select_job *job)
{
	if (job->n_above >= job->k && job->n_above <= job->room)
		job->among = extent_of(job, job->found.mem, 0, job->n_above);
	return count_digits(job);
}

static choir_status prepare(struct select_job *job)
{
	static const char *const keys[] = { "ushort", "uint", "ulong" };
	size_t wanted = job->from.group > 0 ? job->from.group : dev_is_cpu(job->device) ? 1 : GPU_GROUP;

	job->group = launch_group(job->device, wanted);
	job->all = job->among = extent_of(job, job->from.mem, job->from.off, job->from.n);
	snprintf(job->options, sizeof job->options, "-DKEY=%s -DINDEX=%s -DGROUP=%zu", keys[job->from.elem_bytes / 4],
	         job->to.ind_bytes == 8 ? "long" : "int", job->group);
	TRY(dev_buffer_create(job->device, job->all.n_groups * 4, &job->above));
	TRY(dev_buffer_create(job->device, job->all.n_groups * 4, &job->equal));
	TRY(dev_buffer_create(job->device, 4, &job->totals[0]));
	TRY(dev_buffer_create(job->device, 4, &job->totals[1]));
	if (job->group == 1) {
		TRY(scratch_take(job->device, (job->from.n + WORD - 1) / WORD * sizeof(cl_ulong),
		                 "the masks of a selection", &job->masks));
		TRY(scratch_take(job->device, job->from.n * job->from.elem_bytes, "what a selection puts aside",
		                 &job->aside));
	}
	return dev_buffer_create(job->device, sizeof job->digits, &job->count);
}

static choir_status start(struct select_job *job)
{
	if (job->from.n == 0)
		return CHOIR_SUCCESS;
	TRY(prepare(job));
	if (job->phase == WRITING)
		return write_selected(job);
	return pivot_pays(job) ? take_sample(job) : count_digits(job);
}

static choir_status create(choir_device *device, const struct select_source *from, const struct select_target *to,
                           struct select_job first, struct select_job **out_p)
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

choir_status select_job_limit(choir_device *device, const struct select_source *from, struct select_limit limit,
                              const struct select_target *to, struct select_job **out_p)
{
	return create(device, from, to, (struct select_job){ .phase = WRITING, .limit = limit }, out_p);
}

choir_status select_job_top(choir_device *device, const struct select_source *from, uint64_t k,
                            const struct select_target *to, struct select_job **out_p)
{
	unsigned key_bits = 8 * from->elem_bytes - 1;

	if (k == 0) /* nothing is above the highest key */
		return create(
		    device, from, to,
		    (struct select_job){ .phase = WRITING, .limit = { .key = UINT64_MAX >> (64 - key_bits) } }, out_p);
	return create(device, from, to,
	              (struct select_job){ .phase = SEARCHING, .k = k, .asked = k, .shift = key_bits }, out_p);
}

/* What follows a phase. */
static choir_status (*const after[])(struct select_job *) = {
	[SAMPLING] = collect, [COLLECTING] = search, [SEARCHING] = search_on, [WRITING] = NULL
};

choir_status select_job_poll(struct select_job *job, uint64_t *count_p, struct select_limit *limit_p, bool *done_p)
{
	bool over = true;

	*done_p = false;
	while (job->event != NULL) {
		choir_status (*const next)(struct select_job *) = after[job->phase];

		TRY(dev_poll(job->event, &over));
		if (!over)
			return CHOIR_SUCCESS;
		job->watched = false;
		TRY(dev_wait(&job->event));
		if (next != NULL)
			TRY(next(job));
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
	scratch_give(&job->found);
	scratch_give(&job->found_ind);
	dev_buffer_free(job->sampled);
	pool_give(&job->sample);
	free(job);
}
