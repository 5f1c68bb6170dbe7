/* SPDX-License-Identifier: MIT */
/* A rank is killed in the middle of a top-k call: the others say so, and their states are as before the call. */
#include "topk/run.h"
#include "world/processes.h"

#include <choir/topk.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 3000, GOOD_CALLS = 3 };

static bool dies_at_exchange;

choir_status __real_topk_alltoallv(struct topk_run *run, struct script_turn *turn, uint64_t send_bytes, void *recv,
                                   uint64_t recv_bytes, topk_step then);
choir_status __wrap_topk_alltoallv(struct topk_run *run, struct script_turn *turn, uint64_t send_bytes, void *recv,
                                   uint64_t recv_bytes, topk_step then);

/* The others have this rank's header and counts by then, and wait for its pairs. */
choir_status __wrap_topk_alltoallv(struct topk_run *run, struct script_turn *turn, uint64_t send_bytes, void *recv,
                                   uint64_t recv_bytes, topk_step then)
{
	if (dies_at_exchange)
		raise(SIGKILL);
	return __real_topk_alltoallv(run, turn, send_bytes, recv, recv_bytes, then);
}

static choir_status one_call(choir_topk_state *state, int rank, int call)
{
	static float grad[N], out_values[N];
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;

	for (size_t i = 0; i < N; i++)
		grad[i] = (float)((i * 31 + (size_t)rank * 17 + (size_t)call * 7) % 101) - 50;
	out.dense = choir_host(out_values);
	return choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL);
}

static void *exported(const struct rank *me, choir_topk_state *state, size_t *bytes_p)
{
	void *bytes;

	MUST(choir_topk_export(state, NULL, bytes_p) == CHOIR_SUCCESS);
	bytes = malloc(*bytes_p);
	MUST(bytes != NULL && choir_topk_export(state, bytes, bytes_p) == CHOIR_SUCCESS);
	return bytes;
}

static void killed_inside(const struct rank *me, int per_node)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_state *state;
	choir_comm *comm;
	void *before, *after;
	size_t n_before, n_after;

	processes_create(me, 1, per_node, 30000, &comm);
	config.count = N;
	config.k = 100;
	config.momentum = 0.5;
	MUST(choir_topk_create(comm, &config, &state) == CHOIR_SUCCESS);
	for (int call = 0; call < GOOD_CALLS; call++)
		MUST(one_call(state, me->rank, call) == CHOIR_SUCCESS);
	before = exported(me, state, &n_before);
	meeting_wait(me->meeting);
	dies_at_exchange = me->rank == 0;
	MUST(one_call(state, me->rank, GOOD_CALLS) == CHOIR_PEER_DEAD);
	MUST(strstr(choir_last_error(), "rank 0 is dead") != NULL);
	after = exported(me, state, &n_after);
	MUST(n_before == n_after && memcmp(before, after, n_before) == 0);
	free(before);
	free(after);
	choir_topk_destroy(state);
	choir_comm_destroy(comm);
}

static void test_one_node(void **state)
{
	(void)state;
	processes_run(3, 0, killed_inside, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_node) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
