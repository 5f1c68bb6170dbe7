/* SPDX-License-Identifier: MIT */
/* What calls of a top-k state leave when they fail. */
#include "topk/law.h"
#include "world/gate.h"
#include "world/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 120, K = 10 };

/* A call that fails on all ranks leaves residual, thresholds and count of calls, and the comm goes on. */
static void failures_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_state *state, *beside;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	float grad[N], bad[N], a[N], b[N], val[N], before[N], after[N];
	int32_t ind[N];
	size_t pairs;

	(void)arg;
	config.nan_fails = 1;
	OK(choir_topk_create(comm, &config, &state));
	OK(choir_topk_create(comm, &config, &beside));
	out.ind = choir_host(ind);
	out.val = choir_host(val);
	out.pairs_p = &pairs;
	for (int call = 0; call < 3; call++) {
		for (size_t i = 0; i < N; i++)
			bad[i] = grad[i] = law_value(rank, call, i);
		bad[17] = rank == 1 ? NAN : bad[17];
		OK(choir_topk_residual(state, before));
		SAYS(law_call(state, bad, a, NULL), CHOIR_ARGUMENT, "rank 1 has a NaN at 17");
		pairs = rank == 2 ? 1 : N;
		SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_CAPACITY,
		     "rank 2 has room for 1");
		CHECK(pairs > 1);
		OK(choir_topk_residual(state, after));
		CHECK(memcmp(before, after, sizeof before) == 0);
		OK(law_call(state, grad, a, NULL));
		OK(law_call(beside, grad, b, NULL));
		CHECK(memcmp(a, b, sizeof a) == 0);
	}
	choir_topk_destroy(state);
	choir_topk_destroy(beside);
}

static void failures(void **state)
{
	(void)state;
	line_up_run(3, 0, 30000, failures_rank, NULL);
}

/* A dense call in place that has no room for its pairs leaves the gradient too. */
static void dense_failures_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config(arg, N, K);
	choir_topk_state *state, *beside;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	float grad[N], copy[N], want[N], val[N];
	int32_t ind[N];
	size_t pairs = rank == 2 ? 1 : N;

	config.dense_calls = 1;
	OK(choir_topk_create(comm, &config, &state));
	OK(choir_topk_create(comm, &config, &beside));
	for (size_t i = 0; i < N; i++)
		copy[i] = grad[i] = law_value(rank, 0, i);
	out.dense = choir_host(grad);
	out.ind = choir_host(ind);
	out.val = choir_host(val);
	out.pairs_p = &pairs;
	SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_CAPACITY, "rank 2 has room for 1");
	CHECK(pairs == N);
	CHECK(memcmp(grad, copy, sizeof grad) == 0);
	OK(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL));
	OK(law_call(beside, copy, want, NULL));
	CHECK(memcmp(grad, want, sizeof grad) == 0);
	choir_topk_destroy(state);
	choir_topk_destroy(beside);
}

static void dense_failures(void **state)
{
	static char names[][8] = { "dense", "oktopk" };

	(void)state;
	for (int i = 0; i < 2; i++)
		line_up_run(3, 0, 30000, dense_failures_rank, names[i]);
}

/* A rank that imports another tensor's state has learnt other regions. */
static void swapped_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("oktopk", N, K);
	choir_topk_state *a, *b;
	float grad[N], got[N];
	unsigned char *bytes;
	size_t room = 0;

	(void)arg;
	OK(choir_topk_create(comm, &config, &a));
	OK(choir_topk_create(comm, &config, &b));
	for (int call = 0; call < 3; call++) {
		for (size_t i = 0; i < N; i++)
			grad[i] = law_value(rank, call, i);
		OK(law_call(a, grad, got, NULL));
		for (size_t i = 0; i < N; i++)
			grad[i] = i < N / 4 ? 1000 * law_value(rank, call, i) : 0;
		OK(law_call(b, grad, got, NULL));
	}
	OK(choir_topk_export(b, NULL, &room));
	bytes = malloc(room);
	OK(choir_topk_export(b, bytes, &room));
	if (rank == 1)
		OK(choir_topk_import(a, bytes, room));
	SAYS(law_call(a, grad, got, NULL), CHOIR_ARGUMENT, "rank 1's state are not rank 0's");
	free(bytes);
	choir_topk_destroy(a);
	choir_topk_destroy(b);
}

static void swapped(void **state)
{
	(void)state;
	line_up_run(3, 0, 30000, swapped_rank, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(failures), cmocka_unit_test(dense_failures),
		                            cmocka_unit_test(swapped) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	memory_drop();
	world_device_drop();
	return failed;
}
