/* SPDX-License-Identifier: MIT */
/* The kernels of a coalescing where the host twin has nothing like it: a caller's cl_mems, ranges found on the device,
 * jobs that are given up. */
#include "look.h"
#include "dev/launch.h"
#include "sparse/coalesce_case.h"
#include "sparse/coalesce_kernel.h"
#include "sparse/on_device.h"
#include "sparse/range_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The kernels read a caller's cl_mem at offsets, where it lies. */
static void kernels_read_cl_mem(void **state)
{
	struct coalesce_shape shape = { .name = "cl_mem", .n = small ? 33 : 999, .width = 2, .range = 100, .n_src = 1 };
	struct reference_pairs in, want;
	struct coalesce_source src = { .ind_off = 12, .val_off = 20 };
	struct coalesce job;
	struct coalesce_call call = { .dtype = CHOIR_F32,
		                      .op = CHOIR_OP_SUM,
		                      .width = 2,
		                      .raw = true,
		                      .n_ranks = 1,
		                      .src = &src,
		                      .n_src = 1,
		                      .range = { 0, 99 } };
	struct range_job *range_job;
	struct index_range range;
	uint64_t bad_at;
	int64_t bad_index;
	bool done = false;
	int32_t *ind = calloc(shape.n + 3, 4), out_ind[100];
	float *val = calloc(shape.n * 2 + 5, 4), out_val[200];
	size_t at;
	cl_int rc;

	(void)state;
	coalesce_case_make(&shape, CHOIR_F32, false, 7, &in);
	for (size_t i = 0; i < shape.n; i++)
		ind[i + 3] = (int32_t)in.ind[i];
	memcpy(val + 5, in.val, shape.n * 8);
	src.ind_mem = clCreateBuffer(choir_device_context(device), CL_MEM_COPY_HOST_PTR, (shape.n + 3) * 4, ind, &rc);
	src.val_mem =
	    clCreateBuffer(choir_device_context(device), CL_MEM_COPY_HOST_PTR, (shape.n * 2 + 5) * 4, val, &rc);
	src.pairs = (struct pairs){ .count = shape.n, .form = { .bytes = 4 } };
	assert_int_equal(range_job_create(device, src.ind_mem, src.ind_off, 4, shape.n, &range_job), CHOIR_SUCCESS);
	for (; !done; look_again(done))
		assert_int_equal(range_job_poll(range_job, &range, &bad_at, &bad_index, &done), CHOIR_SUCCESS);
	range_job_destroy(range_job);
	assert_int_equal(bad_at, shape.n);
	assert_true(range.lo >= 0 && range.hi < 100 && range.lo <= range.hi);
	reference_coalesce(&in, 2, CHOIR_F32, CHOIR_OP_SUM, true, false, 1, &want);
	assert_int_equal(coalesce_init(&job, &call, device), CHOIR_SUCCESS);
	coalesce_case_run(&job, out_ind, (struct index_form){ .bytes = 4 }, out_val);
	assert_int_equal(job.count, want.count);
	assert_true(reference_same(CHOIR_F32, out_val, want.val, want.count * 2, &at));
	for (size_t i = 0; i < want.count; i++)
		assert_int_equal(out_ind[i], want.ind[i]);
	coalesce_fini(&job);
	clReleaseMemObject(src.ind_mem);
	clReleaseMemObject(src.val_mem);
	reference_free(&in);
	reference_free(&want);
	free(ind);
	free(val);
}

/* Host and kernel name the first negative index. */
static void negative_indices_are_found(void **state)
{
	int64_t ind[600];
	cl_mem mem;
	cl_int rc;
	uint64_t bad_at;
	int64_t bad_index;
	struct index_range range;
	struct range_job *job;
	bool done = false;

	(void)state;
	for (int i = 0; i < 600; i++)
		ind[i] = i * 11;
	range = coalesce_range_host(ind, 8, 600, &bad_at);
	assert_int_equal(bad_at, 600);
	assert_int_equal(range.lo, 0);
	assert_int_equal(range.hi, 599 * 11);
	ind[411] = -5;
	ind[500] = -7;
	range = coalesce_range_host(ind, 8, 600, &bad_at);
	assert_int_equal(bad_at, 411);
	mem = clCreateBuffer(choir_device_context(device), CL_MEM_COPY_HOST_PTR, sizeof ind, ind, &rc);
	assert_int_equal(range_job_create(device, mem, 0, 8, 600, &job), CHOIR_SUCCESS);
	for (; !done; look_again(done))
		assert_int_equal(range_job_poll(job, &range, &bad_at, &bad_index, &done), CHOIR_SUCCESS);
	assert_int_equal(bad_at, 411);
	assert_int_equal(bad_index, -5);
	range_job_destroy(job);
	clReleaseMemObject(mem);
}

/* As on a device with little local memory: few cells a bucket, and so many buckets. */
static bool local_memory_is_small;

cl_int __real_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p);
cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p);

cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p)
{
	cl_int rc = __real_clGetDeviceInfo(id, what, bytes, value, bytes_p);

	if (rc == CL_SUCCESS && what == CL_DEVICE_LOCAL_MEM_SIZE && local_memory_is_small)
		*(cl_ulong *)value = 16384;
	return rc;
}

enum { BUCKET = 2048, APART = 64 };

/* A group each for more buckets than one launch has groups.  The indices are distinct and come in descending order. */
static void many_buckets(void **state)
{
	const size_t n = (small || short_loops ? 3 : LAUNCH_GROUPS + 3) * (size_t)BUCKET / APART;
	int32_t *ind = malloc(n * 4), *out_ind = blank(n * 4 + 4);
	float *val = malloc(n * 4), *out_val = blank(n * 4 + 4);
	struct coalesce_source src = {
		.pairs = { .ind = ind, .rows = (const void *)val, .count = n, .form = { .bytes = 4 } }
	};
	struct coalesce job;
	struct coalesce_call call = { .dtype = CHOIR_F32,
		                      .op = CHOIR_OP_SUM,
		                      .width = 1,
		                      .raw = true,
		                      .n_ranks = 1,
		                      .src = &src,
		                      .n_src = 1,
		                      .range = { 0, (int64_t)n * APART - 1 } };

	(void)state;
	for (size_t i = 0; i < n; i++) {
		ind[i] = (int32_t)((n - 1 - i) * APART);
		val[i] = (float)(ind[i] / APART + 1);
	}
	local_memory_is_small = true;
	assert_int_equal(coalesce_init(&job, &call, device), CHOIR_SUCCESS);
	coalesce_case_run(&job, out_ind, (struct index_form){ .bytes = 4 }, out_val);
	local_memory_is_small = false;
	assert_string_equal(job.on_device->route->name, dev_is_cpu(device) ? "cells" : "sort");
	assert_int_equal(job.count, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(out_ind[i], i * APART);
		assert_true(out_val[i] == (float)(i + 1));
	}
	assert_int_equal(*(unsigned char *)(out_ind + n), SENTINEL);
	assert_int_equal(*(unsigned char *)(out_val + n), SENTINEL);
	coalesce_fini(&job);
	free(ind);
	free(val);
	free(out_ind);
	free(out_val);
}

/* A job given up half-way leaves nothing running. */
static void giving_up_is_safe(void **state)
{
	struct coalesce_shape shape = {
		.name = "given up", .n = small ? 50 : 5000, .width = 4, .range = 1000, .n_src = 1
	};
	struct reference_pairs in;
	struct coalesce_source src = { 0 };
	struct coalesce job;
	struct coalesce_call call = { .dtype = CHOIR_F32,
		                      .op = CHOIR_OP_SUM,
		                      .width = 4,
		                      .n_ranks = 1,
		                      .src = &src,
		                      .n_src = 1,
		                      .range = { 0, 999 } };
	bool done;

	(void)state;
	coalesce_case_make(&shape, CHOIR_F32, false, 3, &in);
	src.pairs = (struct pairs){ .ind = in.ind, .rows = in.val, .count = in.count, .form = { .bytes = 8 } };
	assert_int_equal(coalesce_init(&job, &call, device), CHOIR_SUCCESS);
	assert_int_equal(coalesce_count(&job, &done), CHOIR_SUCCESS);
	coalesce_fini(&job);
	reference_free(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_read_cl_mem),
		cmocka_unit_test(negative_indices_are_found),
		cmocka_unit_test(many_buckets),
		cmocka_unit_test(giving_up_is_safe),
	};

	return cmocka_run_group_tests(tests, open_device, close_device);
}
