/* SPDX-License-Identifier: MIT */
/* Worlds whose memory is reached by commands only, and a driver that refuses one of them: the call fails on every rank,
 * and nobody hangs.
 *
 * The driver is refused from here: this program's own clEnqueueReadBuffer, clEnqueueWriteBuffer and clEnqueueCopyBuffer
 * come before the loader's.  Short calls are staged, long ones go from device to device. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "world/world.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef cl_int(CL_API_CALL *read_fn)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
                                     const cl_event *, cl_event *);
typedef cl_int(CL_API_CALL *copy_fn)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
                                     const cl_event *, cl_event *);
typedef cl_int(CL_API_CALL *write_fn)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
                                      const cl_event *, cl_event *);

/* Counts down; the command that takes it to 0 is refused, and those below it are not.  The test's own commands do not
 * count. */
static _Atomic long until_refused;
static _Thread_local bool is_mine;

static bool refused(void)
{
	return !is_mine && atomic_fetch_sub(&until_refused, 1) == 1;
}

static void *next_of(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (fn == NULL)
		abort();
	return fn;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off,
                                                    size_t bytes, void *to, cl_uint n, const cl_event *events,
                                                    cl_event *event_p)
{
	void *symbol = next_of("clEnqueueReadBuffer");
	read_fn fn;

	memcpy(&fn, &symbol, sizeof fn);
	return refused() ? CL_OUT_OF_RESOURCES : fn(queue, mem, blocking, off, bytes, to, n, events, event_p);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off,
                                                     size_t bytes, const void *from, cl_uint n, const cl_event *events,
                                                     cl_event *event_p)
{
	void *symbol = next_of("clEnqueueWriteBuffer");
	write_fn fn;

	memcpy(&fn, &symbol, sizeof fn);
	return refused() ? CL_OUT_OF_RESOURCES : fn(queue, mem, blocking, off, bytes, from, n, events, event_p);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off,
                                                    size_t to_off, size_t bytes, cl_uint n, const cl_event *events,
                                                    cl_event *event_p)
{
	void *symbol = next_of("clEnqueueCopyBuffer");
	copy_fn fn;

	memcpy(&fn, &symbol, sizeof fn);
	return refused() ? CL_OUT_OF_RESOURCES : fn(queue, from, to, from_off, to_off, bytes, n, events, event_p);
}

struct vectors {
	cl_command_queue queue;
	cl_mem send, recv;
	float *host;
	size_t count;
};

static void move(struct vectors *v, bool in)
{
	is_mine = true;
	if (in)
		clEnqueueWriteBuffer(v->queue, v->send, CL_TRUE, 0, v->count * sizeof *v->host, v->host, 0, NULL, NULL);
	else
		clEnqueueReadBuffer(v->queue, v->recv, CL_TRUE, 0, v->count * sizeof *v->host, v->host, 0, NULL, NULL);
	clFinish(v->queue);
	is_mine = false;
}

static void make(struct vectors *v, size_t count, int rank)
{
	cl_context context = choir_device_context(world_device());
	cl_int rc;

	v->count = count;
	v->queue = clCreateCommandQueue(context, choir_device_id(world_device()), 0, &rc);
	v->send = clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof *v->host, NULL, &rc);
	v->recv = clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof *v->host, NULL, &rc);
	v->host = malloc(count * sizeof *v->host);
	for (size_t i = 0; i < count; i++)
		v->host[i] = (float)(i % 1000 + (size_t)rank);
	move(v, true);
}

static void drop(struct vectors *v)
{
	clReleaseMemObject(v->send);
	clReleaseMemObject(v->recv);
	clReleaseCommandQueue(v->queue);
	free(v->host);
}

static bool is_sum(struct vectors *v, int n)
{
	move(v, false);
	for (size_t i = 0; i < v->count; i++)
		if (v->host[i] != (float)(i % 1000 * (size_t)n) + (float)(n * (n - 1) / 2))
			return false;
	return true;
}

static choir_status call(choir_comm *comm, struct vectors *v, bool with_event)
{
	choir_event *event = NULL;
	choir_status st;

	st = choir_allreduce(comm, choir_mem(v->send, 0), choir_mem(v->recv, 0), v->count, CHOIR_F32, CHOIR_OP_SUM,
	                     NULL, with_event ? &event : NULL);
	return with_event ? world_wait(st, event) : st;
}

struct trial {
	size_t count;
	bool with_event;
	bool refuses;
};

/* What succeeds is right; what fails, fails for that reason and for good. */
static void calls(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct trial *t = arg;
	choir_status st = CHOIR_SUCCESS;
	struct vectors v;

	make(&v, t->count, rank);
	for (int i = 0; i < 6 && st == CHOIR_SUCCESS; i++) {
		st = call(comm, &v, t->with_event);
		if (st == CHOIR_SUCCESS)
			CHECK(is_sum(&v, world->n));
	}
	if (t->refuses) {
		CHECK(st == CHOIR_OPENCL);
		CHECK(strstr(choir_last_error(), "CL_OUT_OF_RESOURCES") != NULL);
		CHECK(choir_comm_status(comm) == CHOIR_OPENCL);
	} else {
		CHECK(st == CHOIR_SUCCESS);
	}
	drop(&v);
}

static const size_t counts[] = { 1, 2, 1000, 70001, 400003 };

static void test_right(void **state)
{
	(void)state;
	for (int n = 1; n <= 3; n++)
		for (size_t i = 0; i < 10; i++) {
			struct trial t = { .count = counts[i / 2], .with_event = i % 2 };

			world_run(n, NULL, calls, &t);
		}
}

static void test_refused(void **state)
{
	(void)state;
	for (int n = 2; n <= 3; n++)
		for (size_t i = 0; i < 10; i++)
			for (long k = 1; k < 12; k += 2) { /* 6 calls of n ranks have 12 n commands at the least, spread
				                              over the ranks as it comes */
				struct trial t = { .count = counts[i / 2], .with_event = i % 2, .refuses = true };
				struct world world;

				world_begin(&world, n, NULL); /* times copies, which may fail */
				atomic_store(&until_refused, k);
				world_threads(&world, calls, &t);
				world_end(&world);
				atomic_store(&until_refused, 0);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_right), cmocka_unit_test(test_refused) };
	int failed;

	setenv("CHOIR_CLASS", "stage", 1);
	failed = cmocka_run_group_tests_name("stage", tests, NULL, NULL);
	world_device_drop();
	return failed;
}
