/* SPDX-License-Identifier: MIT */
/* What dev_range refuses, and how ranges lie relative to each other. */
#include "dev_fixture.h"

#include <stdlib.h>
#include <string.h>

static cl_mem new_buffer(cl_mem_flags flags, size_t bytes, void *host)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(fixture_device), flags, bytes, host, &rc);

	assert_int_equal(rc, CL_SUCCESS);
	return mem;
}

static void test_range_of_memory(void **state)
{
	cl_mem mem = new_buffer(CL_MEM_READ_WRITE, 4096, NULL);

	(void)state;
	assert_ok(dev_range(fixture_device, "send", choir_mem(mem, 0), 4096, 8));
	assert_ok(dev_range(fixture_device, "send", choir_mem(mem, 4088), 8, 8));
	assert_ok(dev_range(fixture_device, "send", choir_mem(mem, 9999), 0, 8));
	assert_ok(dev_range(fixture_device, "send", choir_none(), 0, 8));
	assert_fails(dev_range(fixture_device, "send", choir_mem(mem, 0), 4097, 1), CHOIR_ARGUMENT,
	             "send buffer: a range of 4097 bytes");
	assert_fails(dev_range(fixture_device, "recv", choir_mem(mem, 4096), 1, 1), CHOIR_ARGUMENT, "recv buffer");
	assert_fails(dev_range(fixture_device, "send", choir_mem(mem, 4100), 1, 1), CHOIR_ARGUMENT, "does not fit");
	assert_fails(dev_range(fixture_device, "send", choir_mem(mem, 8), UINT64_MAX - 4, 1), CHOIR_ARGUMENT,
	             "does not fit");
	assert_fails(dev_range(fixture_device, "send", choir_mem(mem, SIZE_MAX), 8, 1), CHOIR_ARGUMENT, "does not fit");
	assert_fails(dev_range(fixture_device, "send", choir_mem(mem, 4), 8, 8), CHOIR_ARGUMENT,
	             "offset 4 is not a multiple");
	assert_fails(dev_range(fixture_device, "send", choir_mem(mem, 1), 2, 2), CHOIR_ARGUMENT, "not a multiple");
	assert_fails(dev_range(fixture_device, "send", choir_mem(NULL, 0), 1, 1), CHOIR_ARGUMENT, "null");
	assert_fails(dev_range(fixture_device, "send", choir_none(), 1, 1), CHOIR_ARGUMENT, "none is given");
	assert_fails(dev_range(fixture_device, "send", (choir_buffer){ .kind = 42, .base = mem }, 1, 1), CHOIR_ARGUMENT,
	             "42");
	clReleaseMemObject(mem);
}

static void test_range_of_pointers(void **state)
{
	double values[4] = { 0 };
	choir_buffer odd = choir_host((char *)values + 2), far = choir_host(values);

	(void)state;
	far.offset_bytes = SIZE_MAX - 64;
	assert_ok(dev_range(fixture_device, "send", choir_host(values), sizeof values, 8));
	assert_fails(dev_range(fixture_device, "send", odd, 8, 8), CHOIR_ARGUMENT, "not a multiple");
	assert_ok(dev_range(fixture_device, "send", odd, 8, 2));
	assert_fails(dev_range(fixture_device, "send", far, 8, 1), CHOIR_ARGUMENT, "address space");
	assert_fails(dev_range(fixture_device, "send", choir_host(values), UINT64_MAX, 1), CHOIR_ARGUMENT,
	             "address space");
	assert_fails(dev_range(fixture_device, "send", choir_host(NULL), 8, 1), CHOIR_ARGUMENT, "null");
}

/* Memory over a pointer that is not aligned to the element would be read misaligned. */
static void test_range_of_odd_host_memory(void **state)
{
	unsigned char *host = malloc(256);
	cl_mem mem = new_buffer(CL_MEM_USE_HOST_PTR, 128, host + 2);

	(void)state;
	assert_fails(dev_range(fixture_device, "send", choir_mem(mem, 0), 8, 8), CHOIR_ARGUMENT, "host pointer");
	assert_ok(dev_range(fixture_device, "send", choir_mem(mem, 0), 8, 2));
	clReleaseMemObject(mem);
	free(host);
}

static void test_foreign_context(void **state)
{
	cl_device_id id = choir_device_id(fixture_device);
	cl_int rc;
	cl_context other = clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
	cl_mem mem = clCreateBuffer(other, CL_MEM_READ_WRITE, 64, NULL, &rc);

	(void)state;
	assert_int_equal(rc, CL_SUCCESS);
	assert_fails(dev_range(fixture_device, "send", choir_mem(mem, 0), 64, 1), CHOIR_ARGUMENT, "another context");
	clReleaseMemObject(mem);
	clReleaseContext(other);
}

struct overlap_case {
	choir_buffer a;
	uint64_t a_bytes;
	choir_buffer b;
	uint64_t b_bytes;
	bool overlap, same;
	int64_t distance;
};

static void check_overlaps(const struct overlap_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct overlap_case *c = &cases[i];
		bool same;
		int64_t distance;
		bool overlap = dev_overlap(c->a, c->a_bytes, c->b, c->b_bytes, &same, &distance);

		if (overlap != c->overlap || same != c->same || distance != c->distance)
			fail_msg("case %zu: overlap %d same %d distance %lld", i, overlap, same, (long long)distance);
		overlap = dev_overlap(c->b, c->b_bytes, c->a, c->a_bytes, &same, &distance);
		if (overlap != c->overlap || same != c->same || distance != -c->distance)
			fail_msg("case %zu turned round: overlap %d same %d distance %lld", i, overlap, same,
			         (long long)distance);
		assert_int_equal(dev_overlap(c->a, c->a_bytes, c->b, c->b_bytes, NULL, NULL), c->overlap);
	}
}

static void test_overlap(void **state)
{
	unsigned char *host = NULL;
	assert_int_equal(posix_memalign((void **)&host, 4096, 16384), 0);
	cl_mem a = new_buffer(CL_MEM_READ_WRITE, 16384, NULL), b = new_buffer(CL_MEM_READ_WRITE, 16384, NULL);
	cl_mem over = new_buffer(CL_MEM_USE_HOST_PTR, 8192, host),
	       over_part = new_buffer(CL_MEM_USE_HOST_PTR, 4096, host + 4096);
	cl_int rc;
	cl_buffer_region first = { 0, 8192 }, second = { 4096, 8192 };
	cl_mem sub1 = clCreateSubBuffer(a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &first, &rc);
	cl_mem sub2 = clCreateSubBuffer(a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &second, &rc);
	cl_mem over_sub = clCreateSubBuffer(over, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
	                                    &(cl_buffer_region){ 4096, 4096 }, &rc);

	(void)state;
	assert_int_equal(rc, CL_SUCCESS);
	const struct overlap_case cases[] = {
		{ choir_mem(a, 0), 100, choir_mem(a, 0), 100, true, true, 0 },
		{ choir_mem(a, 0), 100, choir_mem(a, 0), 1, true, true, 0 },
		{ choir_mem(a, 0), 100, choir_mem(a, 99), 1, true, false, 99 },
		{ choir_mem(a, 0), 100, choir_mem(a, 100), 1, false, false, 100 },
		{ choir_mem(a, 0), 100, choir_mem(b, 0), 100, false, false, 0 },
		{ choir_mem(a, 0), 0, choir_mem(a, 0), 100, false, false, 0 },
		{ choir_mem(a, 50), 0, choir_mem(a, 0), 100, false, false, 0 },
		{ choir_mem(sub1, 4096), 8, choir_mem(sub2, 0), 8, true, true, 0 },
		{ choir_mem(sub1, 0), 4096, choir_mem(sub2, 0), 4096, false, false, 4096 },
		{ choir_mem(sub1, 0), 4097, choir_mem(sub2, 0), 4096, true, false, 4096 },
		{ choir_mem(sub2, 4), 4, choir_mem(a, 4100), 4, true, true, 0 },
		{ choir_host(host), 100, choir_host(host + 99), 1, true, false, 99 },
		{ choir_host(host), 100, choir_host(host + 100), 1, false, false, 100 },
		{ choir_host(host + 8), 8, choir_mem(over, 8), 8, true, true, 0 },
		{ choir_mem(over, 4096), 8, choir_mem(over_part, 0), 8, true, true, 0 },
		{ choir_mem(over_sub, 0), 8, choir_mem(over_part, 8), 8, false, false, 8 },
		{ choir_mem(over_sub, 0), 9, choir_host(host + 4104), 8, true, false, 8 },
		{ choir_host(host), UINT64_MAX, choir_host(host + 5), UINT64_MAX, true, false, 5 },
		{ choir_none(), 8, choir_none(), 8, false, false, 0 },
		{ choir_none(), 8, choir_host(host), 8, false, false, 0 },
		{ choir_mem(NULL, 0), 8, choir_mem(a, 0), 8, false, false, 0 },
	};
	check_overlaps(cases, sizeof cases / sizeof *cases);
	clReleaseMemObject(over_sub);
	clReleaseMemObject(sub1);
	clReleaseMemObject(sub2);
	clReleaseMemObject(a);
	clReleaseMemObject(b);
	clReleaseMemObject(over);
	clReleaseMemObject(over_part);
	free(host);
}

const struct CMUnitTest range_tests[] = {
	cmocka_unit_test(test_range_of_memory),
	cmocka_unit_test(test_range_of_pointers),
	cmocka_unit_test(test_range_of_odd_host_memory),
	cmocka_unit_test(test_foreign_context),
	cmocka_unit_test(test_overlap),
};
const size_t n_range_tests = sizeof range_tests / sizeof *range_tests;
