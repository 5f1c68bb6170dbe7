/* SPDX-License-Identifier: MIT */
/* Values that travel narrower than they are accumulated: what rounding loses stays in a residual. */
#include "topk/law.h"
#include "world/gate.h"
#include "world/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N = 120, K = 10 };

static const choir_dtype wires[] = { CHOIR_F16, CHOIR_BF16 };

/* Integers, of which f16 and bf16 cannot hold most. */
static float large(int rank, int call, size_t i)
{
	uint64_t x = ((uint64_t)rank * 77 + (uint64_t)call * 1009 + 1) * 131 + i;

	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 29;
	return x % 5 == 0 ? 0 : (float)(int)(x / 5 % 20001) - 10000;
}

static void law(void **state)
{
	static const int ranks[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (int a = 1; a < LAW_ALGORITHMS; a++) /* the first is dense */
		for (int n = 0; n < 5; n++) {
			struct law law = { .config = law_config(law_algorithms[a], 211, 30),
				           .ranks = ranks[n],
				           .calls = 12,
				           .value = large };

			law.config.wire_dtype = wires[(a + n) % 2];
			law.config.dense_calls = n == 2;
			law.device = n % 2 == 1;
			law_holds(&law);
			assert_true(law_moved() > 0);
		}
}

/* Regions that are evened out, and global thresholds between the exact ones. */
static void law_of_long_runs(void **state)
{
	static const char *const names[] = { "oktopk", "topka2", "spardl" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct law law = { .config = law_config(names[i], 150, 20), .ranks = 3, .calls = 80, .value = large };

		law.config.wire_dtype = CHOIR_BF16;
		law_holds(&law);
	}
}

/* Beyond f16's largest, infinity, NaN, below its smallest. */
static void edges_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, 4);
	choir_topk_state *state;
	float grad[N] = { [3] = 70000, [5] = INFINITY, [7] = NAN, [9] = 0x1p-30f }, got[N], left[N];

	(void)arg;
	config.wire_dtype = CHOIR_F16;
	OK(choir_topk_create(comm, &config, &state));
	OK(law_call(state, grad, got, NULL));
	OK(choir_topk_residual(state, left));
	CHECK(got[3] == 2 * 65504.0f && left[3] == 70000 - 65504.0f);
	CHECK(isinf(got[5]) && isnan(got[7]) && left[5] == 0 && left[7] == 0);
	CHECK(got[9] == 0 && left[9] == 0x1p-30f);
	choir_topk_destroy(state);
}

/* f64 as f32; the owners' sums are rounded too. */
static void wide_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static double lefts[2][N];
	choir_topk_config config = law_config("topk-sa", N, 1);
	choir_topk_state *state;
	double grad[N] = { [N - 1] = 1 + 0x1p-24 * (rank + 1) }, got[N];

	(void)arg;
	config.dtype = CHOIR_F64;
	config.wire_dtype = CHOIR_F32;
	OK(choir_topk_create(comm, &config, &state));
	OK(law_call(state, grad, got, NULL));
	OK(choir_topk_residual(state, lefts[rank]));
	CHECK(got[N - 1] == (double)(float)got[N - 1]);
	CHECK(sum_works(comm, 5)); /* both have written what is left */
	CHECK(got[N - 1] + lefts[0][N - 1] + lefts[1][N - 1] == 2 + 3 * 0x1p-24);
	CHECK(got[N - 1] != 2 + 3 * 0x1p-24);
	choir_topk_destroy(state);
}

/* Six bytes a pair instead of eight. */
static void bytes_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { COUNT = 20000, MANY = 2000 };
	static const char *const names[] = { "topka", "gaussiank-concat", "topk-sa", "oktopk", "spardl", "gtopk" };
	static float grads[2][COUNT], results[2][COUNT];

	(void)arg;
	for (size_t i = 0; i < COUNT; i++)
		grads[rank][i] = large(rank, 0, i);
	for (int a = 0; a < 6; a++) {
		choir_topk_config config = law_config(names[a], COUNT, MANY);
		choir_topk_stats stats[2];

		for (int wire = 0; wire < 2; wire++) {
			choir_topk_state *state;
			choir_event *event = NULL;

			config.wire_dtype = wire ? CHOIR_BF16 : (choir_dtype)0;
			stats[wire].struct_size = sizeof stats[wire];
			OK(choir_topk_create(comm, &config, &state));
			OK(law_call(state, grads[rank], results[rank], &event));
			OK(choir_event_wait(event, -1));
			OK(choir_event_topk_stats(event, &stats[wire]));
			choir_event_release(event);
			choir_topk_destroy(state);
		}
		CHECK(stats[0].wire_bytes > MANY);
		if ((double)stats[1].wire_bytes > 0.82 * (double)stats[0].wire_bytes)
			world_fail(world, rank, "%s: %d bytes of %d", names[a], (int)stats[1].wire_bytes,
			           (int)stats[0].wire_bytes);
	}
}

static void refused_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const struct {
		const char *algorithm;
		choir_dtype dtype, wire;
		choir_status wanted;
		const char *words;
	} cases[] = {
		{ "topka", CHOIR_F32, CHOIR_F64, CHOIR_UNSUPPORTED, "wire_dtype is f64|f16, bf16 or f32" },
		{ "topka", CHOIR_F32, CHOIR_I32, CHOIR_UNSUPPORTED, "wire_dtype is i32" },
		{ "topka", CHOIR_F64, CHOIR_F8E4M3, CHOIR_UNSUPPORTED, "f16, bf16, f32 or f64" },
		{ "topka", CHOIR_F32, (choir_dtype)99, CHOIR_ARGUMENT, "wire_dtype 99 is no dtype" },
		{ "dense", CHOIR_F32, CHOIR_F16, CHOIR_UNSUPPORTED, "wire_dtype: dense" },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		choir_topk_config config = law_config(cases[i].algorithm, N, K);
		choir_topk_state *state = NULL;

		config.dtype = cases[i].dtype;
		config.wire_dtype = cases[i].wire;
		SAYS(choir_topk_create(comm, &config, &state), cases[i].wanted, cases[i].words);
		CHECK(state == NULL);
	}
}

/* Ranks whose values travel differently. */
static void mismatch_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_state *state;
	float grad[N] = { 0 }, got[N];

	(void)arg;
	config.wire_dtype = wires[rank];
	OK(choir_topk_create(comm, &config, &state));
	SAYS(law_call(state, grad, got, NULL), CHOIR_MISMATCH, "topk_allreduce");
	choir_topk_destroy(state);
}

static void edges(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, edges_rank, NULL);
	line_up_run(2, 0, 30000, wide_rank, NULL);
}

static void bytes(void **state)
{
	(void)state;
	line_up_run(2, 1, 30000, bytes_rank, NULL);
}

static void refusals(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, refused_rank, NULL);
	line_up_run(2, 0, 30000, mismatch_rank, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(law), cmocka_unit_test(law_of_long_runs),
		                            cmocka_unit_test(edges), cmocka_unit_test(bytes),
		                            cmocka_unit_test(refusals) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	memory_drop();
	world_device_drop();
	return failed;
}
