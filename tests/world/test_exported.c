/* SPDX-License-Identifier: MIT */
/* Events as cl_events.  One ends CL_COMPLETE, whatever its collective's outcome.  Where choir_event_to_cl fails, at
 * each of its allocations and for want of a background thread, the cl_event that it made ends and is released. */
#include "world/allocations.h"
#include "world/gate.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { COUNT = 10, MOST_ALLOCATIONS = 20 };

static bool watched, no_thread;
static cl_event made; /* while watched: the last user event, with a reference of the test's */

cl_event __real_clCreateUserEvent(cl_context context, cl_int *rc);
cl_event __wrap_clCreateUserEvent(cl_context context, cl_int *rc);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

cl_event __wrap_clCreateUserEvent(cl_context context, cl_int *rc)
{
	cl_event event = __real_clCreateUserEvent(context, rc);

	if (watched && event != NULL) {
		made = event;
		clRetainEvent(made);
	}
	return event;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return no_thread ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

/* --- a collective that fails --- */

static void exported_failure(struct world *world, int rank, choir_comm *comm, void *gate)
{
	choir_call call = CHOIR_CALL_INIT;
	cl_event deps[1] = { gate }, as_cl;
	cl_int state = -1;
	struct sum sum;

	call.cl_deps = deps;
	call.n_cl_deps = 1;
	OK(sum_start(&sum, comm, COUNT, 1, &call, true));
	OK(choir_event_to_cl(sum.event, &as_cl));
	line_up();
	if (rank == 0)
		OK(choir_comm_abort(comm));
	CHECK(clWaitForEvents(1, &as_cl) == CL_SUCCESS);
	clGetEventInfo(as_cl, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
	CHECK(state == CL_COMPLETE);
	IS(choir_event_wait(sum.event, -1), CHOIR_ABORTED);
	line_up();
	if (rank == 0)
		gate_open(gate, CL_COMPLETE);
	clReleaseEvent(as_cl);
	sum_free(&sum);
}

static void test_failed_call(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			cl_event gate = gate_make(choir_device_context(world_device()));

			line_up_run(sizes[i], per_node, 30000, exported_failure, gate);
			clReleaseEvent(gate);
		}
}

/* --- an export that fails --- */

static cl_uint references(void)
{
	cl_uint n = 0;

	assert_int_equal(clGetEventInfo(made, CL_EVENT_REFERENCE_COUNT, sizeof n, &n, NULL), CL_SUCCESS);
	return n;
}

/* Nobody but the test holds the event, which has ended: a queue that waits for it goes on. */
static void check_let_go(void)
{
	cl_int status = CL_QUEUED;

	assert_int_equal(clGetEventInfo(made, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
	                 CL_SUCCESS);
	assert_int_equal(status, CL_COMPLETE);
	assert_int_equal(references(), 1);
	clReleaseEvent(made);
	made = NULL;
}

/* A call that waits for its gate; *gate_p: the caller opens and releases it. */
static void start_behind_gate(struct world *world, struct sum *sum, cl_event *gate_p)
{
	choir_call call = CHOIR_CALL_INIT;

	*gate_p = gate_make(choir_device_context(world->device));
	call.cl_deps = gate_p;
	call.n_cl_deps = 1;
	assert_int_equal(sum_start(sum, world->comms[0], COUNT, 1, &call, true), CHOIR_SUCCESS);
}

static void end(struct sum *sum, cl_event gate)
{
	gate_open(gate, CL_COMPLETE);
	clReleaseEvent(gate);
	assert_int_equal(choir_event_wait(sum->event, -1), CHOIR_SUCCESS);
	assert_true(sum_is(sum, 1));
	sum_free(sum);
}

/* True: the k-th allocation failed. */
static bool export_without(choir_event *event, unsigned k, cl_event *as_cl)
{
	const void *site;
	choir_status st;

	*as_cl = NULL;
	made = NULL;
	watched = true;
	allocations_fail(k);
	st = choir_event_to_cl(event, as_cl);
	allocations_stop();
	watched = false;
	if (!allocations_failed(&site)) {
		assert_int_equal(st, CHOIR_SUCCESS);
		return false;
	}
	assert_int_equal(st, CHOIR_NO_MEMORY);
	assert_null(*as_cl);
	if (made != NULL)
		check_let_go();
	return true;
}

static void test_no_memory(void **state)
{
	struct world world;
	struct sum sum;
	cl_event gate, as_cl = NULL;
	unsigned k = 1;

	(void)state;
	world_begin(&world, 1, NULL);
	start_behind_gate(&world, &sum, &gate);
	while (k < MOST_ALLOCATIONS && export_without(sum.event, k, &as_cl))
		k++;
	assert_true(k > 2 && k < MOST_ALLOCATIONS); /* the bridge, and a callback */
	end(&sum, gate);
	assert_int_equal(clWaitForEvents(1, &as_cl), CL_SUCCESS);
	clReleaseEvent(as_cl);
	check_let_go();
	world_end(&world);
}

static void test_no_thread(void **state)
{
	struct world world;
	struct sum sum;
	cl_event gate, as_cl = NULL;

	(void)state;
	world_begin(&world, 1, NULL);
	no_thread = true;
	start_behind_gate(&world, &sum, &gate);
	watched = true;
	assert_int_equal(choir_event_to_cl(sum.event, &as_cl), CHOIR_NO_MEMORY);
	watched = false;
	assert_null(as_cl);
	end(&sum, gate);
	no_thread = false;
	check_let_go();
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_failed_call), cmocka_unit_test(test_no_memory),
		                            cmocka_unit_test(test_no_thread) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
