/* SPDX-License-Identifier: MIT */
/* A rank that goes while others wait for it: they learn it at once, and what it had sent still comes. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

enum { COUNT = 16 };

enum going { GOES_AT_ONCE, GOES_AFTER_SUMS, GOES_FROM_RECV, GOES_FROM_SPARSE, GOINGS };

static choir_status wait_for_rank_1(choir_comm *comm, enum going kind)
{
	int32_t ind[3] = { 5, 1, 5 }, ind_out[8];
	float in[COUNT] = { 1 }, out[COUNT];
	size_t n_ind = 8, n_val = 8;

	if (kind == GOES_FROM_RECV)
		return choir_recv(comm, choir_host(out), COUNT, CHOIR_F32, 1, NULL, NULL);
	if (kind == GOES_FROM_SPARSE)
		return choir_sparse_allreduce(comm, choir_host(ind), 3, choir_host(in), 3, choir_host(ind_out), &n_ind,
		                              choir_host(out), &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL,
		                              NULL);
	return choir_allreduce(comm, choir_host(in), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
}

static void rank_1_goes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum going kind = *(enum going *)arg;
	struct timespec start, end;

	for (int i = 0; i < 2 && kind != GOES_AT_ONCE; i++)
		CHECK(sum_works(comm, COUNT));
	if (kind == GOES_FROM_RECV && rank == 1) /* what it had sent still comes */
		for (int to = 0; to < world->n; to += 2)
			OK(choir_send(comm, choir_host(&(int){ to }), 1, CHOIR_I32, to, NULL, NULL));
	if (rank == 1) {
		OK(choir_comm_destroy(comm));
		world->comms[1] = NULL;
		return;
	}
	line_up(); /* before that nobody's failure ends the other's sum */
	if (kind == GOES_FROM_RECV) {
		int got = -1;

		OK(choir_recv(comm, choir_host(&got), 1, CHOIR_I32, 1, NULL, NULL));
		CHECK(got == rank);
		line_up();
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	SAYS(wait_for_rank_1(comm, kind), CHOIR_ABORTED, "waits for rank 1, which destroyed its comm ");
	CHECK(says(choir_last_error(),
	           kind == GOES_AT_ONCE ? "before its first collective call" : "after allreduce #1 (16 x f32, sum"));
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK(end.tv_sec - start.tv_sec < 10);
}

static void test_rank_goes(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (enum going kind = 0; kind < GOINGS; kind++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

			config.ranks_per_node = per_node;
			config.deadline_ms = 20000;
			line_up_begin(2);
			world_run(3, &config, rank_1_goes, &kind);
			line_up_end();
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rank_goes) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
