/* SPDX-License-Identifier: MIT */
/* Top-k calls that wait for events and are waited for: another tensor's call, a user event, one that fails. */
#include "topk/law.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 500, K = 40 };

static choir_topk_state *state_on(struct world *world, int rank, choir_comm *comm)
{
	choir_topk_config config = law_config("oktopk", N, K);
	choir_topk_state *state = NULL;

	OK(choir_topk_create(comm, &config, &state));
	return state;
}

static choir_status start(choir_topk_state *state, float *grad, float *dense, const choir_call *call,
                          choir_event **event_p)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;

	out.dense = choir_host(dense);
	return choir_topk_allreduce(state, choir_host(grad), &out, call, event_p);
}

static void fill(float *grad, int rank)
{
	for (size_t i = 0; i < N; i++)
		grad[i] = (float)((i * 37 + (size_t)rank * 11) % 101) - 50;
}

static bool is_over(struct world *world, int rank, choir_event *event)
{
	int done = 1;

	OK(choir_event_test(event, &done));
	return done != 0;
}

/* The first tensor's call is behind the gate; its result is the second one's gradient, and the program waits for the
 * second one's cl_event. */
static void chain_rank(struct world *world, int rank, choir_comm *comm, void *gate)
{
	choir_topk_state *states[4];
	float grad[N], first[N] = { 0 }, second[N], wanted[2][N];
	cl_event deps[1] = { gate }, as_cl = NULL;
	choir_call call = CHOIR_CALL_INIT;
	choir_event *a = NULL, *b = NULL;

	for (int i = 0; i < 4; i++)
		states[i] = state_on(world, rank, comm);
	fill(grad, rank);
	call.cl_deps = deps;
	call.n_cl_deps = 1;
	OK(start(states[0], grad, first, &call, &a));
	call = (choir_call)CHOIR_CALL_INIT;
	call.deps = &a;
	call.n_deps = 1;
	OK(start(states[1], first, second, &call, &b));
	OK(choir_event_to_cl(b, &as_cl));
	CHECK(!is_over(world, rank, a) && !is_over(world, rank, b));
	choir_event_release(a); /* releasing never cancels */
	choir_event_release(b);
	line_up();
	for (size_t i = 0; i < N; i++)
		CHECK(first[i] == 0);
	line_up();
	if (rank == 0)
		gate_open(gate, CL_COMPLETE);
	CHECK(clWaitForEvents(1, &as_cl) == CL_SUCCESS);
	clReleaseEvent(as_cl);
	OK(start(states[2], grad, wanted[0], NULL, NULL));
	OK(start(states[3], wanted[0], wanted[1], NULL, NULL));
	CHECK(memcmp(first, wanted[0], sizeof first) == 0 && memcmp(second, wanted[1], sizeof second) == 0);
	for (int i = 0; i < 4; i++)
		choir_topk_destroy(states[i]);
}

struct exported {
	unsigned char bytes[N * 4 + 1024];
	size_t n;
};

static void export_to(struct world *world, int rank, choir_topk_state *state, struct exported *to)
{
	to->n = sizeof to->bytes;
	OK(choir_topk_export(state, to->bytes, &to->n));
}

/* A dep of the last rank's fails: so does the call on all ranks, and what depends on it; the states are as before. */
static void failed_rank(struct world *world, int rank, choir_comm *comm, void *gate)
{
	cl_event mine = gate_make(gate_context()), deps[1] = { mine };
	choir_call call = CHOIR_CALL_INIT, then = CHOIR_CALL_INIT;
	choir_topk_state *states[2];
	float grad[N], dense[2][N];
	struct exported before[2], after;
	choir_event *events[2] = { NULL, NULL };
	choir_comm *other;

	(void)gate;
	OK(choir_comm_split(comm, 0, 0, &other));
	states[0] = state_on(world, rank, comm);
	states[1] = state_on(world, rank, other);
	fill(grad, rank);
	for (int i = 0; i < 2; i++) {
		OK(start(states[i], grad, dense[i], NULL, NULL));
		export_to(world, rank, states[i], &before[i]);
	}
	call.cl_deps = deps;
	call.n_cl_deps = rank == world->n - 1;
	OK(start(states[0], grad, dense[0], &call, &events[0]));
	then.deps = events;
	then.n_deps = 1;
	OK(start(states[1], grad, dense[1], &then, &events[1]));
	line_up(); /* all calls are made: what fails now fails all of them */
	gate_open(mine, -5);
	for (int i = 0; i < 2; i++) {
		IS(choir_event_wait(events[i], -1), CHOIR_OPENCL);
		choir_event_release(events[i]);
		export_to(world, rank, states[i], &after);
		CHECK(after.n == before[i].n && memcmp(after.bytes, before[i].bytes, after.n) == 0);
		choir_topk_destroy(states[i]);
	}
	clReleaseEvent(mine);
	choir_comm_destroy(other);
}

static void on_worlds(world_fn fn)
{
	static const int sizes[] = { 1, 2, 3, 5 };

	for (int per_node = 0; per_node <= 2; per_node += 2)
		for (int i = 0; i < 4; i++) {
			cl_event gate = gate_make(choir_device_context(world_device()));

			line_up_run(sizes[i], per_node, 30000, fn, gate);
			clReleaseEvent(gate);
		}
}

static void chain(void **state)
{
	(void)state;
	on_worlds(chain_rank);
}

static void failed_dep(void **state)
{
	(void)state;
	on_worlds(failed_rank);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(chain), cmocka_unit_test(failed_dep) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
