/* SPDX-License-Identifier: MIT */
/* Events: waiting, chaining, queues, callbacks and lifetimes, on worlds of 1, 2, 3, 5 and 8 ranks.  What is to be
 * unfinished is held back by a gate, a user event of the test's own, never by time. */
#include "world/gate.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 300 };

static void on_all_worlds(world_fn fn)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	for (int per_node = 0; per_node <= 2; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			cl_event gate = gate_make(choir_device_context(world_device()));

			line_up_run(sizes[i], per_node, 30000, fn, gate);
			clReleaseEvent(gate);
		}
}

/* Rank 0 starts behind the gate.  Everybody's waits run out, which changes nothing; then the gate opens. */
static void waits(struct world *world, int rank, choir_comm *comm, void *gate)
{
	choir_call call = CHOIR_CALL_INIT;
	cl_event deps[1] = { gate };
	struct sum sum;
	int done = 7;

	call.cl_deps = deps;
	call.n_cl_deps = rank == 0;
	OK(sum_start(&sum, comm, COUNT, 1, &call, true));
	OK(choir_event_test(sum.event, &done));
	CHECK(done == 0 && choir_event_status(sum.event) == CHOIR_RUNNING &&
	      strcmp(choir_event_error(sum.event), "") == 0);
	for (int i = 0; i < 3; i++)
		SAYS(choir_event_wait(sum.event, i), CHOIR_TIMEOUT, "was not complete after");
	OK(choir_event_test(sum.event, &done));
	CHECK(done == 0);
	line_up();
	if (rank == 0)
		gate_open(gate, CL_COMPLETE);
	OK(choir_event_wait(sum.event, INT64_MAX));
	CHECK(sum_is(&sum, world->n));
	OK(choir_event_wait(sum.event, 0)); /* waiting does not consume */
	OK(choir_event_wait(sum.event, -1));
	OK(choir_event_test(sum.event, &done));
	CHECK(done == 1 && choir_event_status(sum.event) == CHOIR_SUCCESS &&
	      strlen(choir_event_algorithm(sum.event)) > 0);
	sum_free(&sum);
}

static void test_waits(void **state)
{
	(void)state;
	on_all_worlds(waits);
}

/* --- callbacks --- */

struct caller {
	struct world *world;
	int rank;
	choir_comm *comm;
	choir_event *running; /* an event that is not complete while the callback runs */
	struct sum next;
	sem_t called;
	int calls;
};

static void ended(void *ctx, choir_status status)
{
	struct caller *c = ctx;
	struct world *world = c->world;
	int rank = c->rank;

	CHECK(status == CHOIR_SUCCESS);
	c->calls++;
	sem_post(&c->called);
}

/* What a callback may do, and what is refused there. */
static void busy(void *ctx, choir_status status)
{
	struct caller *c = ctx;
	struct world *world = c->world;
	int rank = c->rank;
	choir_comm *out;

	CHECK(status == CHOIR_SUCCESS);
	SAYS(choir_event_wait(c->running, 0), CHOIR_WOULD_DEADLOCK, "callback");
	SAYS(choir_barrier(c->comm, NULL, NULL), CHOIR_WOULD_DEADLOCK, "choir_barrier|callback");
	SAYS(choir_comm_destroy(c->comm), CHOIR_WOULD_DEADLOCK, "choir_comm_destroy|callback");
	SAYS(choir_comm_split(c->comm, 0, 0, &out), CHOIR_WOULD_DEADLOCK, "choir_comm_split|callback");
	SAYS(choir_group_begin(), CHOIR_WOULD_DEADLOCK, "choir_group_begin|callback");
	OK(choir_event_on_complete(c->running, ended, c));
	OK(sum_start(&c->next, c->comm, COUNT, 5, NULL, true)); /* the next in the chain */
	sem_post(&c->called);
}

static void callbacks(struct world *world, int rank, choir_comm *comm, void *gate)
{
	struct caller c = { .world = world, .rank = rank, .comm = comm };
	choir_call call = CHOIR_CALL_INIT;
	cl_event deps[1] = { gate };
	struct sum first, second;

	sem_init(&c.called, 0, 0);
	OK(sum_start(&first, comm, COUNT, 1, NULL, true));
	call.cl_deps = deps;
	call.n_cl_deps = 1;
	OK(sum_start(&second, comm, COUNT, 2, &call, true));
	c.running = second.event;
	OK(choir_event_on_complete(first.event, busy, &c));
	sem_wait(&c.called); /* nobody waits for the event: it progresses by itself */
	CHECK(c.calls == 0);
	line_up();
	if (rank == 0)
		gate_open(gate, CL_COMPLETE);
	sem_wait(&c.called);
	CHECK(c.calls == 1 && sum_is(&first, world->n) && sum_is(&second, world->n));
	OK(choir_event_on_complete(second.event, ended, &c)); /* complete: at once, here */
	CHECK(c.calls == 2);
	OK(choir_event_wait(c.next.event, -1));
	CHECK(sum_is(&c.next, world->n));
	sum_free(&first);
	sum_free(&second);
	sum_free(&c.next);
	sem_destroy(&c.called);
}

static void test_callbacks(void **state)
{
	(void)state;
	on_all_worlds(callbacks);
}

/* --- dependencies --- */

/* Ten in a chain, each the sum of the one before, alternating between two comms; all events but the last are released
 * before anything has run. */
static void chain(struct world *world, int rank, choir_comm *comm, void *gate)
{
	cl_event other = gate_make(gate_context()), deps[2] = { gate, other };
	choir_call call = CHOIR_CALL_INIT;
	choir_comm *pair[2] = { comm, NULL };
	choir_event *before = NULL, *event;
	float *values = malloc(COUNT * sizeof(float)), wanted = 1;

	OK(choir_comm_split(comm, 0, -rank, &pair[1]));
	for (int i = 0; i < COUNT; i++)
		values[i] = 1;
	for (int i = 0; i < 6; i++, wanted *= (float)world->n) {
		call.cl_deps = i == 0 ? deps : NULL;
		call.n_cl_deps = i == 0 ? 2 : 0;
		call.deps = &before;
		call.n_deps = before != NULL;
		OK(choir_allreduce(pair[i % 2], choir_host(values), choir_host(values), COUNT, CHOIR_F32, CHOIR_OP_SUM,
		                   &call, &event));
		choir_event_release(before); /* releasing never cancels */
		before = event;
	}
	line_up();
	CHECK(values[0] == 1);
	if (rank == 0)
		gate_open(gate, CL_COMPLETE);
	gate_open(other, CL_COMPLETE);
	OK(choir_event_wait(before, -1));
	for (int i = 0; i < COUNT; i++)
		if (values[i] != wanted)
			world_fail(world, rank, "chain: element %d is %g, not %g", i, values[i], wanted);
	choir_event_release(before);
	OK(choir_comm_destroy(pair[1]));
	clReleaseEvent(other);
	free(values);
}

static void test_chain(void **state)
{
	(void)state;
	on_all_worlds(chain);
}

/* A dependency that fails: the call fails on that rank with a sentence, and with it the comm on all ranks; what
 * depended on it likewise. */
static void failed_dep(struct world *world, int rank, choir_comm *comm, void *gate)
{
	cl_event mine = gate_make(gate_context()), deps[1] = { mine };
	choir_call call = CHOIR_CALL_INIT, then = CHOIR_CALL_INIT;
	struct sum sum, next;
	choir_comm *other;

	(void)gate;
	OK(choir_comm_split(comm, 0, 0, &other));
	call.cl_deps = deps;
	call.n_cl_deps = rank == world->n - 1;
	OK(sum_start(&sum, comm, COUNT, 1, &call, true));
	then.deps = &sum.event;
	then.n_deps = 1;
	OK(sum_start(&next, other, COUNT, 1, &then, true));
	line_up(); /* all calls are made: what fails now fails all of them */
	gate_open(mine, -5);
	IS(choir_event_wait(sum.event, -1), CHOIR_OPENCL);
	CHECK(says(choir_event_error(sum.event), "allreduce|cl_event") &&
	      choir_event_status(sum.event) == CHOIR_OPENCL);
	IS(choir_event_wait(next.event, -1), CHOIR_OPENCL);
	CHECK(says(choir_event_error(next.event), "depends on"));
	IS(choir_comm_status(comm), CHOIR_OPENCL);
	IS(choir_barrier(comm, NULL, NULL), CHOIR_OPENCL);
	/* over the network the output is undefined */
	CHECK(choir_comm_nodes(comm) > 1 || (sum.recv[0] == -1 && next.recv[0] == -1));
	clReleaseEvent(mine);
	sum_free(&sum);
	sum_free(&next);
	choir_comm_destroy(other);
}

static void test_failed_dep(void **state)
{
	(void)state;
	on_all_worlds(failed_dep);
}

/* --- queues --- */

static cl_command_queue queue_of(struct world *world)
{
	cl_int rc;

	return clCreateCommandQueueWithProperties(choir_device_context(world->device), choir_device_id(world->device),
	                                          NULL, &rc);
}

/* fill (held by the gate) on queue 1 -> allreduce after queue 1 -> copy on queue 2, in order, ten of them; the host
 * waits for the end only. */
static void queues(struct world *world, int rank, choir_comm *comm, void *gate)
{
	enum { N = 10, BYTES = COUNT * 4 };
	cl_command_queue produce = queue_of(world), consume = queue_of(world);
	cl_context context = choir_device_context(world->device);
	cl_mem in = clCreateBuffer(context, CL_MEM_READ_WRITE, N * BYTES, NULL, NULL),
	       out = clCreateBuffer(context, CL_MEM_READ_WRITE, N * BYTES, NULL, NULL),
	       copy = clCreateBuffer(context, CL_MEM_READ_WRITE, N * BYTES, NULL, NULL);
	choir_event *events[N];
	cl_event first = gate, as_cl;
	float *got = malloc(N * BYTES);

	for (int i = 0; i < N; i++) {
		choir_call call = CHOIR_CALL_INIT;
		float value = (float)(rank + i);

		clEnqueueFillBuffer(produce, in, &value, 4, (size_t)i * BYTES, BYTES, i == 0, i == 0 ? &first : NULL,
		                    NULL);
		call.after = produce;
		OK(choir_allreduce(comm, choir_mem(in, (size_t)i * BYTES), choir_mem(out, (size_t)i * BYTES), COUNT,
		                   CHOIR_F32, CHOIR_OP_SUM, &call, &events[i]));
	}
	OK(choir_event_to_cl(events[N - 1], &as_cl));
	for (int i = 0; i < N; i++) {
		OK(choir_queue_wait(consume, 1, &events[i]));
		clEnqueueCopyBuffer(consume, out, copy, (size_t)i * BYTES, (size_t)i * BYTES, BYTES, 0, NULL, NULL);
		choir_event_release(events[i]);
	}
	clFlush(consume);
	line_up();
	if (rank == 0)
		gate_open(gate, CL_COMPLETE);
	CHECK(clWaitForEvents(1, &as_cl) == CL_SUCCESS);
	CHECK(clEnqueueReadBuffer(consume, copy, CL_TRUE, 0, N * BYTES, got, 0, NULL, NULL) == CL_SUCCESS);
	for (int i = 0; i < N * COUNT; i++)
		if (got[i] != (float)(i / COUNT * world->n + world->n * (world->n - 1) / 2)) {
			world_fail(world, rank, "queues: element %d is %g", i, got[i]);
			break;
		}
	free(got);
	clReleaseEvent(as_cl);
	clReleaseMemObject(in);
	clReleaseMemObject(out);
	clReleaseMemObject(copy);
	clReleaseCommandQueue(produce);
	clReleaseCommandQueue(consume);
}

static void test_queues(void **state)
{
	(void)state;
	on_all_worlds(queues);
}

/* --- lifetimes --- */

static void test_lifetimes(void **state)
{
	choir_device *device;
	choir_comm *comms[2];
	struct sum sums[2];
	cl_event as_cl;
	int done = 0;

	(void)state;
	assert_int_equal(
	    choir_device_create(choir_device_context(world_device()), choir_device_id(world_device()), NULL, &device),
	    CHOIR_SUCCESS);
	choir_device *both[2] = { device, device };
	assert_int_equal(choir_comm_create_local(2, both, NULL, comms), CHOIR_SUCCESS);
	choir_device_destroy(device); /* the comms keep it */
	for (int r = 0; r < 2; r++)
		assert_int_equal(sum_start(&sums[r], comms[r], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	choir_event_retain(sums[0].event);
	choir_event_release(sums[0].event);
	for (int r = 0; r < 2; r++)
		assert_int_equal(choir_comm_destroy(comms[r]), CHOIR_SUCCESS); /* drains */
	for (int r = 0; r < 2; r++) {
		assert_int_equal(choir_event_test(sums[r].event, &done), CHOIR_SUCCESS);
		assert_int_equal(done, 1);
		assert_int_equal(choir_event_wait(sums[r].event, -1), CHOIR_SUCCESS);
		assert_true(sum_is(&sums[r], 2));
		assert_int_equal(choir_event_to_cl(sums[r].event, &as_cl), CHOIR_ARGUMENT);
		assert_true(strlen(choir_event_algorithm(sums[r].event)) > 0);
		sum_free(&sums[r]);
	}
}

/* --- the algorithm and the bytes that left the node --- */

enum { RING_COUNT = 1000, HEADERS_BYTES = 1024 };

/* Of two ranks each sends half of the data twice. */
static void counted(struct world *world, int rank, choir_comm *comm, void *crosses)
{
	static int32_t zeros[RING_COUNT], out[2][RING_COUNT];
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event;
	uint64_t bytes;

	call.options = "algorithm=ring";
	OK(choir_allreduce(comm, choir_host(zeros), choir_host(out[rank]), RING_COUNT, CHOIR_I32, CHOIR_OP_SUM, &call,
	                   &event));
	OK(choir_event_wait(event, -1));
	bytes = choir_event_wire_bytes(event);
	CHECK(strcmp(choir_event_algorithm(event), "ring") == 0);
	CHECK(crosses == NULL ? bytes == 0 : bytes > sizeof zeros && bytes < sizeof zeros + HEADERS_BYTES);
	choir_event_release(event);
}

static void test_bytes_that_leave_the_node(void **state)
{
	int crosses;

	(void)state;
	world_run_at(2, 0, 60000, counted, NULL);
	world_run_at(2, 1, 60000, counted, &crosses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_callbacks),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_failed_dep),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_bytes_that_leave_the_node),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
