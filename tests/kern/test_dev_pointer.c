/* SPDX-License-Identifier: MIT */
/* The cache of mapped pointers, on devices of class direct. */
#include "dev_fixture.h"

#include "base/wait.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 65536

static choir_device *direct_device(void)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_DIRECT);

	if (device == NULL)
		skip();
	return device;
}

static cl_mem new_buffer(choir_device *device, size_t bytes)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, bytes, NULL, &rc);

	assert_int_equal(rc, CL_SUCCESS);
	return mem;
}

static unsigned char *pointer_of(choir_device *device, cl_mem mem, size_t offset)
{
	struct dev_access access;

	assert_ok(dev_resolve(device, choir_mem(mem, offset), 64, true, &access));
	assert_true(access.direct);
	return access.ptr;
}

/* A driver may keep a released memory for as long as commands on it take to be forgotten. */
static void assert_cached(choir_device *device, size_t n)
{
	enum { LONGEST_MS = 20000, REST_US = 1000 };
	int64_t end = wait_end_ns(LONGEST_MS);

	while (pointer_cache_count(device->pointers) > n && wait_now_ns() < end)
		wait_sleep_us(REST_US);
	assert_int_equal(pointer_cache_count(device->pointers), n);
}

static void test_once_per_memory(void **state)
{
	choir_device *device = direct_device();
	cl_mem a = new_buffer(device, SIZE), b = new_buffer(device, SIZE);

	(void)state;
	assert_cached(device, 0);
	unsigned char *ptr = pointer_of(device, a, 0);
	assert_ptr_equal(pointer_of(device, a, 128), ptr + 128);
	assert_cached(device, 1);
	assert_ptr_not_equal(pointer_of(device, b, 0), ptr);
	assert_cached(device, 2);
	clReleaseMemObject(a);
	assert_cached(device, 1);
	clReleaseMemObject(b);
	assert_cached(device, 0);
	choir_device_destroy(device);
}

/* Handles come again with other memory behind them: a stale pointer would put the bytes elsewhere.  Kept buffers in
 * between make the allocator move. */
static void test_handles_reused(void **state)
{
	enum { ROUNDS = 60, KEPT = ROUNDS / 3 };
	choir_device *device = direct_device();
	cl_mem last = NULL, kept[KEPT];
	unsigned char want[64], *seen = malloc(SIZE * 2);
	int reused = 0, n_kept = 0;

	(void)state;
	assert_non_null(seen);
	for (int i = 0; i < ROUNDS; i++) {
		size_t bytes = i % 2 == 0 ? SIZE : SIZE * 2;
		cl_mem mem = new_buffer(device, bytes);

		reused += mem == last;
		fixture_pattern(want, sizeof want, (unsigned)i);
		memcpy(pointer_of(device, mem, 256), want, sizeof want);
		fixture_peek(mem, seen, bytes);
		assert_memory_equal(seen + 256, want, sizeof want);
		last = mem;
		if (i % 3 == 2)
			kept[n_kept++] = mem;
		else
			clReleaseMemObject(mem);
	}
	assert_cached(device, (size_t)n_kept);
	print_message("%d of %d handles came again at once\n", reused, ROUNDS);
	for (int i = 0; i < n_kept; i++)
		clReleaseMemObject(kept[i]);
	free(seen);
	choir_device_destroy(device);
}

/* The destructor callback of a memory that outlives the device touches nothing that is gone (a sanitizer would
 * tell). */
static void test_memory_outlives_device(void **state)
{
	choir_device *device = direct_device();
	cl_mem mem = new_buffer(device, SIZE);

	(void)state;
	pointer_of(device, mem, 0);
	choir_device_destroy(device);
	clReleaseMemObject(mem);
}

static void test_sub_buffers(void **state)
{
	choir_device *device = direct_device();
	cl_mem parent = new_buffer(device, SIZE);
	cl_buffer_region region = { 4096, 8192 };
	cl_int rc;
	cl_mem sub = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
	unsigned char *seen = malloc(SIZE);

	(void)state;
	assert_int_equal(rc, CL_SUCCESS);
	unsigned char *ptr = pointer_of(device, parent, 0);
	assert_ptr_equal(pointer_of(device, sub, 0), ptr + 4096);
	assert_cached(device, 2);
	fixture_pattern(pointer_of(device, sub, 100), 64, 9);
	fixture_peek(parent, seen, SIZE);
	assert_memory_equal(seen + 4196, ptr + 4196, 64);
	clReleaseMemObject(sub);
	assert_cached(device, 1);
	clReleaseMemObject(parent);
	free(seen);
	choir_device_destroy(device);
}

struct shared {
	choir_device *device;
	cl_mem mem[8];
	unsigned char *ptr[8];
	atomic_int wrong;
};

static void *resolve_many(void *ctx)
{
	struct shared *shared = ctx;

	for (int i = 0; i < 400; i++) {
		cl_mem own = NULL;
		struct dev_access access;
		cl_int rc;

		if (dev_resolve(shared->device, choir_mem(shared->mem[i % 8], 0), 64, false, &access) !=
		        CHOIR_SUCCESS ||
		    access.ptr != shared->ptr[i % 8])
			atomic_fetch_add(&shared->wrong, 1);
		own = clCreateBuffer(choir_device_context(shared->device), CL_MEM_READ_WRITE, 4096, NULL, &rc);
		if (rc != CL_SUCCESS ||
		    dev_resolve(shared->device, choir_mem(own, 0), 64, true, &access) != CHOIR_SUCCESS)
			atomic_fetch_add(&shared->wrong, 1);
		else
			memset(access.ptr, i, 64);
		clReleaseMemObject(own);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct shared shared = { .device = direct_device() };
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 8; i++) {
		choir_device *other = fixture_device_of(CHOIR_CLASS_DIRECT);

		shared.mem[i] = new_buffer(shared.device, 4096);
		shared.ptr[i] = pointer_of(other, shared.mem[i], 0); /* not cached in the shared device yet */
		choir_device_destroy(other);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, resolve_many, &shared), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(shared.wrong, 0);
	assert_cached(shared.device, 8);
	for (int i = 0; i < 8; i++)
		clReleaseMemObject(shared.mem[i]);
	choir_device_destroy(shared.device);
}

const struct CMUnitTest pointer_tests[] = {
	cmocka_unit_test(test_once_per_memory),
	cmocka_unit_test(test_handles_reused),
	cmocka_unit_test(test_memory_outlives_device),
	cmocka_unit_test(test_sub_buffers),
	cmocka_unit_test(test_threads),
};
const size_t n_pointer_tests = sizeof pointer_tests / sizeof *pointer_tests;
