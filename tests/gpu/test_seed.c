/* SPDX-License-Identifier: MIT */
/* The model draws the order of commands that are ready by its seed, and shows ends late.  A process has one seed: the
 * program runs itself with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/session.h"

#include <string.h>
#include <time.h>

enum { QUEUES = 16, BYTES = 1000, LATE_NS = 200000000 }; /* as CMakeLists.txt says */

static const char *program;
static unsigned char to[QUEUES][BYTES];

/* A read in each of many queues; all of them are ready at one time. */
struct reads {
	struct session session;
	cl_command_queue queues[QUEUES];
	cl_mem mem;
	cl_event gate, events[QUEUES];
};

static void reads_begin(struct reads *r)
{
	cl_int rc;

	session_begin(&r->session);
	r->mem = session_buffer(&r->session, CL_MEM_READ_WRITE, BYTES);
	OK(clEnqueueFillBuffer(r->session.queues[0], r->mem, "\x05", 1, 0, BYTES, 0, NULL, NULL));
	OK(clFinish(r->session.queues[0]));
	r->gate = clCreateUserEvent(r->session.context, &rc);
	OK(rc);
	for (int i = 0; i < QUEUES; i++) {
		r->queues[i] = session_queue(&r->session, 0);
		OK(clEnqueueReadBuffer(r->queues[i], r->mem, CL_FALSE, 0, BYTES, to[i], 1, &r->gate, &r->events[i]));
		OK(clFlush(r->queues[i]));
	}
	OK(clSetUserEventStatus(r->gate, CL_COMPLETE));
}

static void reads_end(struct reads *r)
{
	for (int i = 0; i < QUEUES; i++) {
		OK(clReleaseEvent(r->events[i]));
		OK(clReleaseCommandQueue(r->queues[i]));
	}
	OK(clReleaseEvent(r->gate));
	OK(clReleaseMemObject(r->mem));
	session_end(&r->session);
}

static cl_ulong time_of(cl_event event, cl_profiling_info what)
{
	cl_ulong ns;

	OK(clGetEventProfilingInfo(event, what, sizeof ns, &ns, NULL));
	return ns;
}

/* The place of each read in the order of their starts. */
static int print_order(void)
{
	cl_ulong starts[QUEUES];
	struct reads r;

	reads_begin(&r);
	OK(clWaitForEvents(QUEUES, r.events));
	for (int i = 0; i < QUEUES; i++)
		starts[i] = time_of(r.events[i], CL_PROFILING_COMMAND_START);
	for (int i = 0; i < QUEUES; i++) {
		int before = 0;

		for (int k = 0; k < QUEUES; k++)
			before += starts[k] < starts[i];
		printf("%d ", before);
	}
	printf("\n");
	reads_end(&r);
	return 0;
}

static void order_of(int seed, char *out, int room)
{
	char command[1000];
	FILE *pipe;

	snprintf(command, sizeof command, "GPU_MODEL=latency_us=5,gbps=20,polls=1e7,seed=%d '%s' order", seed, program);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(out, room, pipe));
	assert_int_equal(pclose(pipe), 0);
}

static void the_seed_draws_the_order(void **state)
{
	char orders[3][200];

	(void)state;
	order_of(1, orders[0], sizeof orders[0]);
	order_of(1, orders[1], sizeof orders[1]);
	order_of(2, orders[2], sizeof orders[2]);
	assert_string_equal(orders[0], orders[1]);
	assert_string_not_equal(orders[0], orders[2]);
}

static cl_ulong now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* the clock of the model's times */
	return (cl_ulong)t.tv_sec * 1000000000 + (cl_ulong)t.tv_nsec;
}

static int is_over(cl_event event)
{
	cl_int status;

	OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
	return status == CL_COMPLETE;
}

/* Up to 200 ms late, drawn for each: some of 16 are shown 50 ms late at the least, and all have their bytes then. */
static void ends_are_seen_late(void **state)
{
	cl_ulong most_late = 0;
	struct reads r;

	(void)state;
	memset(to, 0, sizeof to);
	reads_begin(&r);
	for (int left = QUEUES, seen[QUEUES] = { 0 }; left > 0;) {
		const struct timespec pause = { 0, 100000 };

		for (int i = 0; i < QUEUES; i++) {
			cl_ulong end, now;

			if (seen[i] || !is_over(r.events[i]))
				continue;
			assert_true(to[i][0] == 5 && to[i][BYTES - 1] == 5);
			now = now_ns();
			end = time_of(r.events[i], CL_PROFILING_COMMAND_END);
			assert_true(end <= now);
			most_late = now - end > most_late ? now - end : most_late;
			seen[i] = 1;
			left--;
		}
		nanosleep(&pause, NULL);
	}
	assert_true(most_late > LATE_NS / 4);
	reads_end(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_seed_draws_the_order),
		                            cmocka_unit_test(ends_are_seen_late) };

	program = argv[0];
	if (argc > 1 && strcmp(argv[1], "order") == 0)
		return print_order();
	return cmocka_run_group_tests_name("seed", tests, NULL, NULL);
}
