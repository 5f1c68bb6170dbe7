/* SPDX-License-Identifier: MIT */
/* Design notes.  The k-th largest is found a digit of its key at a time from the top: a launch counts the keys that
 * begin like it, the next picks the digit.  Of many elements a sample says first, found so too, above which key about k
 * lie (Note [pivot] in select.c); what lies above it is collected, and the rest happens among those.  All launches are
 * enqueued at once, so that the host waits once; where the sample misled, it finds no limit, and all is done again
 * without a sample.  The selected elements are written by select.cl, where items work together, or by select_words.cl,
 * where they work alone, which a CPU does several times faster.  All launches go to the internal in-order queue. */
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
#define PIVOT_BITS     20                   /* of a sample's key: what equals it in those is collected too */
#define GPU_FEW_BYTES  (UINT64_C(32) << 20) /* which a GPU reads a few times sooner than it takes a sample */

/* Where work-items work together, a byte of the masks belongs to 8 elements; where alone, a word to 64, and an item
 * has so many spans. */
struct select_form {
	const char *source;
	unsigned unit, streams;
};
static const struct select_form together = { "select.cl", 8, 1 }, alone = { "select_words.cl", 64, 8 };

/* The phases of a job: a search with a sample, which may mislead; one without; writing by a limit of the host's. */
enum select_phase { GUESSING, SEARCHING, WRITING };

/* Elements that are gone through, each group its spans of them. */
struct select_extent {
	cl_mem mem;
	cl_ulong at;
	cl_uint n, span, spans;
	cl_mem there, ind; /* of candidates: how many there are, up to n, and their positions */
};

struct select_job {
	choir_device *device;
	struct select_source from;
	struct select_target to;
	size_t group;
	const struct select_form *form;
	struct select_extent all;
	unsigned digit_bits;
	enum select_phase phase;
	struct scratch counts, total, sampled, n_found;
	struct scratch limits, digits; /* of a search: select_pick's, and the counters of a digit */
	/* candidates: where items work alone; found: at or above the pivot */
	struct scratch masks, candidates, found, found_ind;
	uint64_t k; /* of a search */
	struct select_limit limit;
	cl_uint n_taken, n_above; /* n_above: but for ties, where those are limited */
	cl_event event;
	bool watched;
};

/* Limits that select_pick leaves on the device: of the k largest, and a pivot. */
static const struct select_limit as_found = { .key = UINT64_MAX, .ties = 1 },
				 pivot = { .key = UINT64_MAX, .ties = UINT64_MAX };

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

static void set_options(const struct select_job *job, char *out)
{
	static const char *const keys[] = { "ushort", "uint", "ulong" };

	snprintf(out, OPTIONS_BYTES, "-DKEY=%s -DINDEX=%s -DGROUP=%zu -DDIGIT_BITS=%u", keys[job->from.elem_bytes / 4],
	         job->to.ind_bytes == 8 ? "long" : "int", job->group, job->digit_bits);
}

/* Takes the elements of an extent that a limit selects; total: their number, with all ties. */
static choir_status mark_and_take(struct select_job *job, const struct select_extent *of, struct select_limit limit,
                                  const struct select_target *to, cl_mem total)
{
	static const char *const signs[] = { "short", "int", "long" };
	bool is_alone = job->form == &alone, none = limit.ties == 0;
	cl_uint capacity = at_most(to->capacity), ties = none ? UINT32_MAX : at_most(limit.ties),
		is_counted = of->there != NULL;
	cl_ulong key = limit.key + none, at = is_alone ? 0 : of->at;
	/* Arguments that are not read stand in for those that a call has not. */
	cl_mem counts = job->counts.mem, masks = job->masks.mem, limits = job->limits.mem,
	       found = limits != NULL ? limits : counts, there = is_counted ? of->there : total,
	       ind = is_counted ? of->ind : to->ind, kept = job->candidates.mem, from = is_alone ? kept : of->mem;
	char options[OPTIONS_BYTES];
	struct launch_arg marks[] = { LAUNCH_ARG(of->mem),    LAUNCH_ARG(of->at), LAUNCH_ARG(of->n),
		                      LAUNCH_ARG(is_counted), LAUNCH_ARG(there),  LAUNCH_ARG(of->span),
		                      LAUNCH_ARG(of->spans),  LAUNCH_ARG(key),    LAUNCH_ARG(ties),
		                      LAUNCH_ARG(found),      LAUNCH_ARG(counts), LAUNCH_ARG(masks),
		                      LAUNCH_ARG(kept) };
	struct launch_arg takes[] = { LAUNCH_ARG(from),       LAUNCH_ARG(at),       LAUNCH_ARG(of->n),
		                      LAUNCH_ARG(is_counted), LAUNCH_ARG(there),    LAUNCH_ARG(of->span),
		                      LAUNCH_ARG(of->spans),  LAUNCH_ARG(key),      LAUNCH_ARG(ties),
		                      LAUNCH_ARG(found),      LAUNCH_ARG(counts),   LAUNCH_ARG(masks),
		                      LAUNCH_ARG(ind),        LAUNCH_ARG(capacity), LAUNCH_ARG(to->ind),
		                      LAUNCH_ARG(to->val) };

	set_options(job, options);
	if (is_alone)
		snprintf(options + strlen(options), OPTIONS_BYTES - strlen(options), " -DSIGNED=%s -DTIES=%d",
		         signs[job->from.elem_bytes / 4], ties < UINT32_MAX);
	TRY(run_as(job, job->form->source, options, "select_mark", marks, sizeof marks / sizeof *marks - !is_alone,
	           of->spans / job->form->streams));
	TRY(launch_scan(job->device, counts, ties < UINT32_MAX ? 2 * of->spans : of->spans, total));
	if (capacity == 0)
		return CHOIR_SUCCESS;
	return run_as(job, job->form->source, options, "select_take", takes, sizeof takes / sizeof *takes, of->spans);
}

/* Takes the elements that a limit of the host's selects, and reads their number. */
static choir_status write_selected(struct select_job *job)
{
	struct dev_access total = dev_buffer_access(job->total.mem, 0, 4),
			  above = dev_buffer_access(job->counts.mem, (uint64_t)job->all.spans * 4, 4);

	TRY(mark_and_take(job, &job->all, job->limit, &job->to, job->total.mem));
	if (limits_ties(&job->limit))
		TRY(dev_read(job->device, &above, 0, &job->n_above, 4, NULL));
	return dev_read(job->device, &total, 0, &job->n_taken, 4, &job->event);
}

/* The key of the k-th largest of an extent, in so many bits or a few more, to the start of job->limits. */
static choir_status find_limit(struct select_job *job, const struct select_extent *of, cl_uint k, unsigned most_bits)
{
	cl_uint shift = 8 * job->from.elem_bytes - 1, bits, is_counted = of->there != NULL,
		left = ((most_bits < shift ? most_bits : shift) + job->digit_bits - 1) / job->digit_bits;
	cl_mem there = is_counted ? of->there : job->total.mem; /* that is not read */
	char options[OPTIONS_BYTES];
	struct launch_arg counts[] = {
		LAUNCH_ARG(of->mem),    LAUNCH_ARG(of->at),          LAUNCH_ARG(of->n),
		LAUNCH_ARG(is_counted), LAUNCH_ARG(there),           LAUNCH_ARG(of->span),
		LAUNCH_ARG(k),          LAUNCH_ARG(shift),           LAUNCH_ARG(bits),
		LAUNCH_ARG(left),       LAUNCH_ARG(job->limits.mem), LAUNCH_ARG(job->digits.mem)
	};
	struct launch_arg picks[] = { LAUNCH_ARG(k),    LAUNCH_ARG(shift),           LAUNCH_ARG(bits),
		                      LAUNCH_ARG(left), LAUNCH_ARG(job->limits.mem), LAUNCH_ARG(job->digits.mem) };

	set_options(job, options);
	while (left > 0) {
		bits = shift < job->digit_bits ? shift : job->digit_bits;
		shift -= bits;
		left--;
		TRY(run_as(job, "select.cl", options, "select_digits", counts, sizeof counts / sizeof *counts,
		           of->spans));
		TRY(run_as(job, "select.cl", options, "select_pick", picks, sizeof picks / sizeof *picks, 1));
	}
	return CHOIR_SUCCESS;
}

/* The k largest of all or of candidates, and their limit. */
static choir_status take_top(struct select_job *job, const struct select_extent *of)
{
	struct dev_access limit = dev_buffer_access(job->limits.mem, 0, sizeof job->limit);
	struct select_target to = job->to;

	to.capacity = job->k < to.capacity ? job->k : to.capacity;
	job->n_taken = (cl_uint)job->k;
	TRY(find_limit(job, of, (cl_uint)job->k, UINT32_MAX));
	TRY(mark_and_take(job, of, as_found, &to, job->total.mem));
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

static choir_status take(struct select_job *job, uint64_t bytes, struct scratch *out)
{
	return scratch_take(job->device, bytes, "a selection on the device", out);
}

static bool pivot_pays(const struct select_job *job)
{
	uint64_t few = job->from.few > 0 ? job->from.few
	               : job->group == 1 ? SELECT_FEW
	                                 : GPU_FEW_BYTES / job->from.elem_bytes;

	return job->from.n > few && select_pivot_rank(job->from.n, job->k) < SELECT_SAMPLES;
}

static choir_status take_sample(struct select_job *job)
{
	cl_ulong stride = job->from.n / SELECT_SAMPLES;
	cl_uint samples = SELECT_SAMPLES,
		span = job->group < SELECT_SAMPLES / SAMPLERS ? SELECT_SAMPLES / SAMPLERS / (cl_uint)job->group : 1;
	char options[OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(job->all.mem), LAUNCH_ARG(job->all.at), LAUNCH_ARG(stride),
		                     LAUNCH_ARG(samples),      LAUNCH_ARG(span),        LAUNCH_ARG(job->sampled.mem) };

	set_options(job, options);
	TRY(take(job, (uint64_t)SELECT_SAMPLES * job->from.elem_bytes, &job->sampled));
	return run_as(job, "select.cl", options, "select_sample", args, sizeof args / sizeof *args, SAMPLERS);
}

/* Takes the elements at or above the sample's pivot, and the k largest of those. */
static choir_status guess(struct select_job *job)
{
	uint64_t rank = select_pivot_rank(job->from.n, job->k), most = select_pivot_room(job->from.n, rank),
		 room = most < job->from.n ? most : job->from.n;
	struct select_extent sample, candidates;
	struct select_target to = { .ind_bytes = job->to.ind_bytes, .capacity = room };

	job->phase = GUESSING;
	TRY(take(job, room * job->from.elem_bytes, &job->found));
	TRY(take(job, room * to.ind_bytes, &job->found_ind));
	TRY(take(job, sizeof(cl_uint), &job->n_found));
	to.val = job->found.mem;
	to.ind = job->found_ind.mem;
	TRY(take_sample(job));
	sample = extent_of(job, job->sampled.mem, 0, SELECT_SAMPLES);
	TRY(find_limit(job, &sample, (cl_uint)rank, PIVOT_BITS));
	TRY(mark_and_take(job, &job->all, pivot, &to, job->n_found.mem));
	candidates = extent_of(job, job->found.mem, 0, room);
	if (candidates.spans > job->all.spans) { /* for which the counts have room */
		candidates.spans = job->all.spans;
		candidates.span = job->all.span;
	}
	candidates.there = job->n_found.mem;
	candidates.ind = job->found_ind.mem;
	return take_top(job, &candidates);
}

static choir_status search(struct select_job *job)
{
	job->phase = SEARCHING;
	return take_top(job, &job->all);
}

/* There is no limit where the sample misled: too few lie above its pivot, or more than there is room for. */
static choir_status search_if_misled(struct select_job *job)
{
	return job->limit.ties > 0 ? CHOIR_SUCCESS : search(job);
}

static choir_status prepare_search(struct select_job *job)
{
	uint64_t bytes = (uint64_t)sizeof(cl_uint) << job->digit_bits;

	TRY(take(job, 2 * MOST_DIGITS * sizeof(cl_ulong), &job->limits));
	TRY(take(job, bytes, &job->digits));
	return dev_fill_zero(job->device, job->digits.mem, 0, bytes, sizeof(cl_uint), NULL);
}

static choir_status prepare(struct select_job *job)
{
	size_t wanted = job->from.group > 0 ? job->from.group : dev_is_cpu(job->device) ? 1 : GPU_GROUP;
	uint64_t units;

	job->group = launch_group(job->device, wanted);
	job->form = job->group == 1 ? &alone : &together;
	job->digit_bits = job->group == 1 ? CPU_DIGIT_BITS : GPU_DIGIT_BITS;
	job->all = extent_of(job, job->from.mem, job->from.off, job->from.n);
	TRY(take(job, (uint64_t)job->all.spans * 2 * sizeof(cl_uint), &job->counts));
	TRY(take(job, sizeof(cl_uint), &job->total));
	units = (job->from.n + job->form->unit - 1) / job->form->unit;
	TRY(take(job, units * job->form->unit / 8, &job->masks));
	if (job->form == &alone)
		TRY(take(job, job->from.n * job->from.elem_bytes, &job->candidates));
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
	return pivot_pays(job) ? guess(job) : search(job);
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

/* The step after a phase; NULL: the job is over. */
static choir_status (*const after[])(struct select_job *) = {
	[GUESSING] = search_if_misled, [SEARCHING] = NULL, [WRITING] = NULL
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
	struct scratch *const all[] = { &job->counts,     &job->total, &job->limits,    &job->digits,  &job->masks,
		                        &job->candidates, &job->found, &job->found_ind, &job->sampled, &job->n_found };
	/* Without an event a step failed half-way: all enqueued commands end before their memory is freed. */
	if (job->event != NULL)
		(void)dev_wait(&job->event);
	else if (job->counts.mem != NULL)
		dev_drain(job->device);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		scratch_give(all[i]);
	free(job);
}
