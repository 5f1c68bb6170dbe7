/* SPDX-License-Identifier: MIT */
/* What top-k states and their calls refuse: configurations, buffers, options, ranks that differ. */
#include "world/affine.h"
#include "topk/law.h"
#include "world/gate.h"
#include "world/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N = 120, K = 10 };

static void on_ranks(int ranks, world_fn fn)
{
	line_up_run(ranks, 0, 30000, fn, NULL);
}

static void refuses(struct world *world, int rank, choir_comm *comm, const choir_topk_config *config,
                    choir_status wanted, const char *words)
{
	choir_topk_state *state = NULL;

	SAYS(choir_topk_create(comm, config, &state), wanted, words);
	CHECK(state == NULL);
}

static void arguments_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const char *const names[] = { "topkA",           "topka-opt",   "topkAopt", "topkSA",
		                             "gaussiankconcat", "gaussiankSA", "OKTOPK" };
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	choir_call call = CHOIR_CALL_INIT;
	float grad[N] = { 0 }, sum[N];
	size_t pairs = N;

	(void)arg;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		config.algorithm = names[i];
		OK(choir_topk_create(comm, &config, &state));
		choir_topk_destroy(state);
	}
	config.algorithm = "topkb";
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "topkb|spardl");
	config = law_config("topka", N, K);
	config.k = N + 1;
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "k is 121");
	config = law_config("topka", N, K);
	config.density = 1.5;
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "density is 1.5");
	config = law_config("topka", N, K);
	config.preset = "gpt";
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "gpt");
	config = law_config("topka", N, K);
	config.dtype = CHOIR_I32;
	refuses(world, rank, comm, &config, CHOIR_UNSUPPORTED, "i32");
	config = law_config("topka", N, K);
	config.op = CHOIR_OP_MAX;
	refuses(world, rank, comm, &config, CHOIR_UNSUPPORTED, "op is max, but a residual is what a sum");
	config.op = affine_create(AFFINE_BOTH);
	refuses(world, rank, comm, &config, CHOIR_UNSUPPORTED, "op is affine, but a residual");
	OK(choir_op_destroy(config.op));
	config = law_config("topka", N, K);
	config.decay = NAN;
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "decay");
	refuses(world, rank, comm, NULL, CHOIR_ARGUMENT, "null config");
	config = law_config("topka", N, K);
	OK(choir_topk_create(comm, &config, &state));
	SAYS(choir_topk_allreduce(NULL, choir_host(grad), &out, NULL, NULL), CHOIR_ARGUMENT, "null state");
	SAYS(choir_topk_allreduce(state, choir_host(grad), NULL, NULL, NULL), CHOIR_ARGUMENT, "null out");
	SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_ARGUMENT, "neither");
	out.ind = out.val = choir_host(grad);
	SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_ARGUMENT, "pairs_p");
	out.pairs_p = &pairs;
	SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_ARGUMENT, "overlap");
	out = (choir_topk_out)CHOIR_TOPK_OUT_INIT;
	out.dense = choir_host(grad + 1);
	SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_ARGUMENT, "grad and dense overlap");
	call.options = "algorithm=gtopk";
	SAYS(choir_topk_allreduce(state, choir_host(grad), &out, &call, NULL), CHOIR_ARGUMENT, "no options");
	SAYS(choir_topk_allreduce(state, choir_none(), &out, NULL, NULL), CHOIR_ARGUMENT, "grad");
	out.dense = choir_host(sum);
	out.ind_dtype = (choir_dtype)99; /* without pairs it is not looked at */
	OK(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL));
	choir_topk_destroy(state);
	choir_topk_destroy(NULL);
	CHECK(sum_works(comm, 5));
}

static void arguments(void **state)
{
	(void)state;
	on_ranks(2, arguments_rank);
}

static void mismatch_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_state *state;
	float grad[N] = { 0 }, out[N];

	(void)arg;
	config.k = K + (size_t)rank;
	OK(choir_topk_create(comm, &config, &state));
	SAYS(law_call(state, grad, out, NULL), CHOIR_MISMATCH, "topk_allreduce|topka");
	choir_topk_destroy(state);
}

static void mismatch(void **state)
{
	(void)state;
	on_ranks(2, mismatch_rank);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(arguments), cmocka_unit_test(mismatch) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	memory_drop();
	world_device_drop();
	return failed;
}
