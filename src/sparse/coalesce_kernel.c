/* SPDX-License-Identifier: MIT */
#include "sparse/coalesce_kernel.h"

#include <stdlib.h>

/* The first that fits. */
static const struct coalesce_route *const routes[] = { &coalesce_route_merge, &coalesce_route_cells,
	                                               &coalesce_route_sort };

static const struct coalesce_route *route_of(const choir_device *device, const struct coalesce_call *call,
                                             uint64_t pairs)
{
	size_t i = 0;

	while (!routes[i]->fits(device, call, pairs))
		i++;
	return routes[i];
}

/* Blocks of a sort (radix_blocks.cl) have to fit a GPU's local memory beside the counts. */
enum { BLOCK_BYTES = 16384 };

static void deal_spans(struct coalesce_device *job)
{
	bool cpu = dev_is_cpu(job->device);
	uint64_t span;

	job->group = launch_group(job->device, cpu ? 1 : COALESCE_GROUP);
	job->each = cpu ? 1 : (unsigned)(BLOCK_BYTES / COALESCE_GROUP / coalesce_entry_bytes(job));
	job->is_short = coalesce_is_short(job->device, job->n);
	job->n_spans =
	    launch_spans(job->device, job->is_short ? COALESCE_SHORT : job->group * job->each, job->n, &span);
	job->span = (cl_uint)span;
}

choir_status coalesce_kernel_create(choir_device *device, const struct coalesce_call *call, uint64_t pairs,
                                    struct coalesce_device **out_p)
{
	struct coalesce_device *job = calloc(1, sizeof *job);
	uint64_t words = index_range_span(call->range) / 32; /* of a bitmap, if there is one */

	if (job == NULL)
		return error_no_memory("a coalescing on the device", sizeof *job);
	job->device = device;
	job->call = *call;
	job->route = route_of(device, call, pairs);
	job->wide = coalesce_key_bits(call) > 32;
	job->carries = call->width == 1;
	job->shape = launch_shape_of(device, pairs * call->width + (words < UINT32_MAX ? words : 0));
	job->n = (uint32_t)pairs;
	job->enqueued = true; /* the kernel that scales the rows may be */
	deal_spans(job);
	*out_p = job;
	return CHOIR_SUCCESS;
}

/* The kernels that make the result. */
static choir_status make(struct coalesce_device *job, struct index_form form)
{
	job->made = true;
	return job->route->fill(job, form);
}

/* Note [counts]: in room for as many pairs as there can be. */
static choir_status make_before_count(struct coalesce_device *job)
{
	struct index_form form = job->call.form;
	uint64_t span = index_range_span(job->call.range);
	uint32_t most = span < job->n ? (uint32_t)span : job->n;

	if (form.bytes == 0 || dev_is_cpu(job->device) || coalesce_take_result(job, form, most) != CHOIR_SUCCESS)
		return CHOIR_SUCCESS;
	TRY(make(job, form));
	clFlush(dev_queue(job->device)); /* the next event follows when the host has seen the count */
	return CHOIR_SUCCESS;
}

choir_status coalesce_kernel_count(struct coalesce_device *job, uint64_t *count_p, bool *done_p)
{
	if (!job->counting) {
		job->counting = true;
		TRY(coalesce_indices(job));
		TRY(job->route->count(job));
		TRY(coalesce_kernel_read_count(job));
		TRY(make_before_count(job));
	}
	TRY(dev_poll(job->event, done_p));
	if (!*done_p)
		return CHOIR_SUCCESS;
	*count_p = job->count;
	job->watched = false;
	return dev_wait(&job->event);
}

static uint64_t rows_bytes(const struct coalesce_device *job)
{
	return job->count * job->call.width * choir_dtype_bytes(job->call.dtype);
}

static choir_status read_result(struct coalesce_device *job, void *ind, struct index_form form, void *rows)
{
	struct dev_access out_ind =
	    dev_buffer_access(coalesce_mem(job, SCRATCH_OUT_IND), 0, (uint64_t)job->count * form.bytes);
	struct dev_access out_val = dev_buffer_access(coalesce_mem(job, SCRATCH_OUT_VAL), 0, rows_bytes(job));

	TRY(dev_read(job->device, &out_ind, 0, ind, out_ind.bytes, NULL));
	return dev_read(job->device, &out_val, 0, rows, out_val.bytes, &job->event);
}

static choir_status copy_result(struct coalesce_device *job, struct dev_bytes ind, struct index_form form,
                                struct dev_bytes rows)
{
	struct dev_bytes out_ind = { .mem = coalesce_mem(job, SCRATCH_OUT_IND) },
			 out_val = { .mem = coalesce_mem(job, SCRATCH_OUT_VAL) };

	TRY(dev_copy(job->device, ind, out_ind, (uint64_t)job->count * form.bytes, NULL));
	return dev_copy(job->device, rows, out_val, rows_bytes(job), &job->event);
}

/* Once. */
static choir_status make_result(struct coalesce_device *job, struct index_form form)
{
	job->filling = true;
	if (job->made)
		return CHOIR_SUCCESS;
	TRY(coalesce_take_result(job, form, job->count));
	return make(job, form);
}

static choir_status end_fill(struct coalesce_device *job, bool *done_p)
{
	TRY(dev_poll(job->event, done_p));
	job->over = *done_p;
	return *done_p ? dev_wait(&job->event) : CHOIR_SUCCESS;
}

choir_status coalesce_kernel_fill(struct coalesce_device *job, void *ind, struct index_form form, void *rows,
                                  bool *done_p)
{
	if (!job->filling) {
		TRY(make_result(job, form));
		TRY(read_result(job, ind, form, rows));
	}
	return end_fill(job, done_p);
}

choir_status coalesce_kernel_fill_mems(struct coalesce_device *job, struct dev_bytes ind, struct index_form form,
                                       struct dev_bytes rows, bool *done_p)
{
	if (!job->filling) {
		TRY(make_result(job, form));
		TRY(copy_result(job, ind, form, rows));
	}
	return end_fill(job, done_p);
}

choir_status coalesce_kernel_fill_kept(struct coalesce_device *job, struct index_form form, bool *done_p)
{
	if (!job->filling) {
		TRY(make_result(job, form));
		TRY(dev_marker(dev_queue(job->device), &job->event));
	}
	return end_fill(job, done_p);
}

void coalesce_kernel_keep(struct coalesce_device *job, struct scratch *ind, struct scratch *rows)
{
	*ind = job->scratch[SCRATCH_OUT_IND];
	*rows = job->scratch[SCRATCH_OUT_VAL];
	job->scratch[SCRATCH_OUT_IND] = job->scratch[SCRATCH_OUT_VAL] = (struct scratch){ 0 };
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
	/* Perhaps a step or the collective failed half-way: all enqueued commands end before their memory is freed. */
	(void)dev_wait(&job->event);
	if (job->enqueued && !job->over)
		dev_drain(job->device);
	for (int i = 0; i < N_SCRATCH; i++)
		scratch_give(&job->scratch[i]);
	free(job);
}
