/* SPDX-License-Identifier: MIT */
/* Note [short maps] in dev/map_rates.c, by a clock that goes on in commands only: a map, a read and a write take what
 * the case says. */
#include "base/wait.h"
#include "dev/rates.h"
#include "dev_fixture.h"

enum { FIRST_NS = 10000000 }; /* of the driver's own first map */

static int64_t now_ns, map_ns, copy_ns;
static bool mapped;

int64_t __wrap_wait_now_ns(void);
void *__real_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event_p, cl_int *rc);
void *__wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event_p, cl_int *rc);
cl_int __real_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event_p);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event_p);

int64_t __wrap_wait_now_ns(void)
{
	return now_ns;
}

void *__wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event_p, cl_int *rc)
{
	now_ns += mapped ? map_ns : FIRST_NS;
	mapped = true;
	return __real_clEnqueueMapBuffer(queue, mem, blocking, flags, off, bytes, n, list, event_p, rc);
}

cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event_p)
{
	now_ns += copy_ns;
	return __real_clEnqueueReadBuffer(queue, mem, blocking, off, bytes, to, n, list, event_p);
}

static uint64_t border_of(int64_t map, int64_t copy)
{
	map_ns = map;
	copy_ns = copy;
	mapped = false;
	return rates_short_map_bytes(fixture_device);
}

static void test_borders(void **state)
{
	(void)state;
	assert_int_equal(border_of(30000, 50000), 1 << 20); /* a read and a write against two maps, at every size */
	assert_int_equal(border_of(20000, 50000), 0);
	assert_int_equal(border_of(2000000, 50000), 64); /* no try begins after 3 ms of them */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_borders) };

	return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
