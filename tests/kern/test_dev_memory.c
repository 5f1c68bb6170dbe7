/* SPDX-License-Identifier: MIT */
/* Every class reaches every kind of memory, both ways, byte for byte. */
#include "dev_fixture.h"

#include "look.h"

#include <stdlib.h>
#include <string.h>

#define SIZE  100003
#define AT    1001
#define BYTES 70001

static const choir_memory_class classes[] = { CHOIR_CLASS_DIRECT, CHOIR_CLASS_MAP, CHOIR_CLASS_STAGE };

/* Device -> host -> device over a range inside the buffer; the bytes around it stay. */
static void round_trip(choir_device *device, cl_mem mem, size_t at, size_t bytes, size_t size)
{
	unsigned char *all = malloc(size), *seen = malloc(size);
	struct dev_access read, write;

	assert_true(all != NULL && seen != NULL);
	fixture_pattern(all, size, 1);
	fixture_poke(mem, all, size);
	assert_ok(dev_range(device, "send", choir_mem(mem, at), bytes, 1));
	assert_ok(dev_resolve(device, choir_mem(mem, at), bytes, false, &read));
	assert_ptr_equal(read.mem, mem);
	fixture_get(device, &read, seen);
	assert_memory_equal(seen, all + at, bytes);

	fixture_pattern(all + at, bytes, 2);
	assert_ok(dev_resolve(device, choir_mem(mem, at), bytes, true, &write));
	fixture_put(device, &write, all + at);
	fixture_peek(mem, seen, size);
	assert_memory_equal(seen, all, size);
	free(all);
	free(seen);
}

static void test_classes(void **state)
{
	static const cl_mem_flags flags[] = {
		CL_MEM_READ_WRITE,
		CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
		CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
		CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS,
		CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY,
		CL_MEM_READ_WRITE | CL_MEM_HOST_WRITE_ONLY,
		CL_MEM_READ_ONLY,
		CL_MEM_WRITE_ONLY,
	};

	(void)state;
	for (size_t c = 0; c < 3; c++) {
		choir_device *device = fixture_device_of(classes[c]);

		for (size_t f = 0; device != NULL && f < sizeof flags / sizeof *flags; f++) {
			cl_int rc;
			void *host = flags[f] & CL_MEM_USE_HOST_PTR ? malloc(SIZE) : NULL;
			cl_mem mem = clCreateBuffer(choir_device_context(device), flags[f], SIZE, host, &rc);

			assert_int_equal(rc, CL_SUCCESS);
			round_trip(device, mem, AT, BYTES, SIZE);
			round_trip(device, mem, 0, SIZE, SIZE);
			round_trip(device, mem, SIZE - 1, 1, SIZE);
			clReleaseMemObject(mem);
			free(host);
		}
		choir_device_destroy(device);
	}
}

/* What the class says about plain buffers, host pointers, restricted buffers and nothing. */
static void test_ways(void **state)
{
	unsigned char host[64];
	cl_int rc;

	(void)state;
	for (size_t c = 0; c < 3; c++) {
		choir_device *device = fixture_device_of(classes[c]);
		struct dev_access access;

		if (device == NULL)
			continue;
		cl_mem plain = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, 64, NULL, &rc);
		cl_mem closed = clCreateBuffer(choir_device_context(device), CL_MEM_HOST_NO_ACCESS, 64, NULL, &rc);
		assert_ok(dev_resolve(device, choir_mem(plain, 4), 60, true, &access));
		assert_int_equal(access.direct, classes[c] == CHOIR_CLASS_DIRECT);
		assert_int_equal(access.stage, classes[c] == CHOIR_CLASS_STAGE);
		assert_int_equal(dev_needs_map(&access), classes[c] == CHOIR_CLASS_MAP);
		if (!access.direct && !access.stage)
			assert_fails(dev_unmap(device, &access, NULL), CHOIR_ARGUMENT, "not mapped");
		else
			assert_fails(dev_map(device, &access, NULL), CHOIR_ARGUMENT, "without a map");
		assert_ok(dev_resolve(device, choir_mem(closed, 0), 64, false, &access));
		assert_true(access.stage && !access.direct);
		assert_ok(dev_resolve(device, choir_host(host), 64, true, &access));
		assert_true(access.direct && access.ptr == host);
		assert_fails(dev_read(device, &access, 0, host, 1, NULL), CHOIR_ARGUMENT, "directly");
		assert_ok(dev_resolve(device, choir_none(), 0, true, &access));
		assert_true(access.direct && access.ptr == NULL && !dev_needs_map(&access));
		clReleaseMemObject(plain);
		clReleaseMemObject(closed);
		choir_device_destroy(device);
	}
}

/* A copy may write what kernels may not. */
static void test_what_kernels_may(void **state)
{
	static const struct {
		cl_mem_flags flags;
		bool reads, writes;
	} cases[] = {
		{ CL_MEM_READ_WRITE, true, true },
		{ CL_MEM_READ_ONLY, true, false },
		{ CL_MEM_WRITE_ONLY, false, false },
		{ CL_MEM_READ_ONLY | CL_MEM_HOST_NO_ACCESS, true, false },
	};

	(void)state;
	for (size_t c = 0; c < 3; c++) {
		choir_device *device = fixture_device_of(classes[c]);

		for (size_t i = 0; device != NULL && i < sizeof cases / sizeof *cases; i++) {
			struct dev_access access;
			cl_int rc;
			cl_mem mem = clCreateBuffer(choir_device_context(device), cases[i].flags, 64, NULL, &rc);

			assert_int_equal(rc, CL_SUCCESS);
			assert_ok(dev_resolve(device, choir_mem(mem, 0), 64, false, &access));
			assert_int_equal(dev_kernels_may(&access), cases[i].reads);
			assert_int_equal(dev_is_on_device(&access), access.stage && cases[i].reads);
			assert_ok(dev_resolve(device, choir_mem(mem, 0), 64, true, &access));
			assert_int_equal(dev_kernels_may(&access), cases[i].writes);
			assert_int_equal(dev_is_on_device(&access), access.stage && cases[i].writes);
			clReleaseMemObject(mem);
		}
		choir_device_destroy(device);
	}
}

static void test_copy_limits(void **state)
{
	cl_mem mem;
	unsigned char byte = 0;
	cl_event event = NULL;

	(void)state;
	assert_ok(dev_buffer_create(fixture_device, 100, &mem));
	struct dev_access access = dev_buffer_access(mem, 10, 20);
	assert_fails(dev_read(fixture_device, &access, 20, &byte, 1, NULL), CHOIR_ARGUMENT, "outside");
	assert_fails(dev_write(fixture_device, &access, 21, &byte, 1, NULL), CHOIR_ARGUMENT, "outside");
	assert_fails(dev_write(fixture_device, &access, UINT64_MAX, &byte, 2, NULL), CHOIR_ARGUMENT, "outside");
	assert_ok(dev_read(fixture_device, &access, 20, NULL, 0, &event)); /* nothing, but with an event */
	assert_ok(dev_wait(&event));
	assert_null(event);
	assert_ok(dev_wait(&event));
	dev_buffer_free(mem);
	dev_buffer_free(NULL);
}

static void test_svm(void **state)
{
	cl_device_svm_capabilities svm = fixture_device->facts.svm;

	(void)state;
	if (svm == 0) {
		unsigned char byte = 0;

		assert_fails(dev_range(fixture_device, "send", choir_svm(&byte), 1, 1), CHOIR_UNSUPPORTED,
		             "shared virtual memory");
		skip();
	}
	for (size_t c = 0; c < 3; c++) {
		choir_device *device = fixture_device_of(classes[c]);

		for (int fine = 0; device != NULL && fine < 2; fine++) {
			unsigned char *seen = malloc(SIZE), *want = malloc(SIZE), *svm_ptr;
			choir_buffer buffer;
			struct dev_access access;

			svm_ptr = clSVMAlloc(choir_device_context(device),
			                     CL_MEM_READ_WRITE | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0), SIZE, 0);
			if (svm_ptr == NULL && fine)
				svm_ptr = clSVMAlloc(choir_device_context(device), CL_MEM_READ_WRITE, SIZE, 0);
			assert_true(svm_ptr != NULL && seen != NULL && want != NULL);
			buffer = choir_svm(svm_ptr);
			buffer.offset_bytes = AT;
			fixture_pattern(want, BYTES, 5);
			assert_ok(dev_range(device, "recv", buffer, BYTES, 1));
			assert_ok(dev_resolve(device, buffer, BYTES, true, &access));
			fixture_put(device, &access, want);
			memset(seen, 0, BYTES);
			assert_int_equal(
			    clEnqueueSVMMemcpy(dev_queue(device), CL_FALSE, seen, svm_ptr + AT, BYTES, 0, NULL, NULL),
			    CL_SUCCESS);
			assert_int_equal(clFinish(dev_queue(device)), CL_SUCCESS);
			assert_memory_equal(seen, want, BYTES);
			fixture_pattern(want, BYTES, 6);
			assert_int_equal(
			    clEnqueueSVMMemcpy(dev_queue(device), CL_FALSE, svm_ptr + AT, want, BYTES, 0, NULL, NULL),
			    CL_SUCCESS);
			assert_int_equal(clFinish(dev_queue(device)), CL_SUCCESS);
			fixture_get(device, &access, seen);
			assert_memory_equal(seen, want, BYTES);
			clSVMFree(choir_device_context(device), svm_ptr);
			free(seen);
			free(want);
		}
		choir_device_destroy(device);
	}
}

static cl_platform_id platform_of(choir_device *device)
{
	cl_platform_id platform;

	assert_int_equal(clGetDeviceInfo(choir_device_id(device), CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL),
	                 CL_SUCCESS);
	return platform;
}

/* One allocation of that kind, both ways, through the device's own copy as the witness. */
static void usm_round_trip(unsigned char *usm, bool direct)
{
	choir_device *device = fixture_device;
	unsigned char *seen = calloc(1, BYTES), *want = malloc(BYTES);
	choir_buffer buffer = choir_usm(usm);
	struct dev_access access;

	assert_true(usm != NULL && seen != NULL && want != NULL);
	buffer.offset_bytes = AT;
	assert_ok(dev_range(device, "recv", buffer, BYTES, 1));
	assert_fails(dev_range(device, "recv", buffer, SIZE, 1), CHOIR_ARGUMENT, "does not fit");
	assert_ok(dev_resolve(device, buffer, BYTES, true, &access));
	assert_int_equal(access.direct, direct);
	assert_int_equal(access.stage, !direct);
	fixture_pattern(want, BYTES, 7);
	fixture_put(device, &access, want);
	assert_int_equal(device->usm.copy(dev_queue(device), CL_TRUE, seen, usm + AT, BYTES, 0, NULL, NULL),
	                 CL_SUCCESS);
	assert_memory_equal(seen, want, BYTES);
	memset(seen, 0, BYTES);
	fixture_get(device, &access, seen);
	assert_memory_equal(seen, want, BYTES);
	free(seen);
	free(want);
}

static void test_usm(void **state)
{
	cl_context context = choir_device_context(fixture_device);
	cl_device_id id = choir_device_id(fixture_device);
	unsigned char byte = 0;
	cl_int rc;

	(void)state;
	if (fixture_device->usm.info == NULL) {
		assert_fails(dev_range(fixture_device, "send", choir_usm(&byte), 1, 1), CHOIR_UNSUPPORTED,
		             "unified_shared_memory");
		assert_fails(dev_resolve(fixture_device, choir_usm(&byte), 1, false, &(struct dev_access){ 0 }),
		             CHOIR_UNSUPPORTED, "does not support");
		skip();
	}
	cl_platform_id platform = platform_of(fixture_device);
	clHostMemAllocINTEL_fn host_alloc =
	    (clHostMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clHostMemAllocINTEL");
	clDeviceMemAllocINTEL_fn device_alloc =
	    (clDeviceMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clDeviceMemAllocINTEL");
	clSharedMemAllocINTEL_fn shared_alloc =
	    (clSharedMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clSharedMemAllocINTEL");
	clMemFreeINTEL_fn usm_free =
	    (clMemFreeINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clMemFreeINTEL");

	unsigned char *host = host_alloc(context, NULL, SIZE, 0, &rc);
	unsigned char *shared = shared_alloc(context, id, NULL, SIZE, 0, &rc);
	unsigned char *device = device_alloc(context, id, NULL, SIZE, 0, &rc);
	usm_round_trip(host, true);
	usm_round_trip(shared, true);
	usm_round_trip(device, false);
	assert_fails(dev_range(fixture_device, "send", choir_usm(&byte), 1, 1), CHOIR_ARGUMENT,
	             "no unified shared memory");
	usm_free(context, host);
	usm_free(context, shared);
	usm_free(context, device);
}

/* Host memory of ours: what is in it is what the device sees, by the way that its class offers. */
static void test_memory_create(void **state)
{
	(void)state;
	for (size_t c = 0; c < 3; c++) {
		choir_device *device = fixture_device_of(classes[c]);
		struct dev_memory memory;
		cl_mem far;
		cl_event event;

		if (device == NULL)
			continue;
		assert_ok(dev_memory_create(device, BYTES, &memory));
		assert_int_equal(memory.bytes, BYTES);
		assert_true((uintptr_t)memory.ptr % 64 == 0 && !memory.foreign);
		assert_int_equal(memory.pinned != NULL, classes[c] == CHOIR_CLASS_STAGE);
		assert_ok(dev_buffer_create(device, BYTES, &far));
		struct dev_access access = dev_buffer_access(far, 0, BYTES);
		fixture_pattern(memory.ptr, BYTES, 8);
		assert_ok(dev_write(device, &access, 0, memory.ptr, BYTES, NULL));
		unsigned char *want = malloc(BYTES), *seen = malloc(BYTES);
		memcpy(want, memory.ptr, BYTES);
		assert_ok(dev_marker(dev_queue(device), &event));
		assert_ok(dev_wait(&event));
		memset(memory.ptr, 0, BYTES);
		assert_ok(dev_read(device, &access, 0, memory.ptr, BYTES, &event));
		assert_ok(dev_wait(&event));
		assert_memory_equal(memory.ptr, want, BYTES);
		if (memory.mem != NULL) {
			fixture_peek(memory.mem, seen, BYTES);
			assert_memory_equal(seen, want, BYTES);
		}
		free(want);
		free(seen);
		dev_buffer_free(far);
		dev_memory_free(device, &memory);
		dev_memory_free(device, &memory);
		choir_device_destroy(device);
	}
}

static void test_memory_wrap(void **state)
{
	struct dev_memory memory;
	unsigned char *page, seen[8192];

	(void)state;
	assert_int_equal(posix_memalign((void **)&page, 4096, 8192), 0);
	assert_ok(dev_memory_wrap(fixture_device, page, 8192, &memory));
	assert_true(memory.foreign && memory.ptr == page);
	assert_int_equal(memory.mem != NULL, dev_is_cpu(fixture_device));
	if (memory.mem != NULL) { /* coherent both ways, without a map */
		fixture_pattern(page, 8192, 3);
		fixture_peek(memory.mem, seen, 8192);
		assert_memory_equal(seen, page, 8192);
		fixture_pattern(seen, 8192, 4);
		fixture_poke(memory.mem, seen, 8192);
		assert_memory_equal(seen, page, 8192);
	}
	dev_memory_free(fixture_device, &memory);
	page[0] = 1; /* still ours */
	assert_ok(dev_memory_wrap(fixture_device, page + 64, 4096, &memory));
	assert_null(memory.mem);
	assert_ok(dev_memory_wrap(fixture_device, page, 100, &memory));
	assert_null(memory.mem);
	free(page);
}

static void set_flag(void *ctx)
{
	atomic_store((atomic_int *)ctx, 1);
}

static void test_events(void **state)
{
	atomic_int rung = 0;
	cl_event event;
	bool done = false;

	(void)state;
	assert_ok(dev_marker(dev_queue(fixture_device), &event));
	assert_ok(dev_watch(event, set_flag, &rung));
	for (; !done; look_again(done))
		assert_ok(dev_poll(event, &done));
	while (atomic_load(&rung) == 0)
		;
	assert_ok(dev_wait(&event));
	event = clCreateUserEvent(choir_device_context(fixture_device), NULL);
	assert_ok(dev_poll(event, &done));
	assert_false(done);
	clSetUserEventStatus(event, CL_COMPLETE);
	assert_ok(dev_poll(event, &done));
	assert_true(done);
	clReleaseEvent(event);
}

const struct CMUnitTest memory_tests[] = {
	cmocka_unit_test(test_classes),          cmocka_unit_test(test_ways),        cmocka_unit_test(test_copy_limits),
	cmocka_unit_test(test_what_kernels_may), cmocka_unit_test(test_svm),         cmocka_unit_test(test_usm),
	cmocka_unit_test(test_memory_create),    cmocka_unit_test(test_memory_wrap), cmocka_unit_test(test_events),
};
const size_t n_memory_tests = sizeof memory_tests / sizeof *memory_tests;
