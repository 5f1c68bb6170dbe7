/* SPDX-License-Identifier: MIT */
#include "world/repeated_threads.h"

#include "world/gate.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { COUNT = 500 };

struct caller {
	pthread_t thread;
	struct world *world;
	int rank;
	choir_comm *comm;
};

/* Whichever thread's call of another rank it meets, this is what comes out. */
static bool is_sum(const struct caller *c, const float *out)
{
	int n = c->world->n;

	for (int i = 0; i < COUNT; i++)
		if (out[i] != (float)(n * (n - 1) / 2 + n * i))
			return false;
	return true;
}

static void *blocks(void *arg)
{
	struct caller *c = arg;
	struct world *world = c->world;
	int rank = c->rank;
	float in[COUNT], out[COUNT];

	for (int i = 0; i < COUNT; i++)
		in[i] = (float)(rank + i);
	for (int k = 0; k < 200; k++) {
		memset(out, 0xee, sizeof out);
		if (!OK(choir_allreduce(c->comm, choir_host(in), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL,
		                        NULL)))
			break;
		CHECK(is_sum(c, out));
	}
	return NULL;
}

/* The same calls with events, each behind a gate that opens a moment later. */
static void *goes_on(void *arg)
{
	struct caller *c = arg;
	struct world *world = c->world;
	int rank = c->rank;
	float in[COUNT], out[COUNT];

	for (int i = 0; i < COUNT; i++)
		in[i] = (float)(rank + i);
	for (int k = 0; k < 40; k++) {
		cl_event gate = gate_make(choir_device_context(world->device));
		choir_call call = CHOIR_CALL_INIT;
		choir_event *event = NULL;
		int done = 0;

		memset(out, 0xee, sizeof out);
		call.cl_deps = &gate;
		call.n_cl_deps = 1;
		OK(choir_allreduce(c->comm, choir_host(in), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, &call,
		                   &event));
		for (int i = 0; i < 20 + 10 * rank; i++) {
			OK(choir_event_test(event, &done));
			CHECK(!done);
			sched_yield();
		}
		gate_open(gate, CL_COMPLETE);
		if (OK(choir_event_wait(event, -1)))
			CHECK(is_sum(c, out));
		choir_event_release(event);
		clReleaseEvent(gate);
	}
	return NULL;
}

static void threads(struct world *world, int rank, choir_comm *comm, void *unused)
{
	void *(*const what[])(void *) = { blocks, goes_on, blocks };
	struct caller callers[3];

	(void)unused;
	for (int i = 0; i < 3; i++) {
		callers[i] = (struct caller){ .world = world, .rank = rank, .comm = comm };
		CHECK(pthread_create(&callers[i].thread, NULL, what[i], &callers[i]) == 0);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(callers[i].thread, NULL);
	CHECK(sum_works(comm, COUNT));
}

void test_threads(void **state)
{
	(void)state;
	line_up_run(1, 0, 20000, threads, NULL);
	line_up_run(2, 0, 20000, threads, NULL);
	line_up_run(3, 0, 20000, threads, NULL);
}
