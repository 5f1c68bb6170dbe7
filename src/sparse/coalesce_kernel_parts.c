/* SPDX-License-Identifier: MIT */
/* The parts that the routes of the kernels share: memory, lists on the device, launches. */
#include "sparse/coalesce_kernel.h"

cl_mem coalesce_mem(const struct coalesce_device *job, enum coalesce_scratch which)
{
	return job->scratch[which].mem;
}

choir_status coalesce_take(struct coalesce_device *job, enum coalesce_scratch which, uint64_t bytes)
{
	return scratch_take(job->device, bytes, "a coalescing on the device", &job->scratch[which]);
}

static uint64_t pairs_before(const struct coalesce_device *job, uint32_t s)
{
	uint64_t pairs = 0;

	for (uint32_t k = 0; k < s; k++)
		pairs += job->call.src[k].pairs.count;
	return pairs;
}

static uint64_t row_bytes(const struct coalesce_device *job)
{
	return job->call.width * choir_dtype_bytes(job->call.dtype);
}

static choir_status upload(struct coalesce_device *job, enum coalesce_scratch which, uint64_t off, const void *from,
                           uint64_t bytes)
{
	struct dev_access access = dev_buffer_access(coalesce_mem(job, which), off, bytes);

	job->enqueued = true;
	return bytes == 0 ? CHOIR_SUCCESS : dev_write(job->device, &access, 0, from, bytes, NULL);
}

/* Every list has its place there, whether it is used or not, eight bytes an index. */
choir_status coalesce_indices(struct coalesce_device *job)
{
	for (uint32_t s = 0; s < job->call.n_src; s++) {
		const struct coalesce_source *src = &job->call.src[s];

		if (src->ind_mem != NULL)
			continue;
		if (coalesce_mem(job, SCRATCH_IND) == NULL)
			TRY(coalesce_take(job, SCRATCH_IND, job->n * UINT64_C(8)));
		TRY(upload(job, SCRATCH_IND, pairs_before(job, s) * 8, src->pairs.ind,
		           src->pairs.count * src->pairs.form.bytes));
	}
	return CHOIR_SUCCESS;
}

struct dense_list coalesce_list(const struct coalesce_device *job, uint32_t s)
{
	const struct coalesce_source *src = &job->call.src[s];
	struct dense_list list = {
		.ind = src->ind_mem, .off = src->ind_off, .form = src->pairs.form, .n = src->pairs.count
	};

	if (src->ind_mem == NULL) {
		list.ind = coalesce_mem(job, SCRATCH_IND);
		list.off = pairs_before(job, s) * 8;
	}
	return list;
}

static choir_status take_rows(struct coalesce_device *job)
{
	return coalesce_mem(job, SCRATCH_ROWS) != NULL ? CHOIR_SUCCESS
	                                               : coalesce_take(job, SCRATCH_ROWS, job->n * row_bytes(job));
}

choir_status coalesce_rows(struct coalesce_device *job)
{
	for (uint32_t s = 0; s < job->call.n_src; s++) {
		const struct coalesce_source *src = &job->call.src[s];

		if (src->val_mem != NULL)
			continue;
		TRY(take_rows(job));
		TRY(upload(job, SCRATCH_ROWS, pairs_before(job, s) * row_bytes(job), src->pairs.rows,
		           src->pairs.count * row_bytes(job)));
	}
	return CHOIR_SUCCESS;
}

struct dense_rows coalesce_rows_of(const struct coalesce_device *job, uint32_t s)
{
	const struct coalesce_source *src = &job->call.src[s];
	struct dense_rows rows = { .mem = src->val_mem,
		                   .off = src->val_off,
		                   .elem_bytes = choir_dtype_bytes(job->call.dtype),
		                   .width = job->call.width };

	if (src->val_mem == NULL) {
		rows.mem = coalesce_mem(job, SCRATCH_ROWS);
		rows.off = pairs_before(job, s) * row_bytes(job);
	}
	return rows;
}

choir_status coalesce_rows_joined(struct coalesce_device *job, struct dense_rows *out)
{
	TRY(coalesce_rows(job));
	*out = coalesce_rows_of(job, 0);
	if (job->call.n_src == 1)
		return CHOIR_SUCCESS;
	TRY(take_rows(job));
	job->enqueued = true;
	for (uint32_t s = 0; s < job->call.n_src; s++) {
		const struct coalesce_source *src = &job->call.src[s];
		cl_int rc = CL_SUCCESS;

		if (src->val_mem != NULL && src->pairs.count > 0)
			rc = clEnqueueCopyBuffer(dev_queue(job->device), src->val_mem, coalesce_mem(job, SCRATCH_ROWS),
			                         src->val_off, pairs_before(job, s) * row_bytes(job),
			                         src->pairs.count * row_bytes(job), 0, NULL, NULL);
		if (rc != CL_SUCCESS)
			return error_cl("clEnqueueCopyBuffer", rc);
	}
	out->mem = coalesce_mem(job, SCRATCH_ROWS);
	out->off = 0;
	return CHOIR_SUCCESS;
}

static choir_status run(struct coalesce_device *job, const struct launch *launch)
{
	job->enqueued = true;
	return launch_run(job->device, launch, NULL);
}

choir_status coalesce_run_items(struct coalesce_device *job, const char *source, const char *options,
                                const char *kernel, const struct launch_arg *args, size_t n_args, size_t items)
{
	return run(job, &(struct launch){ source, options, kernel, args, n_args, items, job->shape.group });
}

choir_status coalesce_run_groups(struct coalesce_device *job, const char *source, const char *options,
                                 const char *kernel, const struct launch_arg *args, size_t n_args, size_t groups)
{
	return run(job, &(struct launch){ source, options, kernel, args, n_args, groups * job->group, job->group });
}

choir_status coalesce_run(struct coalesce_device *job, const char *source, const char *options, const char *kernel,
                          const struct launch_arg *args, size_t n_args, uint64_t elements)
{
	return elements == 0 ? CHOIR_SUCCESS
	                     : coalesce_run_items(job, source, options, kernel, args, n_args,
	                                          launch_elements(job->shape, elements));
}

choir_status coalesce_scan(struct coalesce_device *job, cl_mem counts, cl_uint n)
{
	return launch_scan(job->device, counts, n, coalesce_mem(job, SCRATCH_TOTAL));
}

choir_status coalesce_kernel_read_count(struct coalesce_device *job)
{
	struct dev_access total = dev_buffer_access(coalesce_mem(job, SCRATCH_TOTAL), 0, 4);

	return dev_read(job->device, &total, 0, &job->count, 4, &job->event);
}

choir_status coalesce_take_result(struct coalesce_device *job, struct index_form form, uint32_t pairs)
{
	choir_status st;

	TRY(coalesce_take(job, SCRATCH_OUT_IND, (uint64_t)pairs * form.bytes));
	st = coalesce_take(job, SCRATCH_OUT_VAL, pairs * row_bytes(job));
	if (st != CHOIR_SUCCESS)
		scratch_give(&job->scratch[SCRATCH_OUT_IND]);
	job->room = pairs;
	return st;
}

uint64_t coalesce_entry_bytes(const struct coalesce_device *job)
{
	uint64_t key_bytes = job->wide ? 8 : 4, value_bytes = job->carries ? choir_dtype_bytes(job->call.dtype) : 4;

	return 2 * (value_bytes > key_bytes ? value_bytes : key_bytes);
}

choir_status coalesce_take_entries(struct coalesce_device *job)
{
	for (int half = SCRATCH_ENTRIES; half <= SCRATCH_ENTRIES_TO; half++)
		TRY(coalesce_take(job, half, job->n * coalesce_entry_bytes(job)));
	TRY(coalesce_take(job, SCRATCH_COUNTS, (uint64_t)job->n_spans * 4 << job->radix_bits));
	return coalesce_take(job, SCRATCH_TOTAL, 4);
}

unsigned coalesce_key_bits(const struct coalesce_call *call)
{
	uint64_t span = (uint64_t)(call->range.hi - call->range.lo);

	return span == 0 ? 0 : 64 - (unsigned)__builtin_clzll(span);
}

bool coalesce_is_short(const choir_device *device, uint64_t pairs)
{
	return !dev_is_cpu(device) && launch_group(device, COALESCE_GROUP) > 1 && pairs <= COALESCE_SHORT;
}
