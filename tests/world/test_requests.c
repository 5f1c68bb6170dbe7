/* SPDX-License-Identifier: MIT */
/* Persistent collectives: started again and again, blocking, with events, in groups and behind deps; beside plain calls
 * of other ranks; what is refused; who may go first. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 700, MOST = 8 };

static const choir_status wrong = CHOIR_ARGUMENT;

static void on_layouts(int n, world_fn fn)
{
	for (int per_node = 0; per_node <= 2 && (per_node == 0 || per_node < n); per_node++)
		line_up_run(n, per_node, 20000, fn, NULL);
}

/* One request of each kind, over buffers of its own. */
enum { ALLREDUCE, REDUCE_SCATTER, ALLGATHER, ALLTOALL, BROADCAST, REDUCE, BARRIER, KINDS };

struct kit {
	int rank, n;
	int32_t in[KINDS][COUNT * MOST], out[KINDS][COUNT * MOST];
	choir_request *requests[KINDS];
};

static void make(struct kit *kit, struct world *world, int rank, choir_comm *comm, const choir_call *call)
{
	choir_buffer in[KINDS], out[KINDS];
	choir_request **r = kit->requests;

	kit->rank = rank;
	kit->n = world->n;
	for (int k = 0; k < KINDS; k++) {
		in[k] = choir_host(kit->in[k]);
		out[k] = choir_host(kit->out[k]);
	}
	OK(choir_allreduce_init(comm, in[0], out[0], COUNT, CHOIR_I32, CHOIR_OP_SUM, call, &r[ALLREDUCE]));
	OK(choir_reduce_scatter_init(comm, in[1], out[1], COUNT, CHOIR_I32, CHOIR_OP_SUM, call, &r[REDUCE_SCATTER]));
	OK(choir_allgather_init(comm, in[2], out[2], COUNT, CHOIR_I32, call, &r[ALLGATHER]));
	OK(choir_alltoall_init(comm, in[3], out[3], COUNT, CHOIR_I32, call, &r[ALLTOALL]));
	OK(choir_broadcast_init(comm, in[4], out[4], COUNT, CHOIR_I32, world->n - 1, call, &r[BROADCAST]));
	OK(choir_reduce_init(comm, in[5], out[5], COUNT, CHOIR_I32, CHOIR_OP_MAX, world->n / 2, call, &r[REDUCE]));
	OK(choir_barrier_init(comm, call, &r[BARRIER]));
}

static void unmake(struct kit *kit)
{
	for (int k = 0; k < KINDS; k++)
		choir_request_free(kit->requests[k]);
}

static int32_t given(int rank, int round, int i)
{
	return rank * 1000 + round * 10000 + i % 997;
}

static void fill(struct kit *kit, int round)
{
	memset(kit->out, 0xee, sizeof kit->out);
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < COUNT * kit->n; i++)
			kit->in[k][i] = given(kit->rank, round, i);
}

static bool is_right(const struct kit *kit, int kind, int round)
{
	int me = kit->rank, n = kit->n, blocks = kind == ALLGATHER || kind == ALLTOALL ? n : 1;

	for (int i = 0; i < COUNT * blocks; i++) {
		int32_t sum = n * (n - 1) / 2 * 1000, wanted[KINDS] = {
			[ALLREDUCE] = sum + n * given(0, round, i),
			[REDUCE_SCATTER] = sum + n * given(0, round, me * COUNT + i),
			[ALLGATHER] = given(i / COUNT, round, i % COUNT),
			[ALLTOALL] = given(i / COUNT, round, me * COUNT + i % COUNT),
			[BROADCAST] = given(n - 1, round, i),
			[REDUCE] = given(n - 1, round, i),
		};

		if (kind != BARRIER && (kind != REDUCE || me == n / 2) && kit->out[kind][i] != wanted[kind])
			return false;
	}
	return true;
}

static void check_all(struct kit *kit, struct world *world, int rank, int round)
{
	for (int k = 0; k < KINDS; k++)
		if (!is_right(kit, k, round))
			world_fail(world, rank, "request %d is wrong in round %d", k, round);
}

static struct kit kits[MOST];

/* Blocking, with events that are waited for in another order, in a group, and behind a dep of each start's own. */
static void again(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct kit *kit = &kits[rank];
	choir_call start = CHOIR_CALL_INIT, call = CHOIR_CALL_INIT;

	(void)unused;
	call.name = "kept";
	make(kit, world, rank, comm, &call);
	call.name = "forgotten"; /* it was copied */
	for (int round = 0; round < 12; round++) {
		choir_event *events[KINDS] = { NULL };
		cl_event gate = NULL;

		fill(kit, round);
		if (round % 4 == 3) {
			gate = gate_make(choir_device_context(world->device));
			start.cl_deps = &gate;
			start.n_cl_deps = 1;
		}
		if (round % 4 == 2)
			OK(choir_group_begin());
		for (int k = 0; k < KINDS; k++)
			OK(choir_start(kit->requests[k], round % 4 == 3 ? &start : NULL,
			               round % 2 ? &events[k] : NULL));
		if (round % 4 == 2)
			OK(choir_group_end());
		if (gate != NULL) {
			IS(choir_event_wait(events[rank % KINDS], 1), CHOIR_TIMEOUT);
			gate_open(gate, CL_COMPLETE);
			clReleaseEvent(gate);
		}
		for (int k = KINDS - 1; k >= 0 && round % 2; k--) {
			OK(choir_event_wait(events[k], -1));
			choir_event_release(events[k]);
		}
		check_all(kit, world, rank, round);
	}
	unmake(kit);
}

static void test_again(void **state)
{
	(void)state;
	on_layouts(1, again);
	on_layouts(2, again);
	on_layouts(3, again);
	on_layouts(5, again);
}

/* Odd ranks make plain calls, rank 2 makes a new request each time; options and a dep between starts. */
static void beside_calls(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int32_t in[COUNT], out[COUNT] = { 0 };
	choir_request *request = NULL;
	choir_event *event = NULL;

	(void)unused;
	for (int round = 0; round < 30; round++) {
		choir_call start = CHOIR_CALL_INIT;
		choir_event *last = event;

		start.deps = &last;
		start.n_deps = last != NULL;
		if (last != NULL)
			OK(choir_event_wait(last, -1));
		for (int i = 0; i < COUNT; i++)
			in[i] = given(rank, round, i);
		if (rank % 2) {
			OK(choir_allreduce(comm, choir_host(in), choir_host(out), COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL,
			                   round % 3 ? &event : NULL));
		} else {
			if (request == NULL || rank == 2) {
				choir_request_free(request);
				OK(choir_allreduce_init(comm, choir_host(in), choir_host(out), COUNT, CHOIR_I32,
				                        CHOIR_OP_SUM, NULL, &request));
			}
			OK(choir_start(request, &start, round % 3 ? &event : NULL));
		}
		if (round % 3)
			OK(choir_event_wait(event, -1));
		if (event != last)
			choir_event_release(last);
		for (int i = 0; i < COUNT; i++)
			if (out[i] != world->n * (world->n - 1) / 2 * 1000 + world->n * given(0, round, i)) {
				world_fail(world, rank, "element %d is wrong in round %d", i, round);
				break;
			}
	}
	choir_event_release(event);
	choir_request_free(request);
}

static void test_beside_calls(void **state)
{
	(void)state;
	on_layouts(2, beside_calls);
	on_layouts(5, beside_calls);
}

/* A request differs from what another rank calls: told as of any call. */
static void differs(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static __thread int32_t data[COUNT];
	choir_request *request;

	(void)unused;
	OK(choir_allreduce_init(comm, choir_host(data), choir_host(data), COUNT - (rank == 1), CHOIR_I32, CHOIR_OP_SUM,
	                        NULL, &request));
	SAYS(choir_start(request, NULL, NULL), CHOIR_MISMATCH, "699|700|rank 1");
	SAYS(choir_start(request, NULL, NULL), CHOIR_MISMATCH, "699|700");
	choir_request_free(request);
}

static void test_differs(void **state)
{
	(void)state;
	on_layouts(2, differs);
}

/* Rank 0 alone: nothing is sent by what is refused. */
static void refusals(struct world *world, int rank, choir_comm *comm)
{
	int32_t data[4] = { 0 }, out[4] = { 0 };
	choir_buffer d = choir_host(data), o = choir_host(out);
	choir_call call = CHOIR_CALL_INIT;
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_request *r = NULL;
	choir_event *event = NULL;

	SAYS(choir_allreduce_init(comm, d, o, 4, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL), wrong,
	     "choir_allreduce_init|null");
	SAYS(choir_barrier_init(comm, NULL, NULL), wrong, "choir_barrier_init|null");
	SAYS(choir_allreduce_init(NULL, d, o, 4, CHOIR_I32, CHOIR_OP_SUM, NULL, &r), wrong, "choir_allreduce");
	SAYS(choir_allreduce_init(comm, choir_host(NULL), o, 4, CHOIR_I32, CHOIR_OP_SUM, NULL, &r), wrong,
	     "choir_allreduce");
	SAYS(choir_allreduce_init(comm, d, o, SIZE_MAX, CHOIR_I32, CHOIR_OP_SUM, NULL, &r), wrong, "choir_allreduce");
	SAYS(choir_allreduce_init(comm, d, choir_host(data + 1), 3, CHOIR_I32, CHOIR_OP_SUM, NULL, &r), wrong,
	     "overlap");
	SAYS(choir_allgather_init(comm, d, o, 1, 77, NULL, &r), wrong, "choir_allgather|77");
	SAYS(choir_alltoall_init(comm, d, o, 1, 77, NULL, &r), wrong, "choir_alltoall|77");
	SAYS(choir_reduce_scatter_init(comm, d, o, 1, CHOIR_F32, CHOIR_OP_BXOR, NULL, &r), CHOIR_UNSUPPORTED,
	     "f32|bxor");
	SAYS(choir_broadcast_init(comm, d, o, 1, CHOIR_I32, 9, NULL, &r), wrong, "choir_broadcast|rank 9");
	SAYS(choir_reduce_init(comm, d, o, 1, CHOIR_I32, CHOIR_OP_SUM, -1, NULL, &r), wrong, "choir_reduce|rank -1");
	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	SAYS(choir_allreduce_init(comm, d, o, 4, CHOIR_I32, CHOIR_OP_SUM, &call, &r), wrong,
	     "choir_allreduce_init|choir_start");
	call = (choir_call)CHOIR_CALL_INIT;
	call.options = "algorithm=magic";
	SAYS(choir_allreduce_init(comm, d, o, 4, CHOIR_I32, CHOIR_OP_SUM, &call, &r), wrong, "magic");
	CHECK(r == NULL);
	SAYS(choir_start(NULL, NULL, NULL), wrong, "choir_start|null");
	OK(choir_allreduce_init(comm, d, o, 4, CHOIR_I32, CHOIR_OP_SUM, NULL, &r));
	call.options = "algorithm=auto";
	SAYS(choir_start(r, &call, NULL), wrong, "choir_start|choir_allreduce_init");
	call = (choir_call)CHOIR_CALL_INIT;
	call.factor = 2;
	SAYS(choir_start(r, &call, &event), wrong, "choir_start|choir_allreduce_init");
	call = (choir_call)CHOIR_CALL_INIT;
	call.n_deps = 1;
	SAYS(choir_start(r, &call, &event), wrong, "choir_start");
	CHECK(event == NULL);
	choir_request_free(r);
	choir_request_free(NULL);
	clReleaseEvent(gate);
}

static void wrong_arguments(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	if (rank == 0)
		refusals(world, rank, comm);
	CHECK(sum_works(comm, COUNT));
}

static void test_wrong(void **state)
{
	(void)state;
	on_layouts(2, wrong_arguments);
}

/* The factor of a premultiplied sum is the request's. */
static void with_factor(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float in[3] = { 2, 4, 8 }, out[3] = { 0 };
	choir_call call = CHOIR_CALL_INIT;
	choir_request *request;

	(void)unused;
	call.factor = 0.5;
	call.options = "algorithm=auto";
	OK(choir_allreduce_init(comm, choir_host(in), choir_host(out), 3, CHOIR_F32, CHOIR_OP_PREMUL_SUM, &call,
	                        &request));
	for (int round = 0; round < 3; round++) {
		memset(out, 0, sizeof out);
		OK(choir_start(request, NULL, NULL));
		CHECK(out[0] == (float)world->n && out[2] == 4 * (float)world->n);
	}
	choir_request_free(request);
}

static void test_factor(void **state)
{
	(void)state;
	on_layouts(3, with_factor);
}

/* The comm goes before its requests, the cl_mems before both; a request goes while its call is in flight. */
static void who_goes_first(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float in[COUNT], out[COUNT] = { 0 };
	choir_request *on_parent, *on_child;
	choir_comm *child;
	choir_event *event;
	cl_mem mem;
	cl_int rc;

	(void)unused;
	for (int i = 0; i < COUNT; i++)
		in[i] = (float)rank;
	mem = clCreateBuffer(choir_device_context(world->device), CL_MEM_COPY_HOST_PTR, sizeof in, in, &rc);
	OK(choir_comm_split(comm, 0, 0, &child));
	OK(choir_allreduce_init(child, choir_mem(mem, 0), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL,
	                        &on_child));
	OK(choir_allreduce_init(comm, choir_mem(mem, 0), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL,
	                        &on_parent));
	clReleaseMemObject(mem);
	OK(choir_start(on_child, NULL, NULL));
	CHECK(out[COUNT - 1] == (float)(world->n * (world->n - 1) / 2));
	OK(choir_comm_destroy(child));
	SAYS(choir_start(on_child, NULL, NULL), wrong, "choir_start|destroyed");
	choir_request_free(on_child);
	out[0] = -1;
	OK(choir_start(on_parent, NULL, &event));
	choir_request_free(on_parent);
	OK(choir_event_wait(event, -1));
	CHECK(out[0] == (float)(world->n * (world->n - 1) / 2));
	choir_event_release(event);
}

static void test_who_goes_first(void **state)
{
	(void)state;
	on_layouts(1, who_goes_first);
	on_layouts(3, who_goes_first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again),   cmocka_unit_test(test_beside_calls),
		cmocka_unit_test(test_differs), cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_factor),  cmocka_unit_test(test_who_goes_first),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
