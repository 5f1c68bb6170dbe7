/* SPDX-License-Identifier: MIT */
/* A rank is killed in the middle of a top-k call: the others say so, and their states are as before the call. */
#include "algo/algo.h"
#include "exec/plan_cache.h"
#include "topk/law.h"
#include "world/processes.h"

#include <choir/topk.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 3000, GOOD_CALLS = 3 };

static int plans_left = -1; /* before the rank dies; negative: it does not */

choir_status __real_plan_cache_get(struct plan_cache *cache, const struct algorithm *algorithm,
                                   const struct algo_in *in, struct cached_plan **out_p);
choir_status __wrap_plan_cache_get(struct plan_cache *cache, const struct algorithm *algorithm,
                                   const struct algo_in *in, struct cached_plan **out_p);

/* The first plan of a call gathers the headers.  At the second one the others have this rank's, and wait for its part
 * of the exchange. */
choir_status __wrap_plan_cache_get(struct plan_cache *cache, const struct algorithm *algorithm,
                                   const struct algo_in *in, struct cached_plan **out_p)
{
	if (plans_left == 0)
		raise(SIGKILL);
	plans_left -= plans_left > 0;
	return __real_plan_cache_get(cache, algorithm, in, out_p);
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

static void killed_inside(const struct rank *me, int algorithm)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_state *state;
	choir_comm *comm;
	void *before, *after;
	size_t n_before, n_after;

	processes_create(me, 1, 0, 30000, &comm);
	config.algorithm = law_algorithms[algorithm];
	config.count = N;
	config.k = 100;
	config.momentum = 0.5;
	MUST(choir_topk_create(comm, &config, &state) == CHOIR_SUCCESS);
	for (int call = 0; call < GOOD_CALLS; call++)
		MUST(one_call(state, me->rank, call) == CHOIR_SUCCESS);
	before = exported(me, state, &n_before);
	meeting_wait(me->meeting);
	plans_left = me->rank == 0 ? 1 : -1;
	MUST(one_call(state, me->rank, GOOD_CALLS) == CHOIR_PEER_DEAD);
	MUST(strstr(choir_last_error(), "rank 0 is dead") != NULL);
	after = exported(me, state, &n_after);
	MUST(n_before == n_after && memcmp(before, after, n_before) == 0);
	free(before);
	free(after);
	choir_topk_destroy(state);
	choir_comm_destroy(comm);
}

static bool all_wanted; /* --long */

/* One of each exchange. */
static bool is_one_of_few(int algorithm)
{
	static const char *const few[] = { "topka", "gtopk", "topk-sa", "oktopk", "spardl" };

	for (int i = 0; i < 5; i++)
		if (strcmp(law_algorithms[algorithm], few[i]) == 0)
			return true;
	return false;
}

static void every_algorithm(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < LAW_ALGORITHMS; algorithm++)
		if (all_wanted || is_one_of_few(algorithm))
			processes_run(3, algorithm, killed_inside, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_algorithm) };

	all_wanted = argc > 1 && strcmp(argv[1], "--long") == 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
