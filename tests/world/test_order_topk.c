/* SPDX-License-Identifier: MIT */
/* order=ranks of a comm: top-k's dense calls have the bits of a gather and a fold on one rank, on every layout. */
#include "world/order_case.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = ORDER_RANKS, CALLS = 2 };

static const int layouts[] = { 8, 4, 2, 1 };

/* A state, of which the first calls are dense. */
static const struct top {
	const char *algorithm;
	size_t dense_calls, count;
	choir_dtype dtype;
	choir_op op;
} tops[] = {
	{ "dense", 0, 20000, CHOIR_F32, CHOIR_OP_SUM },       { "dense", 0, 300, CHOIR_F32, CHOIR_OP_MEAN },
	{ "dense", 0, 9001, CHOIR_F64, CHOIR_OP_MEAN },       { "dense", 0, 20000, CHOIR_F16, CHOIR_OP_SUM },
	{ "dense", 0, 20000, CHOIR_BF16, CHOIR_OP_SUM },      { "oktopk", CALLS, 20000, CHOIR_F32, CHOIR_OP_SUM },
	{ "topk-sa", CALLS, 5000, CHOIR_F32, CHOIR_OP_MEAN },
};

struct trial {
	bool keeps; /* other bits are a failure */
	int differ; /* results with other bits */
};

/* Of one tensor, or of two as one. */
static choir_status sum(choir_topk_state *state, const struct top *top, void *grad, void *result, bool two)
{
	size_t half = two ? top->count / 3 : 0, bytes = choir_dtype_bytes(top->dtype);
	choir_tensor tensors[2] = { { choir_host(grad), choir_host(result), half, top->dtype },
		                    { choir_host((char *)grad + half * bytes),
		                      choir_host((char *)result + half * bytes), top->count - half, top->dtype } };
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;

	out.dense = choir_host(result);
	return two ? choir_topk_allreduce_multi(state, tensors, 2, NULL, NULL, NULL)
	           : choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL);
}

static void play(struct world *world, int rank, choir_comm *comm, const struct top *top, struct trial *trial)
{
	struct order_case c = { .kind = ORDER_ALLREDUCE, .dtype = top->dtype, .op = top->op, .count = top->count };
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_state *state = NULL;
	unsigned char *all[RANKS], *want = calloc(top->count, ORDER_ELEM_BYTES), *got = calloc(top->count, 8);

	for (int r = 0; r < RANKS; r++)
		all[r] = calloc(top->count, ORDER_ELEM_BYTES);
	config.count = top->count;
	config.dtype = top->dtype;
	config.op = top->op;
	config.algorithm = top->algorithm;
	config.dense_calls = top->dense_calls;
	OK(choir_topk_create(comm, &config, &state));
	for (int call = 0; call < CALLS; call++) {
		order_case_fill(&c, (uint64_t)((top - tops) * CALLS + call), rank, all, want);
		OK(sum(state, top, all[rank], got, call == 1));
		if (memcmp(got, want, top->count * choir_dtype_bytes(top->dtype)) == 0)
			continue;
		__atomic_add_fetch(&trial->differ, 1, __ATOMIC_RELAXED);
		if (trial->keeps)
			world_fail(world, rank, "%s of %zu %s, call %d: other bits", top->algorithm, top->count,
			           choir_dtype_name(top->dtype), call);
	}
	choir_topk_destroy(state);
	for (int r = 0; r < RANKS; r++)
		free(all[r]);
	free(want);
	free(got);
}

static void play_all(struct world *world, int rank, choir_comm *comm, void *trial)
{
	for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
		play(world, rank, comm, &tops[i], trial);
}

static void run(int ranks_per_node, const char *options, struct trial *trial)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.deadline_ms = 120000;
	config.ranks_per_node = ranks_per_node;
	config.options = options;
	world_run(RANKS, &config, play_all, trial);
}

static void same_bits_on_all_layouts(void **state)
{
	struct trial trial = { .keeps = true };

	(void)state;
	for (int l = 0; l < 4; l++)
		run(layouts[l], "order=ranks", &trial);
}

/* The data would show another order. */
static void without_it_bits_differ(void **state)
{
	struct trial trial = { .keeps = false };

	(void)state;
	for (int l = 1; l < 4; l++) {
		trial.differ = 0;
		run(layouts[l], NULL, &trial);
		assert_true(trial.differ > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_bits_on_all_layouts),
		cmocka_unit_test(without_it_bits_differ),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
