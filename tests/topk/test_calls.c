/* SPDX-License-Identifier: MIT */
/* What a top-k state does beside the law: types, mean, warm-up, order, checkpoints. */
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

/* Four ranks; each test is a function on every one of them. */
static void on_ranks(int ranks, world_fn fn)
{
	line_up_run(ranks, 0, 30000, fn, NULL);
}

static void mean_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_state *sum, *mean;
	float grad[N], a[N], b[N];

	(void)arg;
	for (size_t i = 0; i < N; i++)
		grad[i] = law_value(rank, 0, i);
	OK(choir_topk_create(comm, &config, &sum));
	config.op = CHOIR_OP_MEAN;
	OK(choir_topk_create(comm, &config, &mean));
	OK(law_call(sum, grad, a, NULL));
	OK(law_call(mean, grad, b, NULL));
	for (size_t i = 0; i < N; i++)
		CHECK(b[i] == a[i] / 3.0f);
	choir_topk_destroy(sum);
	choir_topk_destroy(mean);
}

static void mean(void **state)
{
	(void)state;
	on_ranks(3, mean_rank);
}

/* f16, bf16, f64: the result in the type, the residual in f32 or f64; the law exactly, for small integers. */
static void types_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const uint16_t ones[] = { 0x3c00, 0x3f80 }; /* 1 in f16 and bf16 */
	choir_topk_config config = law_config("oktopk", N, K);
	choir_topk_state *state;
	float left[N];

	(void)arg;
	for (int t = 0; t < 2; t++) {
		uint16_t grad[N] = { 0 }, out_values[N];
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;

		for (size_t i = 0; i < 2 * K; i++)
			grad[i * 3] = ones[t];
		config.dtype = t == 0 ? CHOIR_F16 : CHOIR_BF16;
		out.dense = choir_host(out_values);
		OK(choir_topk_create(comm, &config, &state));
		OK(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL));
		OK(choir_topk_residual(state, left));
		for (size_t i = 0; i < N; i++) {
			bool sent = i % 3 == 0 && i / 3 < K; /* ties: the lowest indices */

			CHECK(out_values[i] == (sent ? (t == 0 ? 0x4000 : 0x4000) : 0));
			CHECK(left[i] == (grad[i] != 0 && !sent ? 1.0f : 0.0f));
		}
		choir_topk_destroy(state);
	}
	{
		double wide[N] = { 0 }, got[N], left_wide[N];
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;

		wide[7] = 0x1p60 + 0x1p10; /* no f32 */
		config.dtype = CHOIR_F64;
		config.k = 1;
		out.dense = choir_host(got);
		OK(choir_topk_create(comm, &config, &state));
		OK(choir_topk_allreduce(state, choir_host(wide), &out, NULL, NULL));
		OK(choir_topk_residual(state, left_wide));
		CHECK(got[7] == 0x1p61 + 0x1p11 && left_wide[7] == 0);
		choir_topk_destroy(state);
	}
	(void)rank;
}

static void types(void **state)
{
	(void)state;
	on_ranks(2, types_rank);
}

/* In place; the list of involved entries; statistics; the warm-up; 64-bit indices. */
static void outputs_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka2", N, K);
	choir_topk_stats stats = { .struct_size = sizeof stats };
	choir_topk_state *state, *beside;
	float grad[N], want[N], val[N];
	int64_t ind[N], involved[N];
	size_t pairs = K, n_involved = N;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_event *event;

	(void)arg;
	config.dense_calls = 1;
	OK(choir_topk_create(comm, &config, &state));
	OK(choir_topk_create(comm, &config, &beside));
	for (int call = 0; call < 3; call++) {
		for (size_t i = 0; i < N; i++)
			grad[i] = law_value(rank, call, i);
		OK(law_call(beside, grad, want, NULL));
		out.dense = choir_host(grad); /* in place */
		if (call > 0) {
			out.ind = choir_host(ind);
			out.val = choir_host(val);
			out.ind_dtype = CHOIR_I64;
			out.pairs_p = &pairs;
			pairs = K;
			out.involved = choir_host(involved);
			out.involved_pairs_p = &n_involved;
			n_involved = N;
		}
		OK(choir_topk_allreduce(state, choir_host(grad), &out, NULL, &event));
		OK(choir_event_wait(event, -1));
		OK(choir_event_topk_stats(event, &stats));
		choir_event_release(event);
		CHECK(memcmp(grad, want, sizeof grad) == 0);
		CHECK(strcmp(stats.algorithm, call == 0 ? "dense" : "topka2") == 0 && stats.call == (uint64_t)call);
		if (call == 0)
			continue;
		CHECK(pairs == K && stats.pairs == K && stats.selected == K && stats.k == K && n_involved <= K);
		CHECK(stats.pairs_received == 3 * K && stats.involved == n_involved);
		for (size_t i = 0; i < pairs; i++)
			CHECK(val[i] == want[ind[i]]);
		for (size_t i = 0, at = 0; i < n_involved; i++) {
			while (at < pairs && ind[at] < involved[i])
				at++;
			CHECK(at < pairs && ind[at] == involved[i]);
		}
	}
	choir_topk_destroy(state);
	choir_topk_destroy(beside);
}

static void outputs(void **state)
{
	(void)state;
	on_ranks(4, outputs_rank);
}

/* Four calls in flight of one state, and of another between them: as one after the other. */
static void order_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { CALLS = 4 };
	choir_topk_config config = law_config("oktopk", N, K);
	choir_topk_state *a, *b, *c;
	float grad[CALLS][N], out_a[CALLS][N], out_b[CALLS][N], out_c[N];
	choir_event *events[2 * CALLS];

	(void)arg;
	OK(choir_topk_create(comm, &config, &a));
	OK(choir_topk_create(comm, &config, &b));
	OK(choir_topk_create(comm, &config, &c));
	for (int call = 0; call < CALLS; call++) {
		for (size_t i = 0; i < N; i++)
			grad[call][i] = law_value(rank, call, i);
		OK(law_call(a, grad[call], out_a[call], &events[2 * call]));
		OK(law_call(b, grad[call], out_b[call], &events[2 * call + 1]));
	}
	for (int i = 2 * CALLS - 1; i >= 0; i--) {
		OK(choir_event_wait(events[i], -1));
		choir_event_release(events[i]);
	}
	for (int call = 0; call < CALLS; call++) {
		OK(law_call(c, grad[call], out_c, NULL));
		CHECK(memcmp(out_a[call], out_c, sizeof out_c) == 0 && memcmp(out_b[call], out_c, sizeof out_c) == 0);
	}
	choir_topk_destroy(a);
	choir_topk_destroy(b);
	choir_topk_destroy(c);
}

static void order(void **state)
{
	(void)state;
	on_ranks(3, order_rank);
}

/* Tensors of other lengths and values, one for each algorithm. */
enum { TENSORS = LAW_ALGORITHMS, ROUNDS = 3, SPREAD = 7, LONGEST = N + TENSORS * SPREAD };

struct flight {
	choir_topk_state *states[TENSORS];
	float grad[ROUNDS][TENSORS][LONGEST], out[ROUNDS][TENSORS][LONGEST], left[TENSORS][LONGEST];
	choir_event *events[ROUNDS][TENSORS];
};

static size_t flight_count(int tensor)
{
	return N + (size_t)tensor * SPREAD;
}

static void flight_create(struct flight *flight, struct world *world, int rank, choir_comm *comm)
{
	for (int t = 0; t < TENSORS; t++) {
		choir_topk_config config = law_config(law_algorithms[t], flight_count(t), K);

		OK(choir_topk_create(comm, &config, &flight->states[t]));
		for (int round = 0; round < ROUNDS; round++)
			for (size_t i = 0; i < flight_count(t); i++)
				flight->grad[round][t][i] = law_value(rank, round, i + (size_t)t * 1000);
	}
}

static void flight_destroy(struct flight *flight, struct world *world, int rank)
{
	for (int t = 0; t < TENSORS; t++) {
		OK(choir_topk_residual(flight->states[t], flight->left[t]));
		choir_topk_destroy(flight->states[t]);
	}
}

/* Rank 0 starts when the others have started all, so that all of theirs are in flight at once. */
static void flight_run(struct flight *flight, struct world *world, int rank)
{
	if (rank == 0)
		line_up();
	for (int round = 0; round < ROUNDS; round++)
		for (int t = 0; t < TENSORS; t++)
			OK(law_call(flight->states[t], flight->grad[round][t], flight->out[round][t],
			            &flight->events[round][t]));
	for (int i = 0; i < ROUNDS * TENSORS && rank != 0; i++)
		CHECK(choir_event_status(flight->events[i / TENSORS][i % TENSORS]) == CHOIR_RUNNING);
	if (rank != 0)
		line_up();
	for (int i = ROUNDS * TENSORS - 1; i >= 0; i--) {
		choir_event *event = flight->events[i / TENSORS][i % TENSORS];

		OK(choir_event_wait(event, -1));
		choir_event_release(event);
	}
}

/* The results and the residuals of many tensors in flight are those of one tensor after the other. */
static void tensors_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct flight *many = calloc(1, sizeof *many), *one = calloc(1, sizeof *one);

	(void)arg;
	flight_create(many, world, rank, comm);
	flight_create(one, world, rank, comm);
	flight_run(many, world, rank);
	for (int t = 0; t < TENSORS; t++)
		for (int round = 0; round < ROUNDS; round++)
			OK(law_call(one->states[t], one->grad[round][t], one->out[round][t], NULL));
	flight_destroy(many, world, rank);
	flight_destroy(one, world, rank);
	for (int t = 0; t < TENSORS; t++) {
		for (int round = 0; round < ROUNDS; round++)
			if (memcmp(many->out[round][t], one->out[round][t], flight_count(t) * sizeof(float)) != 0)
				world_fail(world, rank, "%s: another result in call %d", law_algorithms[t], round);
		if (memcmp(many->left[t], one->left[t], flight_count(t) * sizeof(float)) != 0)
			world_fail(world, rank, "%s: another residual", law_algorithms[t]);
	}
	free(many);
	free(one);
}

static void tensors(void **state)
{
	(void)state;
	on_ranks(3, tensors_rank);
}

/* NaN counts as the largest, so it leaves the residual. */
static void nan_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	for (int algorithm = 0; algorithm < LAW_ALGORITHMS; algorithm++) {
		choir_topk_config config = law_config(law_algorithms[algorithm], N, K);
		choir_topk_state *state;
		float grad[N], out[N], left[N];

		for (size_t i = 0; i < N; i++)
			grad[i] = i == 40 && rank == 1 ? NAN : law_value(rank, 0, i);
		OK(choir_topk_create(comm, &config, &state));
		OK(law_call(state, grad, out, NULL));
		OK(choir_topk_residual(state, left));
		CHECK(isnan(out[40]));
		for (size_t i = 0; i < N; i++)
			CHECK(!isnan(left[i]));
		choir_topk_destroy(state);
	}
	(void)arg;
}

static void nan_leaves(void **state)
{
	(void)state;
	on_ranks(3, nan_rank);
}

/* Every algorithm: exported after some calls into another state, both go on bit for bit; reset begins anew, as
 * rank 0 does with a new state. */
static void checkpoints_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	for (int algorithm = 0; algorithm < LAW_ALGORITHMS; algorithm++) {
		choir_topk_config config = law_config(law_algorithms[algorithm], N, K);
		choir_topk_state *first, *second;
		float grad[N], a[N], b[N], begin[N];
		unsigned char *bytes;
		size_t n_bytes;

		config.momentum = 0.5;
		config.decay = 0.9;
		OK(choir_topk_create(comm, &config, &first));
		OK(choir_topk_create(comm, &config, &second));
		for (int call = 0; call < 75; call++) {
			for (size_t i = 0; i < N; i++)
				grad[i] = law_value(rank, call, i);
			if (call == 40) {
				OK(choir_topk_export(first, NULL, &n_bytes));
				bytes = malloc(n_bytes);
				OK(choir_topk_export(first, bytes, &n_bytes));
				OK(choir_topk_import(second, bytes, n_bytes));
				bytes[20] ^= 1;
				IS(choir_topk_import(second, bytes, n_bytes), CHOIR_ARGUMENT);
				IS(choir_topk_import(second, bytes, 7), CHOIR_ARGUMENT);
				free(bytes);
			}
			OK(law_call(first, grad, a, NULL));
			if (call == 0)
				memcpy(begin, a, sizeof a);
			if (call >= 40) {
				OK(law_call(second, grad, b, NULL));
				CHECK(memcmp(a, b, sizeof a) == 0);
			}
		}
		if (rank == 0) {
			choir_topk_destroy(first);
			OK(choir_topk_create(comm, &config, &first));
		} else {
			OK(choir_topk_reset(first));
		}
		for (size_t i = 0; i < N; i++)
			grad[i] = law_value(rank, 0, i);
		OK(law_call(first, grad, a, NULL));
		CHECK(memcmp(a, begin, sizeof a) == 0);
		choir_topk_destroy(first);
		choir_topk_destroy(second);
	}
}

static void checkpoints(void **state)
{
	(void)state;
	on_ranks(3, checkpoints_rank);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(mean),       cmocka_unit_test(types),
		                            cmocka_unit_test(outputs),    cmocka_unit_test(order),
		                            cmocka_unit_test(tensors),    cmocka_unit_test(nan_leaves),
		                            cmocka_unit_test(checkpoints) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	memory_drop();
	world_device_drop();
	return failed;
}
