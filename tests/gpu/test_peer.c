/* SPDX-License-Identifier: MIT */
/* Copies between two devices of the model, at half a GB/s, and within one, at 10. */
#include "gpu/session.h" /* before other headers of OpenCL */

#include "gpu/crossings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BYTES = 1 << 20 };

static struct session s;
static cl_command_queue second; /* of the other device */

static uint64_t crossed(void)
{
	struct crossings c;

	assert_true(crossings_get(s.devices[0], &c));
	return c.peer;
}

/* A buffer that this queue's device has written. */
static cl_mem buffer_of(cl_command_queue queue)
{
	static const unsigned char bytes[BYTES];
	cl_mem mem = session_buffer(&s, CL_MEM_READ_WRITE, BYTES);

	OK(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL));
	return mem;
}

/* What the model takes for a copy, less its latency, in us; and does it cross? */
static double copy_us(cl_command_queue queue, cl_mem from, cl_mem to, bool crosses)
{
	uint64_t before = crossed();
	cl_ulong start, end;
	cl_event event;

	OK(clEnqueueCopyBuffer(queue, from, to, 0, 0, BYTES, 0, NULL, &event));
	OK(clWaitForEvents(1, &event));
	OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
	OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
	OK(clReleaseEvent(event));
	assert_int_equal(crossed() - before, crosses ? BYTES : 0);
	return (double)(end - start) / 1000 - 200;
}

static void test_rates(void **state)
{
	cl_mem a = buffer_of(s.queues[0]), b = buffer_of(s.queues[0]), far = buffer_of(second);

	(void)state;
	assert_true(copy_us(s.queues[0], a, b, false) < 150);
	assert_true(copy_us(s.queues[0], a, far, true) > 2000); /* pushed */
	assert_true(copy_us(second, a, far, true) > 2000);      /* fetched */
	assert_true(copy_us(second, a, b, true) > 2000);
	OK(clReleaseMemObject(a));
	OK(clReleaseMemObject(b));
	OK(clReleaseMemObject(far));
}

/* A fresh buffer belongs to whoever uses it first; one that was migrated to where it went. */
static void test_homes(void **state)
{
	cl_mem a = buffer_of(s.queues[0]), far = buffer_of(second);
	cl_mem fresh = session_buffer(&s, CL_MEM_READ_WRITE, BYTES);

	(void)state;
	assert_true(copy_us(second, far, fresh, false) < 150);
	OK(clEnqueueMigrateMemObjects(second, 1, &a, 0, 0, NULL, NULL));
	OK(clFinish(second));
	assert_true(copy_us(second, a, far, false) < 150);
	OK(clReleaseMemObject(a));
	OK(clReleaseMemObject(far));
	OK(clReleaseMemObject(fresh));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rates), cmocka_unit_test(test_homes) };

	session_begin(&s);
	second = session_queue(&s, 1);
	int failed = cmocka_run_group_tests_name("peer", tests, NULL, NULL);

	OK(clReleaseCommandQueue(second));
	session_end(&s);
	return failed;
}
