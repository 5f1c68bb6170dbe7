/* SPDX-License-Identifier: MIT */
/* Collectives whose counts differ from rank to rank, call after call: counts that stay, so that alltoallv proposes them
 * (Note [agreed counts] in api/alltoallv_call.c), and that change, on all ranks or on two. */
#include "exec/comm.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 8, MOST_COUNT = 4096, GAP = 3 };

/* How a call differs from those of variant 0. */
enum variant {
	SAME,
	PAIR,   /* rank 0 sends more to the last one */
	OTHERS, /* all counts are others */
	APART,  /* blocks lie apart: nobody else's business */
	EVENTS, /* odd ranks take an event, so they propose nothing */
	NAMED,  /* with an algorithm */
	NOTHING,
	VARIANTS
};

struct exchange {
	size_t sent[MOST_RANKS], from[MOST_RANKS], received[MOST_RANKS], to[MOST_RANKS];
	float *send, *recv;
};

static size_t count_of(int n, int from, int to, enum variant v, size_t scale)
{
	size_t count = (size_t)((3 * from + 5 * to) % (n + 1)) * scale;

	if (v == NOTHING)
		return 0;
	if (v == OTHERS)
		return (size_t)((2 * from + to) % (n + 2)) * scale;
	return v == PAIR && from == 0 && to == n - 1 ? count + 1 : count;
}

static float value_of(int from, int to, size_t i, int round)
{
	return (float)(((from * 31 + to * 7 + round) % 1000) * 4096 + (int)i);
}

static void fill(struct exchange *x, int n, int me, enum variant v, size_t scale, int round)
{
	size_t gap = v == APART ? GAP : 0, at = gap, back = gap;

	for (int r = 0; r < n; r++) {
		x->sent[r] = count_of(n, me, r, v, scale);
		x->received[r] = count_of(n, r, me, v, scale);
		x->from[r] = at;
		x->to[r] = back;
		at += x->sent[r] + gap;
		back += x->received[r] + gap;
		for (size_t i = 0; i < x->sent[r]; i++)
			x->send[x->from[r] + i] = value_of(me, r, i, round);
	}
	for (size_t i = 0; i < back + GAP; i++)
		x->recv[i] = -7;
}

static bool is_right(const struct exchange *x, int n, int me, int round)
{
	size_t at = 0;

	for (int r = 0; r < n; r++) {
		for (; at < x->to[r]; at++)
			if (x->recv[at] != -7)
				return false;
		for (size_t i = 0; i < x->received[r]; i++, at++)
			if (x->recv[at] != value_of(r, me, i, round))
				return false;
	}
	return x->recv[at] == -7;
}

static choir_status exchange(choir_comm *comm, const struct exchange *x, enum variant v)
{
	choir_call call = CHOIR_CALL_INIT;
	bool has_event = v == EVENTS && choir_comm_rank(comm) % 2 == 1;
	choir_event *event = NULL;
	choir_status st;

	call.options = v != NAMED                                                 ? NULL
	               : choir_comm_nodes(comm) == 1 && choir_comm_size(comm) > 1 ? "algorithm=slots"
	                                                                          : "algorithm=auto";
	st = choir_alltoallv(comm, choir_host(x->send), x->sent, v == APART ? x->from : NULL, choir_host(x->recv),
	                     x->received, v == APART ? x->to : NULL, CHOIR_F32, &call, has_event ? &event : NULL);
	return has_event ? world_wait(st, event) : st;
}

static void again_and_again(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const enum variant order[] = { SAME,   SAME,  SAME,  PAIR,    PAIR,    SAME, SAME,   OTHERS,
		                              OTHERS, APART, APART, SAME,    EVENTS,  SAME, EVENTS, PAIR,
		                              NAMED,  NAMED, SAME,  NOTHING, NOTHING, SAME, SAME };
	size_t scale = *(const size_t *)arg;
	struct exchange x = { .send = malloc(sizeof(float) * MOST_COUNT * MOST_RANKS),
		              .recv = malloc(sizeof(float) * MOST_COUNT * MOST_RANKS) };

	for (int round = 0; round < 2 * (int)(sizeof order / sizeof *order); round++) {
		enum variant v = order[(size_t)round % (sizeof order / sizeof *order)];

		fill(&x, world->n, rank, v, scale, round);
		OK(exchange(comm, &x, v));
		if (!is_right(&x, world->n, rank, round))
			world_fail(world, rank, "round %d (variant %d, %zu) is wrong", round, (int)v, scale);
		if (round % 7 == 3)
			CHECK(sum_works(comm, 5));
	}
	free(x.send);
	free(x.recv);
}

static void test_counts_change(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };
	static const size_t scales[] = { 1, 250, 600 }; /* the last: direct */

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
			size_t scale = scales[k];

			world_run_at(sizes[i], 0, 20000, again_and_again, &scale);
		}
}

/* Several nodes: nothing is ever proposed. */
static void test_nodes(void **state)
{
	size_t scale = 1;

	(void)state;
	world_run_at(3, 2, 20000, again_and_again, &scale);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_counts_change), cmocka_unit_test(test_nodes) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
