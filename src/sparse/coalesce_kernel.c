/* SPDX-License-Identifier: MIT */
/* Coalescing by kernels: radix sort of (index, position), heads, scan, then one work-item per element of the result folds its segment in order.
 *
 * Design notes.  All launches go to the device's internal in-order queue, so only the last one of a step has an event: once for the count, once for the
 * result.  Until an event is complete the device may read the sources and write the result; destroy waits for it.  Temporaries: 2 x (key + position)
 * a pair, starts, and copies of sources that lie in host memory. */
#include "sparse/coalesce.h"
#include "sparse/coalesce_kernel_options.h"
#include "sparse/launch.h"

#include <stdlib.h>

#define SCAN_GROUP 64

struct coalesce_device {
	choir_device *device;
	struct coalesce_call call;
	uint32_t n, count;
	bool wide; /* ulong keys */
	unsigned radix_bits;
	size_t items;
	cl_uint span;
	cl_mem keys[2], at[2], ind, rows, counts, total, start, out_ind, out_val;
	int now; /* which half of keys and at is current */
	cl_event event;
	bool counting, filling, enqueued;
	bool watched; /* event rings already */
};

static choir_status create_buffers(struct coalesce_device *job)
{
	uint64_t n = job->n, key_bytes = job->wide ? 8 : 4, digits = UINT64_C(1) << job->radix_bits;

	for (int half = 0; half < 2; half++) {
		TRY(dev_buffer_create(job->device, n * key_bytes, &job->keys[half]));
		TRY(dev_buffer_create(job->device, n * 4, &job->at[half]));
	}
	TRY(dev_buffer_create(job->device, digits * job->items * 4, &job->counts));
	TRY(dev_buffer_create(job->device, 4, &job->total));
	return dev_buffer_create(job->device, (n + 1) * 4, &job->start);
}

/* Copies host memory to the device; the memory stays the device's until a later event of the queue. */
static choir_status upload(struct coalesce_device *job, cl_mem to, uint64_t off, const void *from, uint64_t bytes)
{
	struct dev_access access = dev_buffer_access(to, off, bytes);

	job->enqueued = true;
	return bytes == 0 ? CHOIR_SUCCESS : dev_write(job->device, &access, 0, from, bytes, NULL);
}

static choir_status load_indices(struct coalesce_device *job, const struct coalesce_source *src, cl_mem ind, uint64_t ind_at, cl_uint to)
{
	cl_uint n = (cl_uint)src->pairs.count;
	cl_ulong at = ind_at;
	cl_long shift = src->pairs.form.base - job->call.range.lo;
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(ind), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(shift),
				     LAUNCH_ARG(job->keys[0]), LAUNCH_ARG(job->at[0]), LAUNCH_ARG(to) };
	struct launch launch = { .source = "radix.cl", .options = options, .kernel = "radix_load", .args = args,
				 .n_args = sizeof args / sizeof *args, .global = job->items, .local = 1 };

	coalesce_radix_options(options, src->pairs.form.bytes, job->wide, job->radix_bits);
	job->enqueued = true;
	return launch_run(job->device, &launch, NULL);
}

/* Keys and positions of all lists; host memory goes up first. */
static choir_status load(struct coalesce_device *job)
{
	uint64_t ind_bytes = 0, to = 0;

	for (uint32_t s = 0; s < job->call.n_src; s++)
		if (job->call.src[s].ind_mem == NULL)
			ind_bytes += job->call.src[s].pairs.count * 8;
	if (ind_bytes > 0)
		TRY(dev_buffer_create(job->device, ind_bytes, &job->ind));
	for (uint32_t s = 0; s < job->call.n_src; s++) {
		const struct coalesce_source *src = &job->call.src[s];
		uint64_t off = src->ind_off, form_bytes = src->pairs.form.bytes;
		cl_mem ind = src->ind_mem;

		if (src->pairs.count == 0)
			continue;
		if (ind == NULL) {
			ind = job->ind;
			off = to * 8;
			TRY(upload(job, ind, off, src->pairs.ind, src->pairs.count * form_bytes));
		}
		TRY(load_indices(job, src, ind, off / form_bytes, (cl_uint)to));
		to += src->pairs.count;
	}
	return CHOIR_SUCCESS;
}

/* Rows that are not on the device yet. */
static choir_status load_rows(struct coalesce_device *job)
{
	uint64_t row_bytes = job->call.width * choir_dtype_bytes(job->call.dtype), to = 0;

	if (job->call.n_src == 1 && job->call.src[0].val_mem != NULL)
		return CHOIR_SUCCESS;
	TRY(dev_buffer_create(job->device, job->n * row_bytes, &job->rows));
	for (uint32_t s = 0; s < job->call.n_src; s++) {
		uint64_t bytes = job->call.src[s].pairs.count * row_bytes;

		TRY(upload(job, job->rows, to, job->call.src[s].pairs.rows, bytes));
		to += bytes;
	}
	return CHOIR_SUCCESS;
}

/* Exclusive prefix sums of n counts in place; their sum goes to total. */
static choir_status scan(struct coalesce_device *job, cl_uint n)
{
	struct launch_arg args[] = { LAUNCH_ARG(job->counts), LAUNCH_ARG(n), LAUNCH_ARG(job->total) };
	struct launch launch = { .source = "scan.cl", .options = "-DGROUP=64", .kernel = "scan_group", .args = args,
				 .n_args = sizeof args / sizeof *args, .global = SCAN_GROUP, .local = SCAN_GROUP };

	return launch_run(job->device, &launch, NULL);
}

static choir_status sort_pass(struct coalesce_device *job, cl_uint bit)
{
	cl_uint n = job->n;
	cl_mem keys = job->keys[job->now], at = job->at[job->now], keys_to = job->keys[!job->now], at_to = job->at[!job->now];
	char options[COALESCE_OPTIONS_BYTES];
	struct launch_arg count_args[] = { LAUNCH_ARG(keys), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(bit), LAUNCH_ARG(job->counts) };
	struct launch_arg move_args[] = { LAUNCH_ARG(keys), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(bit),
					  LAUNCH_ARG(job->counts), LAUNCH_ARG(keys_to), LAUNCH_ARG(at_to) };
	struct launch count = { .source = "radix.cl", .options = options, .kernel = "radix_count", .args = count_args,
				.n_args = sizeof count_args / sizeof *count_args, .global = job->items, .local = 1 };
	struct launch move = { .source = "radix.cl", .options = options, .kernel = "radix_move", .args = move_args,
			       .n_args = sizeof move_args / sizeof *move_args, .global = job->items, .local = 1 };

	coalesce_radix_options(options, 4, job->wide, job->radix_bits);
	TRY(launch_run(job->device, &count, NULL));
	TRY(scan(job, (cl_uint)(job->items << job->radix_bits)));
	TRY(launch_run(job->device, &move, NULL));
	job->now = !job->now;
	return CHOIR_SUCCESS;
}

static choir_status sort(struct coalesce_device *job)
{
	uint64_t span = (uint64_t)(job->call.range.hi - job->call.range.lo);
	unsigned key_bits = span == 0 ? 0 : 64 - (unsigned)__builtin_clzll(span);

	for (unsigned bit = 0; bit < key_bits; bit += job->radix_bits)
		TRY(sort_pass(job, bit));
	return CHOIR_SUCCESS;
}

/* Where the segments start, and how many there are: read back, it is the count. */
static choir_status segments(struct coalesce_device *job)
{
	cl_uint n = job->n;
	cl_mem keys = job->keys[job->now];
	char options[COALESCE_OPTIONS_BYTES];
	struct dev_access total = dev_buffer_access(job->total, 0, 4);
	struct launch_arg count_args[] = { LAUNCH_ARG(keys), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(job->counts) };
	struct launch_arg start_args[] = { LAUNCH_ARG(keys), LAUNCH_ARG(n), LAUNCH_ARG(job->span), LAUNCH_ARG(job->counts),
					   LAUNCH_ARG(job->total), LAUNCH_ARG(job->start) };
	struct launch count = { .source = "segment.cl", .options = options, .kernel = "segment_count", .args = count_args,
				.n_args = sizeof count_args / sizeof *count_args, .global = job->items, .local = 1 };
	struct launch start = { .source = "segment.cl", .options = options, .kernel = "segment_start", .args = start_args,
				.n_args = sizeof start_args / sizeof *start_args, .global = job->items, .local = 1 };

	coalesce_segment_options(options, 4, job->wide);
	TRY(launch_run(job->device, &count, NULL));
	TRY(scan(job, (cl_uint)job->items));
	TRY(launch_run(job->device, &start, NULL));
	return dev_read(job->device, &total, 0, &job->count, 4, &job->event);
}

choir_status coalesce_kernel_create(choir_device *device, const struct coalesce_call *call, uint64_t pairs, struct coalesce_device **out_p)
{
	struct coalesce_device *job = calloc(1, sizeof *job);
	choir_status st;
	uint64_t span;

	if (job == NULL)
		return error_no_memory("a coalescing on the device", sizeof *job);
	job->device = device;
	job->call = *call;
	job->n = (uint32_t)pairs;
	job->wide = (uint64_t)(call->range.hi - call->range.lo) > UINT32_MAX;
	job->radix_bits = dev_is_cpu(device) ? 8 : 4;
	job->items = launch_items(device, pairs, &span);
	job->span = (cl_uint)span;
	st = create_buffers(job);
	if (st != CHOIR_SUCCESS) {
		coalesce_kernel_destroy(job);
		return st;
	}
	*out_p = job;
	return CHOIR_SUCCESS;
}

choir_status coalesce_kernel_count(struct coalesce_device *job, uint64_t *count_p, bool *done_p)
{
	if (!job->counting) {
		job->counting = true;
		TRY(load(job));
		TRY(sort(job));
		TRY(segments(job));
	}
	TRY(dev_poll(job->event, done_p));
	if (!*done_p)
		return CHOIR_SUCCESS;
	*count_p = job->count;
	job->watched = false;
	return dev_wait(&job->event);
}

static choir_status write_indices(struct coalesce_device *job, void *ind, struct index_form form)
{
	cl_long shift = job->call.range.lo - form.base;
	cl_uint count = job->count;
	size_t local = 64;
	char options[COALESCE_OPTIONS_BYTES];
	struct dev_access out;
	struct launch_arg args[] = { LAUNCH_ARG(job->keys[job->now]), LAUNCH_ARG(job->start), LAUNCH_ARG(count), LAUNCH_ARG(shift),
				     LAUNCH_ARG(job->out_ind) };
	struct launch launch = { .source = "segment.cl", .options = options, .kernel = "segment_index", .args = args,
				 .n_args = sizeof args / sizeof *args, .global = (count + local - 1) / local * local, .local = local };

	coalesce_segment_options(options, form.bytes, job->wide);
	TRY(dev_buffer_create(job->device, (uint64_t)count * form.bytes, &job->out_ind));
	TRY(launch_run(job->device, &launch, NULL));
	out = dev_buffer_access(job->out_ind, 0, (uint64_t)count * form.bytes);
	return dev_read(job->device, &out, 0, ind, out.bytes, NULL);
}

static choir_status fold(struct coalesce_device *job, void *rows)
{
	const struct coalesce_call *call = &job->call;
	const struct coalesce_source *src = call->src;
	size_t elem_bytes = choir_dtype_bytes(call->dtype), local = 64;
	cl_mem from = job->rows != NULL ? job->rows : src->val_mem;
	cl_ulong from_at = job->rows != NULL ? 0 : src->val_off / elem_bytes, width = call->width, count = job->count;
	cl_int n_ranks = call->n_ranks;
	char options[COALESCE_OPTIONS_BYTES];
	struct dev_access out;
	struct launch_arg args[] = { LAUNCH_ARG(from), LAUNCH_ARG(from_at), LAUNCH_ARG(job->at[job->now]), LAUNCH_ARG(job->start),
				     LAUNCH_ARG(count), LAUNCH_ARG(width), LAUNCH_ARG(n_ranks), LAUNCH_ARG(job->out_val) };
	struct launch launch = { .source = "segment_fold.cl", .options = options, .kernel = "segment_fold", .args = args,
				 .n_args = sizeof args / sizeof *args, .local = local };

	launch.global = (size_t)((count * width + local - 1) / local * local);
	coalesce_fold_options(options, call);
	TRY(dev_buffer_create(job->device, count * width * elem_bytes, &job->out_val));
	TRY(launch_run(job->device, &launch, NULL));
	out = dev_buffer_access(job->out_val, 0, count * width * elem_bytes);
	return dev_read(job->device, &out, 0, rows, out.bytes, &job->event);
}

choir_status coalesce_kernel_fill(struct coalesce_device *job, void *ind, struct index_form form, void *rows, bool *done_p)
{
	if (!job->filling) {
		job->filling = true;
		TRY(load_rows(job));
		TRY(write_indices(job, ind, form));
		TRY(fold(job, rows));
	}
	TRY(dev_poll(job->event, done_p));
	return *done_p ? dev_wait(&job->event) : CHOIR_SUCCESS;
}

choir_status coalesce_kernel_watch(struct coalesce_device *job, void (*fn)(void *), void *ctx)
{
	if (job->event == NULL || job->watched)
		return CHOIR_SUCCESS;
	job->watched = true;
	return dev_watch(job->event, fn, ctx);
}

void coalesce_kernel_destroy(struct coalesce_device *job)
{
	if (job == NULL)
		return;
	/* Something failed half-way, or the collective did: what was enqueued ends before its memory goes. */
	if (job->event != NULL)
		(void)dev_wait(&job->event);
	else if (job->enqueued)
		(void)clFinish(dev_queue(job->device));
	for (int half = 0; half < 2; half++) {
		dev_buffer_free(job->keys[half]);
		dev_buffer_free(job->at[half]);
	}
	dev_buffer_free(job->ind);
	dev_buffer_free(job->rows);
	dev_buffer_free(job->counts);
	dev_buffer_free(job->total);
	dev_buffer_free(job->start);
	dev_buffer_free(job->out_ind);
	dev_buffer_free(job->out_val);
	free(job);
}
