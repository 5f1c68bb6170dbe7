/* SPDX-License-Identifier: MIT */
/* Note [counts] in sparse/coalesce_kernel.h, on the device as a GPU: when the host has seen a count, all kernels that
 * make the result are enqueued, by each route; where the device has no room for as many pairs as there can be, they
 * follow.  The result is that of the reference either way. */
#include "look.h"
#include "sparse/coalesce_kernel.h"
#include "sparse/group_forms.h"
#include "sparse/on_device.h"
#include "sparse/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4200, GUARD = 64 }; /* more than one group sorts */

static unsigned launches;
static size_t most_bytes; /* of a cl_mem; 0 = any */

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event_p);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event_p);
cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc);

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event_p)
{
	launches++;
	return __real_clEnqueueNDRangeKernel(queue, kernel, dims, from, global, local, n, list, event_p);
}

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc)
{
	if (most_bytes == 0 || bytes <= most_bytes)
		return __real_clCreateBuffer(context, flags, bytes, host, rc);
	*rc = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return NULL;
}

/* N pairs of one list with duplicates, or two lists of half as many without. */
struct shape {
	const char *route;
	size_t width;
	int64_t range;
	uint32_t n_src;
};

static int32_t index_of(const struct shape *shape, size_t i)
{
	if (shape->n_src == 1)
		return (int32_t)((int64_t)i * 7919 % 401 * (shape->range / 401));
	return (int32_t)(i < N / 2 ? 2 * i : 3 * (i - N / 2));
}

static void make(const struct shape *shape, int32_t *ind, float *val, struct reference_pairs *in)
{
	in->count = N;
	in->ind = malloc(N * sizeof *in->ind);
	in->val = malloc(N * shape->width * sizeof *val);
	for (size_t i = 0; i < N; i++)
		in->ind[i] = ind[i] = index_of(shape, i);
	for (size_t i = 0; i < N * shape->width; i++)
		val[i] = (float)(i % 97) / 7;
	memcpy(in->val, val, N * shape->width * sizeof *val);
}

/* Kernels that were enqueued after the count was seen. */
static unsigned enqueued_late(const struct shape *shape, bool has_room)
{
	size_t row = shape->width * sizeof(float), lists = N / shape->n_src, bad;
	int32_t *ind = malloc(N * sizeof *ind), *got_ind;
	float *val = malloc(N * row), *got_val;
	struct coalesce_source src[2] = { 0 };
	struct coalesce_call call = { .dtype = CHOIR_F32,
		                      .op = CHOIR_OP_SUM,
		                      .width = shape->width,
		                      .raw = shape->n_src == 1,
		                      .n_ranks = 2,
		                      .form = { .bytes = 4 },
		                      .range = { 0, shape->range - 1 },
		                      .src = src,
		                      .n_src = shape->n_src };
	struct reference_pairs in, want;
	struct coalesce job;
	unsigned before;
	bool done = false;

	make(shape, ind, val, &in);
	reference_coalesce(&in, shape->width, CHOIR_F32, CHOIR_OP_SUM, call.raw, false, 2, &want);
	cl_mem ind_mem = upload(ind, N * sizeof *ind), val_mem = upload(val, N * row);
	for (uint32_t s = 0; s < shape->n_src; s++)
		src[s] = (struct coalesce_source){ .pairs = { .count = lists, .form = { .bytes = 4 } },
			                           .ind_mem = ind_mem,
			                           .ind_off = s * lists * sizeof *ind,
			                           .val_mem = val_mem,
			                           .val_off = s * lists * row };
	got_ind = blank(want.count * sizeof *got_ind + GUARD);
	got_val = blank(want.count * row + GUARD);
	most_bytes = has_room ? 0 : N * row - 1;
	assert_int_equal(coalesce_init(&job, &call, device), CHOIR_SUCCESS);
	assert_string_equal(job.on_device->route->name, shape->route);
	for (; !done; look_again(done))
		assert_int_equal(coalesce_count(&job, &done), CHOIR_SUCCESS);
	assert_int_equal(job.count, want.count);
	before = launches;
	for (done = false; !done; look_again(done))
		assert_int_equal(coalesce_fill(&job, got_ind, call.form, got_val, &done), CHOIR_SUCCESS);
	most_bytes = 0;
	for (size_t i = 0; i < want.count; i++)
		assert_int_equal(got_ind[i], want.ind[i]);
	assert_true(reference_same(CHOIR_F32, got_val, want.val, want.count * shape->width, &bad));
	assert_int_equal(*(unsigned char *)(got_ind + want.count), SENTINEL);
	assert_int_equal(((unsigned char *)got_val)[want.count * row], SENTINEL);
	coalesce_fini(&job);
	clReleaseMemObject(ind_mem);
	clReleaseMemObject(val_mem);
	reference_free(&in);
	reference_free(&want);
	free(ind);
	free(val);
	free(got_ind);
	free(got_val);
	return launches - before;
}

static const struct shape sorted = { .route = "sort", .width = 3, .range = 400000000, .n_src = 1 };

static void kernels_await_no_count(void **state)
{
	static const struct shape dense = { .route = "sort", .width = 1, .range = 30000, .n_src = 1 };
	static const struct shape scalars = { .route = "sort", .width = 1, .range = 400000000, .n_src = 1 };
	static const struct shape merged = { .route = "merge", .width = 2, .range = 6400, .n_src = 2 };

	(void)state;
	assert_int_equal(enqueued_late(&sorted, true), 0);
	assert_int_equal(enqueued_late(&scalars, true), 0);
	assert_int_equal(enqueued_late(&dense, true), 0);
	assert_int_equal(enqueued_late(&merged, true), 0);
}

static void kernels_follow_where_there_is_no_room(void **state)
{
	(void)state;
	assert_true(enqueued_late(&sorted, false) > 0);
}

int main(void)
{
	/* each with a device that has kept no buffers yet */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kernels_await_no_count, open_as_gpu, close_device),
		cmocka_unit_test_setup_teardown(kernels_follow_where_there_is_no_room, open_as_gpu, close_device)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
