/* SPDX-License-Identifier: MIT */
/* The gathered pairs, not added, in rank order. */
#include "topk/law.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N = 200, K = 15, CALLS = 4, ROOM = LAW_RANKS * N };

/* A rank's memory. */
struct side {
	float grad[N], dense[N], val[ROOM], left[N];
	int32_t ind[ROOM], involved[N];
	size_t pairs, n_involved, counts[LAW_RANKS];
};

static choir_topk_out out_of(struct side *side)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;

	out.dense = choir_host(side->dense);
	out.ind = choir_host(side->ind);
	out.val = choir_host(side->val);
	out.pairs_p = &side->pairs;
	out.involved = choir_host(side->involved);
	out.involved_pairs_p = &side->n_involved;
	out.rank_pairs_p = side->counts;
	side->pairs = ROOM;
	side->n_involved = N;
	return out;
}

/* Each rank's are ascending, mine are the involved ones, and all together are the result. */
static void check_pairs(struct world *world, int rank, choir_comm *comm, const struct side *side)
{
	float sum[N] = { 0 };
	size_t at = 0;

	for (int r = 0; r < choir_comm_size(comm); r++) {
		for (size_t i = 0; i < side->counts[r]; i++) {
			CHECK(i == 0 || side->ind[at + i] > side->ind[at + i - 1]);
			sum[side->ind[at + i]] += side->val[at + i];
			CHECK(r != rank || side->ind[at + i] == side->involved[i]);
		}
		CHECK(r != rank || side->counts[r] == side->n_involved);
		at += side->counts[r];
	}
	CHECK(at == side->pairs && memcmp(sum, side->dense, sizeof sum) == 0);
}

static void sums_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const char *const names[] = { "topka", "topk-opt", "gaussiank", "gaussiank-concat" };

	(void)arg;
	for (int a = 0; a < 4; a++) {
		choir_topk_config config = law_config(names[a], N, K);
		choir_topk_state *state;
		struct side side;

		config.wire_dtype = a % 2 ? CHOIR_F16 : (choir_dtype)0;
		OK(choir_topk_create(comm, &config, &state));
		for (int call = 0; call < CALLS; call++) {
			choir_topk_out out = out_of(&side);

			for (size_t i = 0; i < N; i++)
				side.grad[i] = law_value(rank, call, i);
			OK(choir_topk_allreduce(state, choir_host(side.grad), &out, NULL, NULL));
			check_pairs(world, rank, comm, &side);
			CHECK(a > 0 || side.counts[rank] == K);
		}
		choir_topk_destroy(state);
	}
}

/* A mean's values are parts of it; a dense call's are rank 0's. */
static void mean_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_state *state;
	struct side side;

	(void)arg;
	config.op = CHOIR_OP_MEAN;
	config.dense_calls = 1;
	OK(choir_topk_create(comm, &config, &state));
	for (int call = 0; call < 2; call++) {
		choir_topk_out out = out_of(&side);

		for (size_t i = 0; i < N; i++)
			side.grad[i] = law_value(rank, 0, i) * 2;
		OK(choir_topk_allreduce(state, choir_host(side.grad), &out, NULL, NULL));
		if (call == 1)
			check_pairs(world, rank, comm, &side);
		else
			CHECK(side.counts[0] == N && side.counts[1] == 0 && side.pairs == N &&
			      memcmp(side.val, side.dense, sizeof side.dense) == 0);
	}
	choir_topk_destroy(state);
}

static void refused_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const char *const names[] = {
		"dense", "topka2", "gtopk", "topk-sa", "gaussiank-sa", "oktopk", "spardl"
	};
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_state *state;
	choir_topk_out out;
	struct side side = { .grad = { 0 } };
	float before[N];

	(void)arg;
	for (int a = 0; a < 7; a++) {
		config.algorithm = names[a];
		out = out_of(&side);
		OK(choir_topk_create(comm, &config, &state));
		SAYS(choir_topk_allreduce(state, choir_host(side.grad), &out, NULL, NULL), CHOIR_UNSUPPORTED, names[a]);
		choir_topk_destroy(state);
	}
	config.algorithm = "topka";
	OK(choir_topk_create(comm, &config, &state));
	out = out_of(&side);
	out.pairs_p = NULL;
	out.ind = out.val = choir_none();
	SAYS(choir_topk_allreduce(state, choir_host(side.grad), &out, NULL, NULL), CHOIR_ARGUMENT, "no pairs");
	/* rank 1 wants all pairs, and has room for the sums only */
	for (size_t i = 0; i < N; i++)
		side.grad[i] = i < K ? 1 : 0;
	OK(choir_topk_residual(state, before));
	out = out_of(&side);
	side.pairs = K;
	out.rank_pairs_p = rank == 1 ? side.counts : NULL;
	SAYS(choir_topk_allreduce(state, choir_host(side.grad), &out, NULL, NULL), CHOIR_CAPACITY,
	     "30 pairs, and rank 1 has room for 15");
	CHECK(side.pairs == (rank == 1 ? 2 * K : K));
	OK(choir_topk_residual(state, side.left));
	CHECK(memcmp(before, side.left, sizeof before) == 0);
	/* each its own */
	out = out_of(&side);
	out.rank_pairs_p = rank == 1 ? side.counts : NULL;
	OK(choir_topk_allreduce(state, choir_host(side.grad), &out, NULL, NULL));
	CHECK(side.pairs == (rank == 1 ? 2 * K : K));
	choir_topk_destroy(state);
}

static void sums(void **state)
{
	static const int ranks[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (int i = 0; i < 5; i++)
		line_up_run(ranks[i], 0, 30000, sums_rank, NULL);
}

static void mean(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, mean_rank, NULL);
}

static void refusals(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, refused_rank, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sums), cmocka_unit_test(mean),
		                            cmocka_unit_test(refusals) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
