/* SPDX-License-Identifier: MIT */
/* Design notes.  The k-th largest is found a digit of its key at a time from the top: a launch counts the keys that
 * begin like it, the next picks the digit, and all launches are enqueued at once, so that the host waits once.  That
 * reads everything once a digit, which a GPU does faster than it could sample and sort.  On a CPU a sample says above
 * which key about k lie (Note [pivot] in select.c), what lies above it is collected, and the digits are counted of that
 * only: a third of the time.  What is selected is written by select.cl, where items work together, or by
 * select_words.cl, where they work alone, which a CPU does several times faster.  All launches go to the internal
 * in-order queue. */
#include "sparse/select_kernel.h"

#include "dev/launch.h"
#include "sparse/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counters of a digit of a group: 8 KB of local memory on a GPU, a corner of the first cache on a CPU. */
#define GPU_DIGIT_BITS 11
#define CPU_DIGIT_BITS 8
#define MOST_DIGITS    8 /* of a key */
#define GPU_GROUP      256
#define SAMPLERS       64
#define OPTIONS_BYTES  128

/* Where work-items work together, a byte of the masks belongs to 8 elements; where alone, a word to 64, and an item
 * has so many spans. */
struct select_form {
	const char *source;
	unsigned unit, streams;
};
static const struct select_form together = { "select.cl", 8, 1 }, alone = { "select_words.cl", 64, 8 };

/* What is under way.  SAMPLING and COLLECTING only where they pay. */
enum select_phase { SAMPLING, COLLECTING, SEARCHING, WRITING };

/* Elements that are gone through, each group its spans of them. */
struct select_extent {
	cl_mem mem;
	cl_ulong at;
	cl_uint n, span;
	cl_uint spans;
};

struct select_job {
	choir_device *device;
	struct select_source from;
	struct select_target to;
	size_t group;
	const struct select_form *form;
	struct select_extent all, among; /* among: where the limit is sought */
	unsigned digit_bits;
	char options[OPTIONS_BYTES]; /* of a search */
	enum select_phase phase;
	cl_mem counts, total;
	cl_mem limits, digits;           /* of a search: select_pick's, and the counters of a digit */
	struct scratch masks, aside;     /* aside: where items work alone */
	struct scratch found, found_ind; /* above the pivot; room for so many */
	uint64_t room;
	cl_mem sampled;
	struct pool_block sample;
	uint64_t k; /* of a search */
	struct select_limit limit;
	cl_uint n_taken, n_above; /* n_above: but for ties, where those are limited */
	cl_event event;
	bool watched;
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

static cl_uint at_most(uint64_t n)
{
	return (cl_uint)(n < UINT32_MAX ? n : UINT32_MAX);
}

/* Whether of the elements that equal the key some are taken, and others may be not. */
static bool limits_ties(const struct select_limit *limit)
{
	return limit->ties > 0 && limit->ties < UINT32_MAX;
}

static void set_options(const struct select_job *job, uint32_t ind_bytes, char *out)
{
	static const char *const keys[] = { "ushort", "uint", "ulong" };

	snprintf(out, OPTIONS_BYTES, "-DKEY=%s -DINDEX=%s -DGROUP=%zu -DDIGIT_BITS=%u", keys[job->from.elem_bytes / 4],
	         ind_bytes == 8 ? "long" : "int", job->group, job->digit_bits);
}

/* What a limit selects of all; NULL: what the search finds. */
static choir_status mark_and_take(struct select_job *job, const struct select_limit *limit,
                                  const struct select_target *to)
{
	static const char *const signs[] = { "short", "int", "long" };
	const struct select_extent *all = &job->all;
	bool is_alone = job->form == &alone, none = limit != NULL && limit->ties == 0;
	cl_uint capacity = at_most(to->capacity), spans = all->spans,
		ties = limit == NULL ? 0
	               : none        ? UINT32_MAX
	                             : at_most(limit->ties);
	cl_ulong key = limit == NULL ? UINT64_MAX : limit->key + none, aside_at = 0;
	cl_mem found = limit == NULL ? job->limits : job->counts; /* not read where the host knows the limit */
	char options[OPTIONS_BYTES];
	struct launch_arg marks[] = { LAUNCH_ARG(all->mem),       LAUNCH_ARG(all->at),       LAUNCH_ARG(all->n),
		                      LAUNCH_ARG(all->span),      LAUNCH_ARG(spans),         LAUNCH_ARG(key),
		                      LAUNCH_ARG(ties),           LAUNCH_ARG(found),         LAUNCH_ARG(job->counts),
		                      LAUNCH_ARG(job->masks.mem), LAUNCH_ARG(job->aside.mem) };
	struct launch_arg takes[] = { LAUNCH_ARG(all->mem),       LAUNCH_ARG(all->at),  LAUNCH_ARG(all->n),
		                      LAUNCH_ARG(all->span),      LAUNCH_ARG(spans),    LAUNCH_ARG(key),
		                      LAUNCH_ARG(ties),           LAUNCH_ARG(found),    LAUNCH_ARG(job->counts),
		                      LAUNCH_ARG(job->masks.mem), LAUNCH_ARG(capacity), LAUNCH_ARG(to->ind),
		                      LAUNCH_ARG(to->val) };

	set_options(job, to->ind_bytes, options);
	if (is_alone) {
		takes[0] = (struct launch_arg)LAUNCH_ARG(job->aside.mem);
		takes[1] = (struct launch_arg)LAUNCH_ARG(aside_at);
		snprintf(options + strlen(options), OPTIONS_BYTES - strlen(options), " -DSIGNED=%s -DTIES=%d",
		         signs[job->from.elem_bytes / 4], ties < UINT32_MAX);
	}
	TRY(run_as(job, job->form->source, options, "select_mark", marks, sizeof marks / sizeof *marks - !is_alone,
	           spans / job->form->streams));
	TRY(launch_scan(job->device, job->counts, ties < UINT32_MAX ? 2 * spans : spans, job->total));
	if (capacity > 0)
		TRY(run_as(job, job->form->source, options, "select_take", takes, sizeof takes / sizeof *takes, spans));
	return CHOIR_SUCCESS;
}

/* What a limit of the host's selects of all, and how many those are. */
static choir_status write_by(struct select_job *job, const struct select_limit *limit, const struct select_target *to)
{
	struct dev_access total = dev_buffer_access(job->total, 0, 4),
			  above = dev_buffer_access(job->counts, (uint64_t)job->all.spans * 4, 4);

	TRY(mark_and_take(job, limit, to));
	job->n_above = 0;
	if (limits_ties(limit))
		TRY(dev_read(job->device, &above, 0, &job->n_above, 4, NULL));
	return dev_read(job->device, &total, 0, &job->n_taken, 4, &job->event);
}

static choir_status write_selected(struct select_job *job)
{
	job->phase = WRITING;
	return write_by(job, &job->limit, &job->to);
}

/* The digits of the k-th largest, one after the other, and what that limit selects. */
static choir_status search(struct select_job *job)
{
	const struct select_extent *among = &job->among;
	cl_uint k = (cl_uint)job->k, shift = 8 * job->from.elem_bytes - 1, bits,
		left = (shift + job->digit_bits - 1) / job->digit_bits;
	struct dev_access limit = dev_buffer_access(job->limits, 0, sizeof job->limit);
	struct launch_arg args[] = { LAUNCH_ARG(among->mem),  LAUNCH_ARG(among->at), LAUNCH_ARG(among->n),
		                     LAUNCH_ARG(among->span), LAUNCH_ARG(k),         LAUNCH_ARG(shift),
		                     LAUNCH_ARG(bits),        LAUNCH_ARG(left),      LAUNCH_ARG(job->limits),
		                     LAUNCH_ARG(job->digits) };
	struct launch_arg picks[] = { LAUNCH_ARG(k),    LAUNCH_ARG(shift),       LAUNCH_ARG(bits),
		                      LAUNCH_ARG(left), LAUNCH_ARG(job->limits), LAUNCH_ARG(job->digits) };

	job->phase = SEARCHING;
	TRY(dev_fill_zero(job->device, job->digits, 0, (uint64_t)sizeof(cl_uint) << job->digit_bits, sizeof(cl_uint),
	                  NULL));
	while (shift > 0) {
		bits = shift < job->digit_bits ? shift : job->digit_bits;
		shift -= bits;
		left--;
		TRY(run_as(job, "select.cl", job->options, "select_digits", args, sizeof args / sizeof *args,
		           among->spans));
		TRY(run_as(job, "select.cl", job->options, "select_pick", picks, sizeof picks / sizeof *picks, 1));
	}
	TRY(mark_and_take(job, NULL, &job->to));
	job->n_taken = k;
	return dev_read(job->device, &limit, 0, &job->limit, sizeof job->limit, &job->event);
}

static struct select_extent extent_of(const struct select_job *job, cl_mem mem, uint64_t off, uint64_t n)
{
	uint64_t unit = (uint64_t)job->form->unit * job->form->streams, span;
	size_t groups = launch_spans(job->device, job->group, (n + unit - 1) / unit, &span);

	return (struct select_extent){ .mem = mem,
		                       .at = off / job->from.elem_bytes,
		                       .n = (cl_uint)n,
		                       .span = (cl_uint)(span * job->form->unit),
		                       .spans = (cl_uint)(groups * job->form->streams) };
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
	pivot.ties = UINT64_MAX;
	return write_by(job, &pivot, &to);
}

/* Among the candidates, unless there are too few, since the sample misled, or more than were kept. */
static choir_status search_candidates(struct select_job *job)
{
	if (job->n_taken >= job->k && job->n_taken <= job->room)
		job->among = extent_of(job, job->found.mem, 0, job->n_taken);
	return search(job);
}

static choir_status prepare_search(struct select_job *job)
{
	TRY(dev_buffer_create(job->device, 2 * MOST_DIGITS * sizeof(cl_ulong), &job->limits));
	return dev_buffer_create(job->device, (uint64_t)sizeof(cl_uint) << job->digit_bits, &job->digits);
}

static choir_status prepare(struct select_job *job)
{
	size_t wanted = job->from.group > 0 ? job->from.group : dev_is_cpu(job->device) ? 1 : GPU_GROUP;
	uint64_t units;

	job->group = launch_group(job->device, wanted);
	job->form = job->group == 1 ? &alone : &together;
	job->digit_bits = job->group == 1 ? CPU_DIGIT_BITS : GPU_DIGIT_BITS;
	job->all = job->among = extent_of(job, job->from.mem, job->from.off, job->from.n);
	set_options(job, job->to.ind_bytes, job->options);
	TRY(dev_buffer_create(job->device, (uint64_t)job->all.spans * 2 * sizeof(cl_uint), &job->counts));
	TRY(dev_buffer_create(job->device, sizeof(cl_uint), &job->total));
	units = (job->from.n + job->form->unit - 1) / job->form->unit;
	TRY(scratch_take(job->device, units * job->form->unit / 8, "the masks of a selection", &job->masks));
	if (job->form == &alone)
		TRY(scratch_take(job->device, job->from.n * job->from.elem_bytes, "what a selection puts aside",
		                 &job->aside));
	return CHOIR_SUCCESS;
}

static choir_status start(struct select_job *job)
{
	if (job->from.n == 0)
		return CHOIR_SUCCESS;
	TRY(prepare(job));
	if (job->phase == WRITING)
		return write_selected(job);
	TRY(prepare_search(job));
	return pivot_pays(job) ? take_sample(job) : search(job);
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
	struct select_job none = { .phase = WRITING, .limit = { .key = UINT64_MAX >> (65 - 8 * from->elem_bytes) } };

	if (k == 0) /* nothing is above the highest key */
		return create(device, from, to, none, out_p);
	return create(device, from, to, (struct select_job){ .phase = SEARCHING, .k = k }, out_p);
}

/* What follows a phase. */
static choir_status (*const after[])(struct select_job *) = {
	[SAMPLING] = collect, [COLLECTING] = search_candidates, [SEARCHING] = NULL, [WRITING] = NULL
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
	*count_p = job->n_taken;
	if (job->phase == WRITING && limits_ties(&job->limit) && job->limit.ties < job->n_taken - job->n_above)
		*count_p = job->n_above + job->limit.ties;
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
	else if (job->counts != NULL)
		(void)clFinish(dev_queue(job->device));
	dev_buffer_free(job->counts);
	dev_buffer_free(job->total);
	dev_buffer_free(job->limits);
	dev_buffer_free(job->digits);
	scratch_give(&job->masks);
	scratch_give(&job->aside);
	scratch_give(&job->found);
	scratch_give(&job->found_ind);
	dev_buffer_free(job->sampled);
	pool_give(&job->sample);
	free(job);
}
