/* SPDX-License-Identifier: MIT */
/* What the model GPU does that a CPU device does not.  Runs on the model, with three devices, jitter and late ends; it
 * reads the modelled times, which do not depend on this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/session.h"

#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 20, LATENCY_NS = 200000 }; /* as CMakeLists.txt says; 1 GB/s pinned, half of it pageable */

static unsigned char host[BYTES], back[BYTES];

static cl_ulong time_of(cl_event event, cl_profiling_info what)
{
	cl_ulong ns;

	OK(clGetEventProfilingInfo(event, what, sizeof ns, &ns, NULL));
	return ns;
}

static cl_ulong took(cl_event event)
{
	return time_of(event, CL_PROFILING_COMMAND_END) - time_of(event, CL_PROFILING_COMMAND_START);
}

static void test_device(void **state)
{
	struct session s;

	(void)state;
	session_begin(&s);
	assert_int_equal(s.n_devices, 3);
	for (cl_uint i = 0; i < s.n_devices; i++) {
		cl_device_type type;
		cl_bool unified;
		cl_device_svm_capabilities svm;

		OK(clGetDeviceInfo(s.devices[i], CL_DEVICE_TYPE, sizeof type, &type, NULL));
		OK(clGetDeviceInfo(s.devices[i], CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL));
		OK(clGetDeviceInfo(s.devices[i], CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL));
		assert_int_equal(type, CL_DEVICE_TYPE_GPU);
		assert_int_equal(unified, CL_FALSE);
		assert_int_equal(svm, CL_DEVICE_SVM_COARSE_GRAIN_BUFFER);
	}
	session_end(&s);
}

/* What the host writes into a map reaches the device by the unmap; after it the pointer is worth nothing. */
static void test_map(void **state)
{
	struct session s;
	cl_event copied;
	cl_int rc;

	(void)state;
	session_begin(&s);
	cl_mem mem = session_buffer(&s, CL_MEM_READ_WRITE, BYTES);
	memset(host, 1, BYTES);
	OK(clEnqueueWriteBuffer(s.queues[0], mem, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
	unsigned char *ptr =
	    clEnqueueMapBuffer(s.queues[0], mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 100, 1000, 0, NULL, NULL, &rc);
	OK(rc);
	assert_int_equal(ptr[0], 1);
	memset(ptr, 2, 1000);
	OK(clEnqueueReadBuffer(s.queues[0], mem, CL_TRUE, 2000, 8, back, 0, NULL, NULL)); /* beside the map: legal */
	OK(clEnqueueUnmapMemObject(s.queues[0], mem, ptr, 0, NULL, &copied));
	OK(clWaitForEvents(1, &copied));
	OK(clReleaseEvent(copied));
	assert_int_not_equal(ptr[0], 2);
	memset(ptr, 3, 1000); /* goes nowhere */
	OK(clEnqueueReadBuffer(s.queues[0], mem, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
	for (int i = 0; i < BYTES; i++)
		assert_int_equal(back[i], i >= 100 && i < 1100 ? 2 : 1);
	OK(clReleaseMemObject(mem));
	session_end(&s);
}

static cl_int state_of(cl_event event)
{
	cl_int state;

	OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
	return state;
}

/* Nothing starts before its flush, and an end is never seen before its bytes. */
static void test_flush(void **state)
{
	struct session s;
	cl_event event, marker;

	(void)state;
	session_begin(&s);
	cl_mem mem = session_buffer(&s, CL_MEM_READ_WRITE, BYTES);
	OK(clEnqueueFillBuffer(s.queues[0], mem, "\x05", 1, 0, BYTES, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(s.queues[0], mem, CL_FALSE, 0, BYTES, back, 0, NULL, &event));
	back[0] = back[BYTES - 1] = 0;
	OK(clEnqueueMarkerWithWaitList(s.queues[1], 0, NULL, &marker));
	OK(clWaitForEvents(1, &marker));
	assert_int_equal(state_of(event), CL_QUEUED);
	OK(clFlush(s.queues[0]));
	while (state_of(event) != CL_COMPLETE)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	assert_int_equal(back[0], 5);
	assert_int_equal(back[BYTES - 1], 5);
	OK(clWaitForEvents(1, &event));
	OK(clReleaseEvent(event));
	OK(clReleaseEvent(marker));
	OK(clReleaseMemObject(mem));
	session_end(&s);
}

/* A command takes the latency and its bytes by the rate, pageable memory half of it; the two directions overlap. */
static void test_times(void **state)
{
	struct session s;
	cl_event events[3];
	cl_int rc;

	(void)state;
	session_begin(&s);
	cl_mem mem = session_buffer(&s, CL_MEM_READ_WRITE, 2 * BYTES);
	cl_mem pinned = session_buffer(&s, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, BYTES);
	void *ptr =
	    clEnqueueMapBuffer(s.queues[0], pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &rc);
	OK(rc);
	cl_event gate = clCreateUserEvent(s.context, &rc); /* both queues start at one time, however busy the host is */
	OK(clEnqueueReadBuffer(s.queues[0], mem, CL_FALSE, 0, BYTES, ptr, 1, &gate, &events[0]));
	OK(clEnqueueReadBuffer(s.queues[0], mem, CL_FALSE, 0, BYTES, back, 0, NULL, &events[1]));
	OK(clEnqueueWriteBuffer(s.queues[1], mem, CL_FALSE, BYTES, BYTES, host, 1, &gate, &events[2]));
	OK(clFlush(s.queues[0]));
	OK(clFlush(s.queues[1]));
	OK(clSetUserEventStatus(gate, CL_COMPLETE));
	OK(clReleaseEvent(gate));
	OK(clWaitForEvents(3, events));
	assert_in_range(took(events[0]), LATENCY_NS + BYTES - 2, LATENCY_NS + BYTES + 2);
	assert_in_range(took(events[1]), LATENCY_NS + 2 * BYTES - 2, LATENCY_NS + 2 * BYTES + 2);
	assert_true(time_of(events[1], CL_PROFILING_COMMAND_START) >= time_of(events[0], CL_PROFILING_COMMAND_END));
	assert_true(time_of(events[2], CL_PROFILING_COMMAND_START) < time_of(events[1], CL_PROFILING_COMMAND_END));
	for (int i = 0; i < 3; i++)
		OK(clReleaseEvent(events[i]));
	OK(clEnqueueUnmapMemObject(s.queues[0], pinned, ptr, 0, NULL, NULL));
	OK(clFinish(s.queues[0]));
	OK(clReleaseMemObject(pinned));
	OK(clReleaseMemObject(mem));
	session_end(&s);
}

/* Each engine has a latency and a rate of its own: up 400 us and 1 GB/s, down 200 us and 0.5, kernels 100 us. */
static void test_engines(void **state)
{
	struct session s;
	cl_event events[3];
	cl_int rc;
	size_t items = 1000;

	(void)state;
	session_begin(&s);
	cl_mem mem = session_buffer(&s, CL_MEM_READ_WRITE, BYTES);
	cl_mem pinned = session_buffer(&s, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, BYTES);
	void *ptr =
	    clEnqueueMapBuffer(s.queues[0], pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &rc);
	OK(rc);
	cl_kernel kernel = session_kernel(&s, "kernel void none(global char *to) { if (to == 0) return; }", "none");
	OK(clSetKernelArg(kernel, 0, sizeof mem, &mem));
	OK(clEnqueueWriteBuffer(s.queues[0], mem, CL_FALSE, 0, BYTES, ptr, 0, NULL, &events[0]));
	OK(clEnqueueReadBuffer(s.queues[0], mem, CL_FALSE, 0, BYTES, ptr, 0, NULL, &events[1]));
	OK(clEnqueueNDRangeKernel(s.queues[0], kernel, 1, NULL, &items, NULL, 0, NULL, &events[2]));
	OK(clWaitForEvents(3, events));
	assert_in_range(took(events[0]), 2 * LATENCY_NS + BYTES - 2, 2 * LATENCY_NS + BYTES + 2);
	assert_in_range(took(events[1]), LATENCY_NS + 2 * BYTES - 2, LATENCY_NS + 2 * BYTES + 2);
	assert_true(took(events[2]) >= LATENCY_NS / 2); /* what it takes below comes on top */
	for (int i = 0; i < 3; i++)
		OK(clReleaseEvent(events[i]));
	OK(clEnqueueUnmapMemObject(s.queues[0], pinned, ptr, 0, NULL, NULL));
	OK(clFinish(s.queues[0]));
	OK(clReleaseKernel(kernel));
	OK(clReleaseMemObject(pinned));
	OK(clReleaseMemObject(mem));
	session_end(&s);
}

static pthread_t called_on;
static volatile int called;

static void CL_CALLBACK note(cl_event event, cl_int status, void *arg)
{
	(void)event;
	(void)arg;
	called_on = pthread_self();
	called = status == CL_COMPLETE ? 1 : -1;
}

/* A user event holds a queue back and hands its failure on; a callback comes on a thread of its own. */
static void test_user_event(void **state)
{
	struct session s;
	cl_event event;
	cl_int rc;

	(void)state;
	session_begin(&s);
	for (int fails = 0; fails < 2; fails++) {
		cl_event gate = clCreateUserEvent(s.context, &rc);

		OK(rc);
		called = 0;
		OK(clEnqueueMarkerWithWaitList(s.queues[0], 1, &gate, &event));
		OK(clSetEventCallback(event, CL_COMPLETE, note, NULL));
		OK(clFlush(s.queues[0]));
		assert_int_equal(state_of(event), CL_SUBMITTED);
		OK(clSetUserEventStatus(gate, fails ? -5 : CL_COMPLETE));
		assert_int_equal(clWaitForEvents(1, &event),
		                 fails ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS);
		while (called == 0)
			;
		assert_int_equal(called, fails ? -1 : 1);
		assert_false(pthread_equal(called_on, pthread_self()));
		OK(clReleaseEvent(event));
		OK(clReleaseEvent(gate));
	}
	session_end(&s);
}

/* Devices of one context: engines of their own, and the same buffers. */
static void test_two_devices(void **state)
{
	struct session s;
	cl_event events[2];
	cl_int rc;

	(void)state;
	session_begin(&s);
	cl_mem mem = session_buffer(&s, CL_MEM_READ_WRITE, 2 * BYTES);
	cl_event gate = clCreateUserEvent(s.context, &rc);
	cl_command_queue second = session_queue(&s, 1);
	memset(host, 7, BYTES);
	OK(clEnqueueWriteBuffer(s.queues[0], mem, CL_FALSE, 0, BYTES, host, 1, &gate, &events[0]));
	OK(clEnqueueWriteBuffer(second, mem, CL_FALSE, BYTES, BYTES, host, 1, &gate, &events[1]));
	OK(clFlush(s.queues[0]));
	OK(clFlush(second));
	OK(clSetUserEventStatus(gate, CL_COMPLETE));
	OK(clReleaseEvent(gate));
	OK(clWaitForEvents(2, events));
	assert_true(time_of(events[1], CL_PROFILING_COMMAND_START) < time_of(events[0], CL_PROFILING_COMMAND_END));
	OK(clEnqueueReadBuffer(second, mem, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
	assert_memory_equal(host, back, BYTES);
	for (int i = 0; i < 2; i++)
		OK(clReleaseEvent(events[i]));
	OK(clReleaseCommandQueue(second));
	OK(clReleaseMemObject(mem));
	session_end(&s);
}

/* Devices in contexts of their own: bytes go by the host, and no command waits for one of the other context. */
static void test_two_contexts(void **state)
{
	struct session s, far;
	cl_event filled;

	(void)state;
	session_begin(&s);
	far = (struct session){ .devices = { s.devices[1] }, .n_devices = 1 };
	session_open(&far);
	cl_mem from = session_buffer(&s, CL_MEM_READ_WRITE, BYTES), to = session_buffer(&far, CL_MEM_READ_WRITE, BYTES);
	OK(clEnqueueFillBuffer(s.queues[0], from, "\x09", 1, 0, BYTES, 0, NULL, &filled));
	assert_int_equal(clEnqueueWriteBuffer(far.queues[0], to, CL_FALSE, 0, BYTES, host, 1, &filled, NULL),
	                 CL_INVALID_CONTEXT);
	OK(clEnqueueReadBuffer(s.queues[0], from, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
	OK(clEnqueueWriteBuffer(far.queues[0], to, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
	memset(back, 0, BYTES);
	OK(clEnqueueReadBuffer(far.queues[1], to, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
	assert_int_equal(back[0], 9);
	assert_memory_equal(host, back, BYTES);
	OK(clReleaseEvent(filled));
	OK(clReleaseMemObject(from));
	OK(clReleaseMemObject(to));
	session_end(&far);
	session_end(&s);
}

/* Arguments are those at the enqueue, whatever is set while the kernel waits. */
static void test_kernel(void **state)
{
	struct session s;
	cl_int rc, values[2] = { 11, 22 };
	size_t one = 1;

	(void)state;
	session_begin(&s);
	cl_mem mem = session_buffer(&s, CL_MEM_READ_WRITE, 2 * sizeof(cl_int));
	cl_kernel kernel =
	    session_kernel(&s, "kernel void put(global int *to, int at, int value) { to[at] = value; }", "put");
	cl_event gate = clCreateUserEvent(s.context, &rc);
	OK(clSetKernelArg(kernel, 0, sizeof mem, &mem));
	for (cl_int i = 0; i < 2; i++) {
		OK(clSetKernelArg(kernel, 1, sizeof i, &i));
		OK(clSetKernelArg(kernel, 2, sizeof values[i], &values[i]));
		OK(clEnqueueNDRangeKernel(s.queues[0], kernel, 1, NULL, &one, NULL, 1, &gate, NULL));
	}
	OK(clSetUserEventStatus(gate, CL_COMPLETE));
	OK(clEnqueueReadBuffer(s.queues[0], mem, CL_TRUE, 0, sizeof values, back, 0, NULL, NULL));
	assert_memory_equal(back, values, sizeof values);
	OK(clReleaseEvent(gate));
	OK(clReleaseKernel(kernel));
	OK(clReleaseMemObject(mem));
	session_end(&s);
}

/* Can the host read there? */
static bool is_readable(const void *ptr)
{
	int ends[2];
	bool readable;

	assert_int_equal(pipe(ends), 0);
	readable = write(ends[1], ptr, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return readable;
}

/* Unified shared memory: the device's is for commands only, the host's for both. */
static void test_usm(void **state)
{
	struct session s;
	clDeviceMemAllocINTEL_fn alloc_device;
	clHostMemAllocINTEL_fn alloc_host;
	clMemFreeINTEL_fn give;
	clEnqueueMemcpyINTEL_fn copy;
	clGetMemAllocInfoINTEL_fn info;
	clSetKernelArgMemPointerINTEL_fn set_argument;
	cl_unified_shared_memory_type_intel kinds[2];
	size_t items = BYTES, group = 64, bytes;
	cl_int rc;

	(void)state;
	session_begin(&s);
	session_function(&s, "clDeviceMemAllocINTEL", &alloc_device);
	session_function(&s, "clHostMemAllocINTEL", &alloc_host);
	session_function(&s, "clMemFreeINTEL", &give);
	session_function(&s, "clEnqueueMemcpyINTEL", &copy);
	session_function(&s, "clGetMemAllocInfoINTEL", &info);
	session_function(&s, "clSetKernelArgMemPointerINTEL", &set_argument);
	unsigned char *far = alloc_device(s.context, s.devices[0], NULL, BYTES + 100, 0, &rc);
	OK(rc);
	unsigned char *near = alloc_host(s.context, NULL, BYTES, 0, &rc);
	OK(rc);
	OK(info(s.context, far + 1, CL_MEM_ALLOC_TYPE_INTEL, sizeof kinds[0], &kinds[0], NULL));
	OK(info(s.context, near, CL_MEM_ALLOC_TYPE_INTEL, sizeof kinds[1], &kinds[1], NULL));
	OK(info(s.context, far + 1, CL_MEM_ALLOC_SIZE_INTEL, sizeof bytes, &bytes, NULL));
	assert_int_equal(kinds[0], CL_MEM_TYPE_DEVICE_INTEL);
	assert_int_equal(kinds[1], CL_MEM_TYPE_HOST_INTEL);
	assert_int_equal(bytes, BYTES + 100);
	assert_false(is_readable(far));
	assert_true(is_readable(near));
	memset(near, 3, BYTES);
	cl_kernel kernel =
	    session_kernel(&s,
	                   "kernel void sum(global uchar *to, global const uchar *from) { to[get_global_id(0)] += "
	                   "from[get_global_id(0)]; }",
	                   "sum");
	OK(copy(s.queues[0], CL_FALSE, far + 100, near, BYTES, 0, NULL, NULL));
	OK(set_argument(kernel, 0, far + 100));
	OK(set_argument(kernel, 1, near));
	OK(clEnqueueNDRangeKernel(s.queues[0], kernel, 1, NULL, &items, &group, 0, NULL, NULL));
	OK(copy(s.queues[0], CL_TRUE, back, far + 100, BYTES, 0, NULL, NULL));
	for (int i = 0; i < BYTES; i++)
		assert_int_equal(back[i], 6);
	OK(give(s.context, near));
	OK(give(s.context, far));
	OK(clReleaseKernel(kernel));
	session_end(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest engines[] = { cmocka_unit_test(test_engines) };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device), cmocka_unit_test(test_map),        cmocka_unit_test(test_flush),
		cmocka_unit_test(test_times),  cmocka_unit_test(test_user_event), cmocka_unit_test(test_two_devices),
		cmocka_unit_test(test_kernel), cmocka_unit_test(test_usm),        cmocka_unit_test(test_two_contexts),
	};

	if (argc > 1 && strcmp(argv[1], "engines") == 0)
		return cmocka_run_group_tests(engines, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
