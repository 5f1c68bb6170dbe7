/* SPDX-License-Identifier: MIT */
/* An alltoallv in which a rank expects something else than is sent. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { ROOM = 4096 };

/* All ranks find the same, before anything is written. */
struct wrong_count {
	int from, to; /* to expects one element more of from than that sends */
	int before;   /* calls that are right */
};

static void expect_more(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct wrong_count *w = arg;
	static __thread float send[ROOM], recv[ROOM];
	size_t sent[8], received[8];
	char words[64];

	for (int r = 0; r < world->n; r++) {
		sent[r] = (size_t)(10 * rank + r);
		received[r] = (size_t)(10 * r + rank);
	}
	for (int i = 0; i < w->before; i++)
		OK(choir_alltoallv(comm, choir_host(send), sent, NULL, choir_host(recv), received, NULL, CHOIR_F32,
		                   NULL, NULL));
	received[w->from] += rank == w->to;
	for (int i = 0; i < ROOM; i++)
		recv[i] = -7;
	line_up();
	snprintf(words, sizeof words, "alltoallv|rank %d sends %d|rank %d, which expects %d", w->from,
	         10 * w->from + w->to, w->to, 10 * w->from + w->to + 1);
	SAYS(choir_alltoallv(comm, choir_host(send), sent, NULL, choir_host(recv), received, NULL, CHOIR_F32, NULL,
	                     NULL),
	     CHOIR_MISMATCH, words);
	for (int i = 0; i < ROOM; i++)
		if (recv[i] != -7) {
			world_fail(world, rank, "an alltoallv that was refused wrote element %d", i);
			break;
		}
	IS(choir_comm_status(comm), CHOIR_MISMATCH);
}

static void test_expected_counts(void **state)
{
	static const struct {
		int n, per_node;
		struct wrong_count w;
	} trials[] = {
		{ 1, 0, { 0, 0, 0 } }, { 2, 0, { 0, 1, 0 } }, { 2, 0, { 1, 0, 2 } },
		{ 2, 1, { 1, 0, 1 } }, { 3, 0, { 2, 2, 2 } }, { 5, 2, { 4, 1, 0 } },
		{ 8, 0, { 3, 7, 0 } }, { 8, 0, { 3, 7, 2 } }, { 8, 3, { 0, 5, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
		struct wrong_count w = trials[i].w;

		line_up_run(trials[i].n, trials[i].per_node, 20000, expect_more, &w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_expected_counts) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
