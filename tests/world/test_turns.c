/* SPDX-License-Identifier: MIT */
/* A long call lets others have their turn, and calls that overtake others still end. */
#include "exec/engine.h"
#include "exec/steps.h"
#include "world/gate.h"

#include <choir/pairs.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	OVERTAKEN = 40,
	TURNS = 64 /* of STEP_PIECE_BYTES */
};

/* How often a run moved, and of these how often one that was not eligible. */
static _Atomic int all_moves, queued_moves;
static _Thread_local bool in_queued;

bool __real_run_advance(struct run *run);
bool __wrap_run_advance(struct run *run);
void __real_flight_advance_queued(struct flight *flight, size_t queue, bool (*advance)(struct run *run));
void __wrap_flight_advance_queued(struct flight *flight, size_t queue, bool (*advance)(struct run *run));

bool __wrap_run_advance(struct run *run)
{
	bool moved = __real_run_advance(run);

	atomic_fetch_add(&all_moves, moved);
	atomic_fetch_add(&queued_moves, in_queued && moved);
	return moved;
}

void __wrap_flight_advance_queued(struct flight *flight, size_t queue, bool (*advance)(struct run *run))
{
	in_queued = true;
	__real_flight_advance_queued(flight, queue, advance);
	in_queued = false;
}

/* The last of many sends, of so many bytes, waits for nothing, those before it for a gate that opens when the last one
 * has come. */
static void overtake(struct world *world, int rank, choir_comm *comm, size_t bytes)
{
	choir_event *events[OVERTAKEN + 1];
	unsigned char numbers[OVERTAKEN] = { 0 }, *last = calloc(bytes, 1);
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_call call = CHOIR_CALL_INIT;

	call.cl_deps = &gate;
	if (rank == 0)
		memset(last, 7, bytes);
	for (int k = 0; k <= OVERTAKEN; k++) {
		choir_buffer buffer = choir_host(k < OVERTAKEN ? &numbers[k] : last);
		size_t count = k < OVERTAKEN ? 1 : bytes;

		call.n_cl_deps = k < OVERTAKEN;
		if (rank == 0 && k < OVERTAKEN)
			numbers[k] = (unsigned char)(k + 1);
		if (rank == 0)
			OK(choir_send(comm, buffer, count, CHOIR_U8, 1, &call, &events[k]));
		else
			OK(choir_recv(comm, buffer, count, CHOIR_U8, 0, NULL, &events[k]));
	}
	OK(choir_event_wait(events[OVERTAKEN], 10000));
	line_up();
	gate_open(gate, CL_COMPLETE);
	for (int k = 0; k <= OVERTAKEN; k++) {
		OK(choir_event_wait(events[k], -1));
		CHECK(k == OVERTAKEN || numbers[k] == k + 1);
		choir_event_release(events[k]);
	}
	for (size_t i = 0; i < bytes; i++)
		CHECK(last[i] == 7);
	clReleaseEvent(gate);
	free(last);
}

static void overtake_short(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	overtake(world, rank, comm, 1);
}

static void overtake_long(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	overtake(world, rank, comm, (size_t)TURNS * STEP_PIECE_BYTES);
}

/* The slow check gets a long one going, which then does not wait for a slow check for each of its pieces. */
static void test_overtake(void **state)
{
	(void)state;
	line_up_layouts(2, overtake_short);
	for (int per_node = 0; per_node < 2; per_node++) {
		atomic_store(&queued_moves, 0);
		line_up_run(2, per_node, 60000, overtake_long, NULL);
		assert_in_range(atomic_load(&queued_moves), 1, TURNS); /* those of the others are among them */
	}
}

/* A call of many bytes, whose peer is never late, goes on in as many steps: between two others have their turn.  So a
 * sendrecv beside a recv that waits for what is sent after it. */
static void take_turns(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { BYTES = TURNS * STEP_PIECE_BYTES };
	unsigned char *send = malloc(BYTES), *recv = calloc(BYTES, 1), late = 0;
	choir_event *event = NULL, *waits = NULL;
	int n = choir_comm_size(comm), peer = n - 1 - rank;
	choir_call tagged = CHOIR_CALL_INIT;

	(void)arg;
	tagged.tag = 9;
	memset(send, rank + 1, BYTES);
	if (n == 1) {
		OK(choir_allreduce(comm, choir_host(send), choir_host(recv), BYTES, CHOIR_U8, CHOIR_OP_SUM, NULL,
		                   &event));
	} else {
		OK(choir_recv(comm, choir_host(&late), 1, CHOIR_U8, peer, &tagged, &waits));
		OK(choir_sendrecv(comm, choir_host(send), BYTES, peer, choir_host(recv), BYTES, peer, CHOIR_U8, NULL,
		                  &event));
	}
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	for (size_t i = 0; i < BYTES; i++)
		CHECK(recv[i] == peer + 1);
	if (n == 2) {
		OK(choir_send(comm, choir_host(send), 1, CHOIR_U8, peer, &tagged, NULL));
		OK(choir_event_wait(waits, -1));
		CHECK(late == peer + 1);
	}
	choir_event_release(waits);
	free(send);
	free(recv);
}

static void test_turns(void **state)
{
	(void)state;
	for (int n = 1; n <= 2; n++) {
		atomic_store(&all_moves, 0);
		line_up_run(n, n, 30000, take_turns, NULL);
		assert_in_range(atomic_load(&all_moves), n * TURNS / 2, INT_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_overtake), cmocka_unit_test(test_turns) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
