/* SPDX-License-Identifier: MIT */
/* What holds up the thread that drives, a slow log or a compiler that hangs, holds up no deadline of other calls. */
#include "hung_builds.h"
#include "lib/ranks.h"
#include "world/gate.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

enum { SLOW_LOG_MS = 500, WARN_MS = 50, DEADLINE_MS = 800, SOON_MS = 4000, LATE_MS = 60000, HANG_S = 30, PAIRS = 2000 };

cl_int __real_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);
cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);

static _Atomic int hanging;

cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx)
{
	hanging++;
	hung_builds_wait(HANG_S);
	return __real_clBuildProgram(program, n, devices, options, notify, ctx);
}

/* Starts a call that rank 1 does not make. */
static choir_event *start_alone(const struct world *world, int64_t deadline_ms)
{
	static float value;
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;

	call.deadline_ms = deadline_ms;
	assert_int_equal(choir_recv(world->comms[0], choir_host(&value), 1, CHOIR_F32, 1, &call, &event),
	                 CHOIR_SUCCESS);
	return event;
}

/* --- a slow log --- */

static void slow_log(void *ctx, int level, const char *text)
{
	struct timespec pause = { .tv_nsec = SLOW_LOG_MS * 1000000 };
	bool *slow = ctx;

	(void)level;
	(void)text;
	if (*slow)
		nanosleep(&pause, NULL);
	*slow = false;
}

/* The check that warns of the one call takes half a second. */
static void test_slow_log(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct world late, other;
	choir_event *warned, *timed;
	bool slow = true;

	(void)state;
	config.warn_ms = WARN_MS;
	world_begin(&late, 2, &config);
	world_begin(&other, 2, NULL);
	choir_set_log(slow_log, &slow);
	warned = start_alone(&late, LATE_MS);
	timed = start_alone(&other, DEADLINE_MS);
	assert_int_equal(choir_event_wait(timed, SOON_MS), CHOIR_TIMEOUT);
	assert_false(slow);
	assert_int_equal(choir_event_status(timed), CHOIR_TIMEOUT);
	choir_set_log(NULL, NULL);
	choir_comm_abort(late.comms[0]);
	choir_event_release(warned);
	choir_event_release(timed);
	world_end(&late);
	world_end(&other);
}

/* --- a compiler that hangs --- */

/* A blocking call: its own thread stands in the build. */
static void *sum_pairs(void *comm)
{
	static int32_t ind[PAIRS], got_ind[PAIRS];
	static float val[2 * PAIRS], got_val[2 * PAIRS];
	size_t n_ind = PAIRS, n_val = 2 * PAIRS;

	for (int i = 0; i < PAIRS; i++)
		ind[i] = i;
	return (void *)(intptr_t)choir_sparse_allreduce(comm, choir_host(ind), PAIRS, choir_host(val), 2 * PAIRS,
	                                                choir_host(got_ind), &n_ind, choir_host(got_val), &n_val,
	                                                CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL, NULL);
}

/* Nobody waits for the other comm's call. */
static void test_hung_build(void **state)
{
	choir_device *device = world_far_device(CHOIR_REDUCE_KERNEL);
	int64_t start = rank_now_ms();
	choir_event *timed = NULL;
	struct world alone, other;
	pthread_t thread;
	void *st;
	int done = 0;

	(void)state;
	world_begin_on(&alone, 1, &device, NULL);
	world_begin(&other, 2, NULL);
	hanging = 0;
	hung_builds_set(true);
	assert_int_equal(pthread_create(&thread, NULL, sum_pairs, alone.comms[0]), 0);
	while (hanging == 0 && rank_now_ms() - start < SOON_MS)
		sched_yield();
	assert_int_not_equal(hanging, 0);
	start = rank_now_ms();
	timed = start_alone(&other, DEADLINE_MS);
	while (!done && rank_now_ms() - start < SOON_MS) {
		assert_int_equal(choir_event_test(timed, &done), CHOIR_SUCCESS);
		sched_yield();
	}
	hung_builds_set(false);
	pthread_join(thread, &st);
	assert_true(done);
	assert_int_equal(choir_event_status(timed), CHOIR_TIMEOUT);
	assert_int_equal((intptr_t)st, CHOIR_SUCCESS);
	choir_event_release(timed);
	world_end(&alone);
	world_end(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_slow_log), cmocka_unit_test(test_hung_build) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
