/* SPDX-License-Identifier: MIT */
/* choir_sendrecv: whom it meets, when its one event completes, and what it is when one half fails.  Sends that are far
 * ahead of their receives. */
#include "exec/comm.h"
#include "world/gate.h"
#include "world/spans.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 100000 };

/* To oneself, blocking: neither half waits for the other to be called. */
static void with_itself(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static __thread float out[ROOM], in[ROOM];
	size_t counts[] = { 0, 1, 1000, ROOM };

	(void)unused;
	for (size_t c = 0; c < 4; c++) {
		for (size_t i = 0; i < counts[c]; i++) {
			out[i] = (float)(i % 1000) + (float)rank;
			in[i] = -1;
		}
		OK(choir_sendrecv(comm, choir_host(out), counts[c], rank, choir_host(in), counts[c], rank, CHOIR_F32,
		                  NULL, NULL));
		CHECK(memcmp(in, out, counts[c] * sizeof *in) == 0);
	}
}

static void test_itself(void **state)
{
	(void)state;
	line_up_layouts(1, with_itself);
	line_up_layouts(3, with_itself);
}

/* Rank 0 in one call what rank 1 does in two, receive first and send first; and a shift by one whose lengths differ
 * from pair to pair. */
static void with_others(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float out[8] = { 0 }, in[8] = { 0 };
	int n = world->n, left = (rank + n - 1) % n;

	(void)unused;
	for (int first = 0; first < 2; first++) {
		choir_event *event = NULL;

		out[0] = (float)(rank + 10);
		if (rank == 0)
			OK(choir_sendrecv(comm, choir_host(out), 1, 1, choir_host(in), 1, 1, CHOIR_F32, NULL, NULL));
		else if (rank == 1 && first)
			OK(choir_send(comm, choir_host(out), 1, CHOIR_F32, 0, NULL, &event));
		if (rank == 1)
			OK(choir_recv(comm, choir_host(in), 1, CHOIR_F32, 0, NULL, NULL));
		if (rank == 1 && !first)
			OK(choir_send(comm, choir_host(out), 1, CHOIR_F32, 0, NULL, &event));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		choir_event_release(event);
		CHECK(rank > 1 || in[0] == (float)(11 - rank));
	}
	for (int i = 0; i < n; i++)
		out[i] = (float)(rank * 10 + i);
	OK(choir_sendrecv(comm, choir_host(out), (size_t)rank + 1, (rank + 1) % n, choir_host(in), (size_t)left + 1,
	                  left, CHOIR_F32, NULL, NULL));
	for (int i = 0; i <= left; i++)
		CHECK(in[i] == (float)(left * 10 + i));
}

static void test_others(void **state)
{
	(void)state;
	line_up_layouts(2, with_others);
	line_up_layouts(3, with_others);
	line_up_layouts(5, with_others);
}

enum { AHEAD = 150, LONGEST = 5000 }; /* more than a ring and the transport hold */

/* In floats: what fits beside a flag, a box of the arena, or neither. */
static size_t length_of(int message)
{
	static const size_t lengths[] = { 1, 12, 13, 1024, 1025, 0, 2, LONGEST, 1, 900 };

	return lengths[(size_t)message % (sizeof lengths / sizeof *lengths)];
}

static void write_message(float *out, int from, int message)
{
	for (size_t i = 0; i < length_of(message); i++)
		out[i] = (float)((from * 97 + message * 13) % 1000 * 8192 + (int)i);
}

static bool is_message(const float *in, int from, int message)
{
	for (size_t i = 0; i < length_of(message); i++)
		if (in[i] != (float)((from * 97 + message * 13) % 1000 * 8192 + (int)i))
			return false;
	return in[length_of(message)] == -1;
}

/* All are sent before any is received; then they are waited for from the last to the first; then one at a time. */
static void far_ahead(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static __thread float in[AHEAD][LONGEST + 1], out[LONGEST];
	int n = world->n, left = (rank + n - 1) % n, right = (rank + 1) % n;
	choir_event *sent[AHEAD] = { NULL }, *received[AHEAD] = { NULL };

	(void)unused;
	for (int round = 0; round < 3; round++) {
		for (int m = 0; m < AHEAD; m++) {
			write_message(out, rank, m);
			if (length_of(m) == LONGEST) /* others wait for nobody */
				continue;
			OK(choir_send(comm, choir_host(out), length_of(m), CHOIR_F32, right, NULL, NULL));
		}
		line_up();
		for (int m = 0; m < AHEAD; m++) {
			in[m][length_of(m)] = -1;
			if (length_of(m) != LONGEST)
				OK(choir_recv(comm, choir_host(in[m]), length_of(m), CHOIR_F32, left, NULL,
				              &received[m]));
		}
		for (int m = AHEAD - 1; m >= 0; m--) {
			if (received[m] == NULL)
				continue;
			OK(choir_event_wait(received[m], -1));
			choir_event_release(received[m]);
			received[m] = NULL;
			CHECK(is_message(in[m], left, m));
		}
		for (int m = 0; m < AHEAD; m++) {
			in[0][length_of(m)] = -1;
			write_message(out, rank, m);
			if (m % 3 == 2)
				OK(choir_send(comm, choir_host(out), length_of(m), CHOIR_F32, right, NULL, &sent[m]));
			if (m % 3 == 2)
				OK(choir_recv(comm, choir_host(in[0]), length_of(m), CHOIR_F32, left, NULL, NULL));
			else
				OK(choir_sendrecv(comm, choir_host(out), length_of(m), right, choir_host(in[0]),
				                  length_of(m), left, CHOIR_F32, NULL, NULL));
			CHECK(is_message(in[0], left, m));
			if (sent[m] != NULL)
				OK(choir_event_wait(sent[m], -1));
			choir_event_release(sent[m]);
			sent[m] = NULL;
		}
	}
}

static void test_far_ahead(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		line_up_layouts(sizes[i], far_ahead);
}

static void count_up(void *ctx, choir_status status)
{
	atomic_fetch_add((_Atomic int *)ctx, status == CHOIR_SUCCESS ? 1 : 100);
}

/* The event is complete once both halves are, and then once: rank 1 takes what rank 0 sends long before it sends
 * itself. */
static void one_event(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float out = (float)(rank + 1), in = 0;
	_Atomic int called = 0;
	choir_event *event;
	int done = 1;

	(void)unused;
	if (rank == 0) {
		OK(choir_sendrecv(comm, choir_host(&out), 1, 1, choir_host(&in), 1, 1, CHOIR_F32, NULL, &event));
		OK(choir_event_on_complete(event, count_up, &called));
		line_up(); /* rank 1 has received */
		OK(choir_event_test(event, &done));
		CHECK(done == 0 && called == 0);
		IS(choir_event_wait(event, 1), CHOIR_TIMEOUT);
		line_up();
		OK(choir_event_wait(event, -1));
		OK(choir_event_status(event));
		while (atomic_load(&called) == 0) /* callbacks run after waiters are let go */
			sched_yield();
		CHECK(called == 1 && in == 2 && strcmp(choir_event_algorithm(event), "p2p") == 0);
		choir_event_release(event);
	} else {
		OK(choir_recv(comm, choir_host(&in), 1, CHOIR_F32, 0, NULL, NULL));
		line_up();
		line_up();
		OK(choir_send(comm, choir_host(&out), 1, CHOIR_F32, 0, NULL, NULL));
	}
	OK(choir_barrier(comm, NULL, NULL));
}

static void test_one_event(void **state)
{
	(void)state;
	line_up_layouts(2, one_event);
}

/* The same call again and again, which is carried out without being looked at again: with other bytes, behind calls
 * that are still under way, between others, and last with a peer that calls something else. */
static void repeated(struct world *world, int rank, choir_comm *comm, void *unused)
{
	uint32_t out[24] = { 0 }, in[24] = { 0 }, more = 0, early = (uint32_t)rank;
	int n = world->n, left = (rank + n - 1) % n, right = (rank + 1) % n;
	choir_status st = CHOIR_SUCCESS;

	(void)unused;
	for (uint32_t i = 0; i < 120; i++) {
		size_t count = i < 60 ? 3 : 23;
		choir_event *event = NULL;

		if (i % 8 == 5)
			OK(choir_recv(comm, choir_host(&more), 1, CHOIR_U32, left, NULL, &event));
		if (i % 8 == 5)
			OK(choir_send(comm, choir_host(&early), 1, CHOIR_U32, right, NULL, NULL));
		if (i % 16 == 15)
			OK(choir_barrier(comm, NULL, NULL));
		for (uint32_t k = 0; k < count; k++)
			out[k] = (uint32_t)rank << 16 | i << 8 | k;
		OK(choir_sendrecv(comm, choir_host(out), count, right, choir_host(in), count, left, CHOIR_U32, NULL,
		                  NULL));
		for (uint32_t k = 0; k < count; k++)
			CHECK(in[k] == ((uint32_t)left << 16 | i << 8 | k));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		choir_event_release(event);
		CHECK(event == NULL || more == (uint32_t)left);
	}
	line_up(); /* the failure is everybody's */
	st = choir_sendrecv(comm, choir_host(out), rank == 0 ? 22 : 23, right, choir_host(in), left == 0 ? 23 : 22,
	                    left, CHOIR_U32, NULL, NULL);
	for (int i = 0; i < 50 && st == CHOIR_SUCCESS; i++)
		st = choir_barrier(comm, NULL, NULL);
	CHECK(st == CHOIR_MISMATCH && says(choir_last_error(), "22 x u32|23 x u32"));
	IS(choir_sendrecv(comm, choir_host(out), 23, right, choir_host(in), 23, left, CHOIR_U32, NULL, NULL),
	   CHOIR_MISMATCH);
}

static void test_repeated(void **state)
{
	(void)state;
	line_up_layouts(2, repeated);
	line_up_layouts(3, repeated);
	line_up_layouts(5, repeated);
}

/* A half that does not match fails the whole, and says so. */
static void wrong_half(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float out[16] = { 0 }, in[16] = { 0 };
	choir_status st;

	(void)unused;
	if (rank == 0)
		st = choir_sendrecv(comm, choir_host(out), 8, 1, choir_host(in), 9, 1, CHOIR_F32, NULL, NULL);
	else
		st = choir_sendrecv(comm, choir_host(out), 8, 0, choir_host(in), 8, 0, CHOIR_F32, NULL, NULL);
	CHECK(rank == 1 || (st == CHOIR_MISMATCH && says(choir_last_error(), "8 x f32|9 x f32|rank 0|rank 1")));
	for (int i = 0; i < 50 && st == CHOIR_SUCCESS; i++)
		st = choir_barrier(comm, NULL, NULL);
	CHECK(st == CHOIR_MISMATCH && says(choir_last_error(), "8 x f32|9 x f32"));
}

/* What it depends on holds both halves back, and its failure is the outcome. */
static void behind_deps(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float out = 3, in = 0;
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event;
	cl_event gate;

	(void)unused;
	for (int good = 1; good >= 0; good--) {
		gate = gate_make(choir_device_context(world->device));
		call.cl_deps = &gate;
		call.n_cl_deps = 1;
		OK(choir_sendrecv(comm, choir_host(&out), 1, rank, choir_host(&in), 1, rank, CHOIR_F32, &call, &event));
		IS(choir_event_wait(event, 5), CHOIR_TIMEOUT);
		gate_open(gate, good ? CL_COMPLETE : -5);
		if (good)
			OK(choir_event_wait(event, -1));
		else
			SAYS(choir_event_wait(event, -1), CHOIR_OPENCL, "rank 0|depends on");
		CHECK(in == 3);
		clReleaseEvent(gate);
		choir_event_release(event);
	}
}

static void test_failures(void **state)
{
	(void)state;
	line_up_layouts(2, wrong_half);
	line_up_layouts(1, behind_deps);
}

enum { LONG_MOST = 1500000 }; /* 6 MB: three rings */

static uint32_t word_of(int from, uint32_t round, size_t i)
{
	return (uint32_t)from << 29 ^ round << 24 ^ (uint32_t)i * 2654435761u;
}

static bool is_from(const uint32_t *in, size_t count, int from, uint32_t round)
{
	for (size_t i = 0; i < count; i++)
		if (in[i] != word_of(from, round, i))
			return false;
	return in[-1] == 0xa5a5a5a5 && in[count] == 0xa5a5a5a5;
}

/* Long messages both ways by non-temporal stores, as between cores that share no cache: one copy goes beside another
 * (Note [both at once] in exec/p2p.c).  Blocking, with an event, and with a message on its way that is taken later. */
static void both_at_once(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const size_t counts[] = { 131073, 262144, 524291, LONG_MOST };
	uint32_t *out = malloc(LONG_MOST * sizeof *out), *room = malloc((LONG_MOST + 2) * sizeof *room), *in = room + 1;
	int n = world->n, left = (rank + n - 1) % n, right = (rank + 1) % n;

	(void)unused;
	comm->far_ranks = UINT64_MAX;
	for (uint32_t round = 0; round < 12; round++) {
		size_t count = counts[round / 3];
		uint32_t early = word_of(rank, round, 7), taken = 0;
		choir_event *event = NULL;
		choir_call tagged = CHOIR_CALL_INIT;

		tagged.tag = 5;
		memset(room, 0xa5, (count + 2) * sizeof *room);
		for (size_t i = 0; i < count; i++)
			out[i] = word_of(rank, round, i);
		if (round % 3 == 2)
			OK(choir_send(comm, choir_host(&early), 1, CHOIR_U32, right, &tagged, NULL));
		OK(choir_sendrecv(comm, choir_host(out), count, right, choir_host(in), count, left, CHOIR_U32, NULL,
		                  round % 3 == 1 ? &event : NULL));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		choir_event_release(event);
		CHECK(is_from(in, count, left, round));
		if (round % 3 == 2)
			OK(choir_recv(comm, choir_host(&taken), 1, CHOIR_U32, left, &tagged, NULL));
		CHECK(round % 3 != 2 || taken == word_of(left, round, 7));
	}
	free(out);
	free(room);
}

static void test_both_at_once(void **state)
{
	(void)state;
	line_up_run(1, 0, 120000, both_at_once, NULL);
	line_up_run(2, 0, 120000, both_at_once, NULL);
	line_up_run(3, 0, 120000, both_at_once, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_itself),   cmocka_unit_test(test_others),       cmocka_unit_test(test_far_ahead),
		cmocka_unit_test(test_spans),    cmocka_unit_test(test_repeated),     cmocka_unit_test(test_one_event),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_both_at_once),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
