/* SPDX-License-Identifier: MIT */
/* An OpenCL call fails when others have been enqueued: these end before their memory goes. */
#include "dev/device_impl.h"
#include "exec/commit.h"
#include "exec/segments.h"
#include "look.h"
#include "sparse/coalesce_kernel.h"
#include "world/memory.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 4096, NEVER = 1000 };

/* Ranks that are threads share these. */
static _Atomic int good_copies = NEVER, good_markers = NEVER; /* until all fail */
static _Atomic int under_way;                                 /* copies whose end nobody has awaited */

static bool fails(_Atomic int *good)
{
	return *good == 0 || (*good)-- == 0;
}

cl_int __real_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event);

cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event)
{
	if (fails(&good_copies))
		return CL_OUT_OF_RESOURCES;
	under_way++;
	return __real_clEnqueueWriteBuffer(queue, mem, blocks, off, bytes, from, n, list, event);
}

cl_int __real_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off, size_t to_off,
                                  size_t bytes, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off, size_t to_off,
                                  size_t bytes, cl_uint n, const cl_event *list, cl_event *event);

cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off, size_t to_off,
                                  size_t bytes, cl_uint n, const cl_event *list, cl_event *event)
{
	if (fails(&good_copies))
		return CL_OUT_OF_RESOURCES;
	under_way++;
	return __real_clEnqueueCopyBuffer(queue, from, to, from_off, to_off, bytes, n, list, event);
}

cl_int __real_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event);

cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event)
{
	return fails(&good_markers) ? CL_OUT_OF_RESOURCES : __real_clEnqueueMarkerWithWaitList(queue, n, list, event);
}

/* All that these tests do is on one queue. */
cl_int __real_clWaitForEvents(cl_uint n, const cl_event *events);
cl_int __wrap_clWaitForEvents(cl_uint n, const cl_event *events);

cl_int __wrap_clWaitForEvents(cl_uint n, const cl_event *events)
{
	under_way = 0;
	return __real_clWaitForEvents(n, events);
}

cl_int __real_clFinish(cl_command_queue queue);
cl_int __wrap_clFinish(cl_command_queue queue);

cl_int __wrap_clFinish(cl_command_queue queue)
{
	under_way = 0;
	return __real_clFinish(queue);
}

static _Atomic cl_mem stuck, other; /* unmaps of stuck fail */
static _Atomic int unmaps_of_other;

cl_int __real_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *ptr, cl_uint n, const cl_event *list,
                                      cl_event *event);
cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *ptr, cl_uint n, const cl_event *list,
                                      cl_event *event);

cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *ptr, cl_uint n, const cl_event *list,
                                      cl_event *event)
{
	unmaps_of_other += mem == other;
	if (mem == stuck && mem != NULL)
		return CL_OUT_OF_RESOURCES;
	return __real_clEnqueueUnmapMemObject(queue, mem, ptr, n, list, event);
}

static _Atomic int wraps; /* of host memory, which fail while they are counted */
static bool wraps_fail;

choir_status __real_dev_memory_wrap(choir_device *of, void *ptr, uint64_t bytes, struct dev_memory *out);
choir_status __wrap_dev_memory_wrap(choir_device *of, void *ptr, uint64_t bytes, struct dev_memory *out);

choir_status __wrap_dev_memory_wrap(choir_device *of, void *ptr, uint64_t bytes, struct dev_memory *out)
{
	if (!wraps_fail)
		return __real_dev_memory_wrap(of, ptr, bytes, out);
	wraps++;
	return error_cl("clCreateBuffer", CL_OUT_OF_RESOURCES);
}

static choir_device *device; /* of class stage */

static int set_up(void **state)
{
	(void)state;
	device = world_far_device(CHOIR_REDUCE_HOST);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	good_copies = good_markers = NEVER;
	under_way = 0;
	return 0;
}

static cl_mem memory(cl_mem_flags flags)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(device), flags, BYTES, NULL, &rc);

	assert_int_equal(rc, CL_SUCCESS);
	return mem;
}

/* A command that fails says why, and memory that is short is NO_MEMORY. */
static void test_why(void **state)
{
	cl_event event = clCreateUserEvent(choir_device_context(device), NULL);

	(void)state;
	assert_non_null(event);
	assert_int_equal(clSetUserEventStatus(event, CL_MEM_OBJECT_ALLOCATION_FAILURE), CL_SUCCESS);
	assert_int_equal(dev_wait(&event), CHOIR_NO_MEMORY);
	assert_non_null(strstr(choir_last_error(), "CL_MEM_OBJECT_ALLOCATION_FAILURE"));
	assert_null(event);
}

static bool maps_fail;

void *__real_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc);
void *__wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc);

void *__wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc)
{
	if (!maps_fail)
		return __real_clEnqueueMapBuffer(queue, mem, blocks, flags, off, bytes, n, list, event, rc);
	*rc = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return NULL;
}

/* A buffer that its driver makes only now, and has no memory for. */
static void test_no_pointer(void **state)
{
	choir_device *direct = world_device();
	choir_comm *comm;
	cl_mem mem;

	(void)state;
	if (direct->memory_class != CHOIR_CLASS_DIRECT) {
		print_message("skipped: this device's memory is not reached directly\n");
		return;
	}
	mem = clCreateBuffer(choir_device_context(direct), CL_MEM_READ_WRITE, BYTES, NULL, NULL);
	assert_non_null(mem);
	assert_int_equal(choir_comm_create_local(1, &direct, NULL, &comm), CHOIR_SUCCESS);
	maps_fail = true;
	assert_int_equal(
	    choir_allreduce(comm, choir_mem(mem, 0), choir_mem(mem, 0), BYTES / 4, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL),
	    CHOIR_NO_MEMORY);
	maps_fail = false;
	assert_non_null(strstr(choir_last_error(), "choir_allreduce"));
	choir_comm_destroy(comm);
	clReleaseMemObject(mem);
}

static void test_results_marker(void **state)
{
	cl_mem mem = memory(CL_MEM_READ_WRITE);
	struct commit *commit;
	choir_buffer stage;

	(void)state;
	assert_int_equal(commit_create(device, 1, BYTES, &commit), CHOIR_SUCCESS);
	assert_int_equal(commit_add(commit, choir_mem(mem, 0), BYTES, &stage), CHOIR_SUCCESS);
	memset(stage.base, 1, BYTES);
	good_markers = 0;
	assert_int_equal(commit_write(commit), CHOIR_OPENCL);
	assert_int_equal(under_way, 0);
	commit_release(commit);
	clReleaseMemObject(mem);
}

/* Results on the host are copied once those on the device are there. */
static void test_results_copy(void **state)
{
	unsigned char host[BYTES] = { 0 }, before[BYTES] = { 0 };
	cl_mem mem[2] = { memory(CL_MEM_READ_WRITE), memory(CL_MEM_READ_WRITE) };
	choir_buffer stage[3];
	struct commit *commit;

	(void)state;
	assert_int_equal(commit_create(device, 3, 3 * BYTES, &commit), CHOIR_SUCCESS);
	assert_int_equal(commit_add(commit, choir_host(host), BYTES, &stage[0]), CHOIR_SUCCESS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(commit_add(commit, choir_mem(mem[i], 0), BYTES, &stage[1 + i]), CHOIR_SUCCESS);
	for (int i = 0; i < 3; i++)
		memset(stage[i].base, 1, BYTES);
	good_copies = 1;
	assert_int_equal(commit_write(commit), CHOIR_OPENCL);
	assert_int_equal(under_way, 0);
	assert_memory_equal(host, before, BYTES);
	good_copies = NEVER;
	assert_int_equal(commit_write(commit), CHOIR_SUCCESS);
	assert_memory_equal(host, stage[0].base, BYTES);
	commit_release(commit);
	for (int i = 0; i < 2; i++)
		clReleaseMemObject(mem[i]);
}

static void test_list(void **state)
{
	cl_mem mem = memory(CL_MEM_READ_WRITE);
	unsigned char from[BYTES] = { 0 };
	struct dev_access access = dev_buffer_access(mem, 0, BYTES);
	struct segment items[] = { { .bytes = BYTES, .access = &access }, { .from = BYTES } };
	struct segments list = { .items = items, .n = 1 };
	cl_event event = NULL;

	(void)state;
	good_markers = 0;
	assert_int_equal(segments_write(device, &list, 0, from, BYTES, &event), CHOIR_OPENCL);
	assert_int_equal(under_way, 0);
	clReleaseMemObject(mem);
}

/* Flags keep the host out: the bytes go through a second buffer. */
static void test_second_buffer(void **state)
{
	cl_mem mem = memory(CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS);
	unsigned char from[BYTES] = { 0 };
	struct dev_access access;
	cl_event event = NULL;

	(void)state;
	assert_int_equal(dev_resolve(device, choir_mem(mem, 0), BYTES, true, &access), CHOIR_SUCCESS);
	good_copies = 1;
	assert_int_equal(dev_write(device, &access, 0, from, BYTES, &event), CHOIR_OPENCL);
	assert_int_equal(under_way, 0);
	clReleaseMemObject(mem);
}

/* The rows of two lists on the device are joined before they are folded. */
static void test_coalescing(void **state)
{
	struct coalesce_source src[2];
	struct coalesce_call call = { .dtype = CHOIR_F32,
		                      .op = CHOIR_OP_SUM,
		                      .width = 2,
		                      .raw = true,
		                      .n_ranks = 1,
		                      .src = src,
		                      .n_src = 2,
		                      .range = { 0, 1 << 30 } };
	struct coalesce job;
	choir_status st = CHOIR_SUCCESS;
	bool done = false;

	(void)state;
	for (int s = 0; s < 2; s++)
		src[s] = (struct coalesce_source){ .ind_mem = memory(CL_MEM_READ_WRITE),
			                           .val_mem = memory(CL_MEM_READ_WRITE),
			                           .pairs = { .count = BYTES / 8, .form = { .bytes = 4 } } };
	assert_int_equal(coalesce_init(&job, &call, device), CHOIR_SUCCESS);
	assert_string_equal(job.on_device->route->name, "sort");
	good_copies = 1;
	for (; st == CHOIR_SUCCESS && !done; look_again(done))
		st = coalesce_count(&job, &done);
	if (st == CHOIR_SUCCESS)
		st = coalesce_fill_kept(&job, (struct index_form){ .bytes = 4 }, &done);
	assert_int_equal(st, CHOIR_OPENCL);
	coalesce_fini(&job);
	assert_int_equal(under_way, 0);
	for (int s = 0; s < 2; s++) {
		clReleaseMemObject(src[s].ind_mem);
		clReleaseMemObject(src[s].val_mem);
	}
}

/* RECV is unmapped, once, whatever becomes of SEND. */
static void one_unmap_fails(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { COUNT = 1 << 20 };
	struct memory send, recv;
	choir_status st;

	(void)arg;
	CHECK(memory_make(&send, world->device, true, COUNT * sizeof(float), 4) &&
	      memory_make(&recv, world->device, true, COUNT * sizeof(float), 4));
	memset(memory_payload(&send), 0, COUNT * sizeof(float));
	memory_push(&send);
	if (rank == 0) {
		stuck = send.mem;
		other = recv.mem;
	}
	st = choir_allreduce(comm, send.buffer, recv.buffer, COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
	CHECK(rank != 0 || (st == CHOIR_OPENCL && unmaps_of_other == 1));
	memory_free(&send);
	memory_free(&recv);
}

static void test_unmap(void **state)
{
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	choir_device *mapping[2];
	struct world world;

	(void)state;
	config.memory_class = CHOIR_CLASS_MAP;
	assert_int_equal(
	    choir_device_create(choir_device_context(device), choir_device_id(device), &config, &mapping[0]),
	    CHOIR_SUCCESS);
	mapping[1] = mapping[0];
	world_begin_on(&world, 2, mapping, NULL);
	world_threads(&world, one_unmap_fails, NULL);
	world_end(&world);
	stuck = other = NULL;
	choir_device_destroy(mapping[0]);
}

/* A CPU device that cannot read the arena is asked once. */
static void reduce_by_kernels(struct world *world, int rank, choir_comm *comm, void *arg)
{
	float x[1000];

	(void)arg;
	for (int i = 0; i < 5; i++) {
		for (int e = 0; e < 1000; e++)
			x[e] = (float)e;
		OK(choir_allreduce(comm, choir_host(x), choir_host(x), 1000, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL));
		for (int e = 0; e < 1000; e++)
			CHECK(x[e] == 2 * (float)e);
	}
}

static void test_wrap(void **state)
{
	choir_device *reducing[2] = { world_far_device(CHOIR_REDUCE_KERNEL), world_far_device(CHOIR_REDUCE_KERNEL) };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	int asked = dev_is_cpu(reducing[0]) ? 1 : 0; /* a GPU is not: it would read the arena over the bus */
	struct world world;

	(void)state;
	config.options = "algorithm=oneshot";
	world_begin_on(&world, 2, reducing, &config);
	wraps_fail = true;
	world_threads(&world, reduce_by_kernels, NULL);
	wraps_fail = false;
	world_end(&world);
	assert_int_equal(wraps, 2 * asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_results_marker, begin), cmocka_unit_test_setup(test_results_copy, begin),
		cmocka_unit_test_setup(test_list, begin),           cmocka_unit_test_setup(test_second_buffer, begin),
		cmocka_unit_test_setup(test_coalescing, begin),     cmocka_unit_test_setup(test_unmap, begin),
		cmocka_unit_test_setup(test_wrap, begin),           cmocka_unit_test_setup(test_why, begin),
		cmocka_unit_test_setup(test_no_pointer, begin),
	};
	int failed = cmocka_run_group_tests(tests, set_up, NULL);

	world_device_drop();
	return failed;
}
