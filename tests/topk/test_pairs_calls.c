/* SPDX-License-Identifier: MIT */
/* How the calls on one device start and fail: wrong arguments, deps, events, deadlines, and the device's end. */
#include "base/wait.h"
#include "kern/float_words.h"
#include "world/gate.h"
#include "world/memory.h"

#include <math.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N 100

static choir_device *device;
static float from[N], val[N];
static int32_t ind[N];

static choir_status top_into(int32_t *at, float *of, size_t k, const choir_call *call, choir_event **event_p)
{
	return choir_select_top(device, choir_host(from), N, CHOIR_F32, k, choir_host(at), CHOIR_I32, choir_host(of),
	                        call, event_p);
}

static choir_status top(size_t k, const choir_call *call, choir_event **event_p)
{
	return top_into(ind, val, k, call, event_p);
}

static void refused(choir_status got, choir_status wanted, const char *words)
{
	if (got != wanted || !says(choir_last_error(), words))
		fail_msg("%s: \"%s\" is not a %s that says %s", choir_status_name(got), choir_last_error(),
		         choir_status_name(wanted), words);
}

static void arguments(void **state)
{
	choir_buffer a = choir_host(from), i = choir_host(ind), v = choir_host(val);
	choir_call call = CHOIR_CALL_INIT;
	size_t n = N;
	cl_mem foreign;
	int32_t rows[2] = { 1, 5 };

	(void)state;
	call.options = "algorithm=ring";
	refused(choir_select_top(NULL, a, N, CHOIR_F32, 1, i, CHOIR_I32, v, NULL, NULL), CHOIR_ARGUMENT, "null device");
	refused(choir_select_top(device, a, N, CHOIR_F32, N + 1, i, CHOIR_I32, v, NULL, NULL), CHOIR_ARGUMENT,
	        "k is 101|100");
	refused(choir_select_top(device, a, N, CHOIR_I32, 1, i, CHOIR_I32, v, NULL, NULL), CHOIR_UNSUPPORTED, "i32");
	refused(choir_select_top(device, a, N, CHOIR_F8E4M3, 1, i, CHOIR_I32, v, NULL, NULL), CHOIR_UNSUPPORTED,
	        "f8e4m3, which is none of f16, bf16, f32 and f64");
	refused(choir_select_above(device, a, N, CHOIR_F8E5M2, 1, i, CHOIR_I32, v, &n, NULL, NULL), CHOIR_UNSUPPORTED,
	        "f8e5m2, which is none of f16, bf16, f32 and f64");
	refused(choir_select_top(device, a, N, 99, 1, i, CHOIR_I32, v, NULL, NULL), CHOIR_ARGUMENT, "dtype 99");
	refused(choir_select_top(device, a, N, CHOIR_F32, 1, i, CHOIR_F32, v, NULL, NULL), CHOIR_UNSUPPORTED,
	        "ind_dtype|f32");
	refused(choir_select_top(device, a, N, CHOIR_F32, 1, choir_none(), CHOIR_I32, v, NULL, NULL), CHOIR_ARGUMENT,
	        "ind");
	refused(choir_select_top(device, a, N, CHOIR_F32, 2, i, CHOIR_I32, i, NULL, NULL), CHOIR_ARGUMENT, "overlap");
	refused(choir_select_top(device, a, N, CHOIR_F32, 2, i, CHOIR_I32, choir_host((char *)val + 2), NULL, NULL),
	        CHOIR_ARGUMENT, "val");
	refused(choir_select_top(device, a, SIZE_MAX / 2, CHOIR_F32, 2, i, CHOIR_I64, v, NULL, NULL), CHOIR_ARGUMENT,
	        "more than any memory");
	refused(choir_select_top(device, a, (size_t)1 << 32, CHOIR_F32, 2, i, CHOIR_I32, v, NULL, NULL), CHOIR_ARGUMENT,
	        "i32 index|4294967296");
	refused(choir_select_top(device, a, N, CHOIR_F32, 1, i, CHOIR_I32, v, &call, NULL), CHOIR_ARGUMENT,
	        "no options|ring");
	refused(choir_select_above(device, a, N, CHOIR_F32, (double)NAN, i, CHOIR_I32, v, &n, NULL, NULL),
	        CHOIR_ARGUMENT, "threshold");
	refused(choir_select_above(device, a, N, CHOIR_F32, -1, i, CHOIR_I32, v, &n, NULL, NULL), CHOIR_ARGUMENT,
	        "threshold is -1");
	refused(choir_select_above(device, a, N, CHOIR_F32, 1, i, CHOIR_I32, v, NULL, NULL, NULL), CHOIR_ARGUMENT,
	        "null pairs_p");
	refused(choir_gather_rows(device, choir_host(rows), 2, CHOIR_I32, a, 5, 2, CHOIR_F32, v, NULL, NULL),
	        CHOIR_ARGUMENT, "index 5 at position 1|5 rows");
	refused(choir_gather_rows(device, choir_host(rows), 2, CHOIR_I32, a, 5, 0, CHOIR_F32, v, NULL, NULL),
	        CHOIR_ARGUMENT, "width 0");
	rows[0] = -3;
	refused(choir_scatter_rows(device, choir_host(rows), 2, CHOIR_I32, v, a, 50, 2, CHOIR_F32, NULL, NULL),
	        CHOIR_ARGUMENT, "index -3 at position 0");
	refused(choir_intersect(device, i, 2, choir_host(rows), 2, CHOIR_I32, v, NULL, NULL), CHOIR_ARGUMENT,
	        "-3|among");
	refused(choir_coalesce_rows(device, choir_host(rows), 2, a, 3, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, i, v, &n,
	                            NULL, NULL),
	        CHOIR_ARGUMENT, "val_count 3");
	refused(choir_coalesce_rows(device, choir_host(rows), 2, a, 2, CHOIR_I32, CHOIR_F32, CHOIR_OP_MEAN, i, v, &n,
	                            NULL, NULL),
	        CHOIR_UNSUPPORTED, "mean");
	refused(choir_coalesce_rows(device, choir_host(rows), 2, a, 2, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, i, v, &n,
	                            NULL, NULL),
	        CHOIR_ARGUMENT, "index -3");
	foreign = clCreateBuffer(gate_context(), CL_MEM_READ_WRITE, sizeof from, NULL, NULL);
	refused(choir_select_top(device, choir_mem(foreign, 0), N, CHOIR_F32, 2, i, CHOIR_I32, v, NULL, NULL),
	        CHOIR_ARGUMENT, "from|context");
	clReleaseMemObject(foreign);
	assert_int_equal(top(3, NULL, NULL), CHOIR_SUCCESS); /* none of that harmed the device */
}

static void too_small(void **state)
{
	int32_t some[4] = { 7, 7, 3, 9 }, to[2];
	float rows[4] = { 1, 2, 3, 4 }, out[2] = { 42, 42 };
	size_t n = 2;

	(void)state;
	refused(choir_coalesce_rows(device, choir_host(some), 4, choir_host(rows), 4, CHOIR_I32, CHOIR_F32,
	                            CHOIR_OP_SUM, choir_host(to), choir_host(out), &n, NULL, NULL),
	        CHOIR_CAPACITY, "3 pairs|2");
	assert_int_equal(n, 3);
	assert_true(out[0] == 42 && out[1] == 42);
	n = 1;
	refused(choir_select_above(device, choir_host(rows), 4, CHOIR_F32, 2, choir_host(to), CHOIR_I32,
	                           choir_host(out), &n, NULL, NULL),
	        CHOIR_CAPACITY, "3 pairs|1");
	assert_true(n == 3 && out[1] == 42);
}

/* The elements from a subnormal threshold on, whatever the thread does to subnormal numbers. */
static void subnormal_thresholds(void **state)
{
	float some[4] = { 1e-42f, 1e-40f, 2e-40f, 1e-44f };
	double wide[4] = { 1e-320, 1e-310, 2e-310, 0 }, wide_val[4];
	int32_t at[4], wide_at[4];

	(void)state;
	for (int w = 0; w < FLOAT_WORDS; w++) {
		size_t n = 4, n_wide = 4;
		uint64_t word = float_control_read();
		choir_status st, st_wide;

		float_control_write(float_words[w]);
		st = choir_select_above(device, choir_host(some), 4, CHOIR_F32, 5e-41, choir_host(at), CHOIR_I32,
		                        choir_host(val), &n, NULL, NULL);
		st_wide = choir_select_above(device, choir_host(wide), 4, CHOIR_F64, 5e-311, choir_host(wide_at),
		                             CHOIR_I32, choir_host(wide_val), &n_wide, NULL, NULL);
		float_control_write(word);
		assert_int_equal(st, CHOIR_SUCCESS);
		assert_int_equal(st_wide, CHOIR_SUCCESS);
		assert_true(n == 2 && at[0] == 1 && at[1] == 2);
		assert_true(n_wide == 2 && wide_at[0] == 1 && wide_at[1] == 2);
	}
}

/* The room is what *pairs_p says to the call, not what it says when the call's turn comes. */
static void room_of_the_call(void **state)
{
	float rows[4] = { 1, 2, 3, 4 }, out[4] = { 42, 42, 42, 42 };
	int32_t to[4] = { 0 };
	cl_event gate = gate_make(choir_device_context(device));
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event;
	size_t n = 2;

	(void)state;
	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	assert_int_equal(choir_select_above(device, choir_host(rows), 4, CHOIR_F32, 2, choir_host(to), CHOIR_I32,
	                                    choir_host(out), &n, &call, &event),
	                 CHOIR_SUCCESS);
	n = 4;
	gate_open(gate, CL_COMPLETE);
	clReleaseEvent(gate);
	refused(choir_event_wait(event, -1), CHOIR_CAPACITY, "3 pairs|2");
	choir_event_release(event);
	assert_true(n == 3 && out[2] == 42 && out[3] == 42);
}

/* The third call waits for a gate; the second, which waits for it, fails with it; the device goes on. */
static void deps(void **state)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *first, *second;

	(void)state;
	for (int passes = 0; passes < 2; passes++) {
		cl_event gate = gate_make(choir_device_context(device));
		int done = 1;

		memset(val, 0, sizeof val);
		call = (choir_call)CHOIR_CALL_INIT;
		call.cl_deps = &gate;
		call.n_cl_deps = 1;
		assert_int_equal(top(2, &call, &first), CHOIR_SUCCESS);
		call = (choir_call)CHOIR_CALL_INIT;
		call.deps = &first;
		call.n_deps = 1;
		assert_int_equal(top(2, &call, &second), CHOIR_SUCCESS);
		assert_int_equal(top(0, NULL, NULL), CHOIR_SUCCESS); /* passes both */
		assert_int_equal(choir_event_test(second, &done), CHOIR_SUCCESS);
		assert_true(done == 0 && val[0] == 0);
		gate_open(gate, passes ? CL_COMPLETE : -5);
		clReleaseEvent(gate);
		if (passes) {
			assert_int_equal(choir_event_wait(second, -1), CHOIR_SUCCESS);
			assert_true(val[0] == from[N - 2] && val[1] == from[N - 1]);
		} else {
			refused(choir_event_wait(second, -1), CHOIR_OPENCL, "depends on");
		}
		choir_event_release(first);
		choir_event_release(second);
		assert_int_equal(top(3, NULL, NULL), CHOIR_SUCCESS);
	}
}

/* More calls in flight than the engine lets in at once. */
static void many(void **state)
{
	enum { CALLS = 40 };
	choir_event *events[CALLS];
	static float out[CALLS][2];
	static int32_t at[CALLS][2];

	(void)state;
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(top_into(at[i], out[i], 2, NULL, &events[i]), CHOIR_SUCCESS);
	for (int i = CALLS - 1; i >= 0; i--) {
		assert_int_equal(choir_event_wait(events[i], -1), CHOIR_SUCCESS);
		choir_event_release(events[i]);
		assert_true(at[i][0] == N - 2 && at[i][1] == N - 1 && out[i][1] == from[N - 1]);
	}
}

/* More calls than lanes wait for what they depend on, and hold up none that does not. */
static void passes_all_that_wait(void **state)
{
	enum { CALLS = 40, WAIT_MS = 30000 };
	cl_event gate = gate_make(choir_device_context(device));
	choir_call call = CHOIR_CALL_INIT;
	choir_event *events[CALLS], *free_of_it;
	static int32_t at[CALLS][2];
	static float of[CALLS][2];
	choir_status passed;

	(void)state;
	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(top_into(at[i], of[i], 2, &call, &events[i]), CHOIR_SUCCESS);
	assert_int_equal(top(0, NULL, &free_of_it), CHOIR_SUCCESS);
	passed = choir_event_wait(free_of_it, WAIT_MS);
	for (int i = 0; i < CALLS; i++) {
		int done = 1;

		assert_int_equal(choir_event_test(events[i], &done), CHOIR_SUCCESS);
		assert_int_equal(done, 0);
	}
	gate_open(gate, CL_COMPLETE);
	clReleaseEvent(gate);
	for (int i = 0; i < CALLS; i++) {
		assert_int_equal(choir_event_wait(events[i], -1), CHOIR_SUCCESS);
		choir_event_release(events[i]);
	}
	choir_event_release(free_of_it);
	assert_int_equal(passed, CHOIR_SUCCESS);
}

static sem_t called;

static void in_callback(void *ctx, choir_status status)
{
	choir_status *got = ctx;

	assert_int_equal(status, CHOIR_SUCCESS);
	*got = top(1, NULL, NULL);
	sem_post(&called);
}

static void callbacks(void **state)
{
	choir_status got = CHOIR_SUCCESS;
	choir_event *event;

	(void)state;
	assert_int_equal(top(1, NULL, &event), CHOIR_SUCCESS);
	sem_init(&called, 0, 0);
	assert_int_equal(choir_event_on_complete(event, in_callback, &got), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(event, -1), CHOIR_SUCCESS);
	choir_event_release(event);
	while (sem_wait(&called) != 0) /* callbacks run after waiters are let go */
		;
	sem_destroy(&called);
	assert_int_equal(got, CHOIR_WOULD_DEADLOCK);
}

static cl_uint references(cl_context context)
{
	cl_uint count = 0;

	clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL);
	return count;
}

/* The device goes after its calls, whoever holds their events; its context loses every reference, the last of them when
 * the thread that drove the call and the driver's own let go of theirs. */
static void the_end(void **state)
{
	cl_context context = gate_context();
	cl_uint before = references(context);
	int64_t end;
	choir_device *other;
	choir_event *event;

	(void)state;
	assert_int_equal(choir_device_create(context, choir_device_id(device), NULL, &other), CHOIR_SUCCESS);
	assert_int_equal(choir_select_top(other, choir_host(from), N, CHOIR_F32, 2, choir_host(ind), CHOIR_I32,
	                                  choir_host(val), NULL, &event),
	                 CHOIR_SUCCESS);
	choir_device_destroy(other);
	assert_int_equal(choir_event_status(event), CHOIR_SUCCESS);
	choir_event_release(event);
	end = wait_now_ns() + INT64_C(30000000000);
	while (references(context) != before && wait_now_ns() < end)
		sched_yield();
	assert_int_equal(references(context), before);
}

static int open_device(void **state)
{
	(void)state;
	device = world_device();
	for (int i = 0; i < N; i++)
		from[i] = (float)(i % 2 ? i : -i);
	return device == NULL;
}

static int close_device(void **state)
{
	(void)state;
	gate_drop();
	memory_drop();
	world_device_drop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(arguments),
		                            cmocka_unit_test(too_small),
		                            cmocka_unit_test(subnormal_thresholds),
		                            cmocka_unit_test(room_of_the_call),
		                            cmocka_unit_test(deps),
		                            cmocka_unit_test(many),
		                            cmocka_unit_test(callbacks),
		                            cmocka_unit_test(passes_all_that_wait),
		                            cmocka_unit_test(the_end) };

	return cmocka_run_group_tests(tests, open_device, close_device);
}
