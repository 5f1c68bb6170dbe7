/* SPDX-License-Identifier: MIT */
/* What <choir/topk.h> says in passing: defaults, names, the bytes of a checkpoint, what leaves a residual. */
#include "topk/law.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 120, K = 10, MANY = 20000 };

/* One call; its statistics. */
static bool one(struct world *world, int rank, choir_topk_state *state, const float *grad, const choir_topk_out *out,
                choir_topk_stats *stats)
{
	choir_event *event = NULL;
	bool ok = OK(choir_topk_allreduce(state, choir_host((void *)grad), out, NULL, &event)) &&
	          OK(choir_event_wait(event, -1));

	stats->struct_size = sizeof *stats;
	ok = ok && OK(choir_event_topk_stats(event, stats));
	choir_event_release(event);
	return ok;
}

static void default_k_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const struct {
		const char *name;
		uint64_t k;
	} cases[] = {
		{ NULL, MANY / 100 }, { "topka", MANY / 100 }, { "spardl", MANY / 100 }, { "gtopk", MANY / 1000 }
	};
	static float grads[2][MANY], results[2][MANY];

	(void)arg;
	for (size_t i = 0; i < MANY; i++)
		grads[rank][i] = (float)(i + 1);
	for (int c = 0; c < 4; c++) {
		choir_topk_config config = law_config(cases[c].name, MANY, 0);
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;
		choir_topk_stats stats;
		choir_topk_state *state;

		out.dense = choir_host(results[rank]);
		OK(choir_topk_create(comm, &config, &state));
		if (one(world, rank, state, grads[rank], &out, &stats))
			CHECK(stats.k == cases[c].k && stats.selected == cases[c].k &&
			      strcmp(stats.algorithm, cases[c].name != NULL ? cases[c].name : "oktopk") == 0);
		choir_topk_destroy(state);
	}
}

/* Also the names of the table of its calls that the reference code has. */
static void names_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const char *const names[][2] = {
		{ "dense_allreduce", "dense" },
		{ "topk", "topka" },
		{ "topkA", "topka" },
		{ "topk_sparse_allreduce", "topka" },
		{ "topkA2", "topka2" },
		{ "topk2", "topka2" },
		{ "topkAopt", "topk-opt" },
		{ "topka-opt", "topk-opt" },
		{ "gtopk_sparse_allreduce", "gtopk" },
		{ "topkSA", "topk-sa" },
		{ "gaussiankconcat", "gaussiank-concat" },
		{ "gaussiankSA", "gaussiank-sa" },
		{ "OkTopk", "oktopk" },
		{ "SparDL", "spardl" },
	};
	float grad[N] = { 1 }, result[N];

	(void)arg;
	for (size_t i = 0; i < sizeof names / sizeof *names + LAW_ALGORITHMS; i++) {
		size_t own = i - sizeof names / sizeof *names;
		bool other = i < sizeof names / sizeof *names;
		choir_topk_config config = law_config(other ? names[i][0] : law_algorithms[own], N, K);
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;
		choir_topk_stats stats;
		choir_topk_state *state;

		out.dense = choir_host(result);
		if (!OK(choir_topk_create(comm, &config, &state)))
			continue;
		if (one(world, rank, state, grad, &out, &stats))
			CHECK(strcmp(stats.algorithm, other ? names[i][1] : law_algorithms[own]) == 0);
		choir_topk_destroy(state);
	}
}

static uint64_t number_at(const unsigned char *bytes, size_t at)
{
	uint64_t number = 0;

	for (int i = 7; i >= 0; i--)
		number = number << 8 | bytes[at + (size_t)i];
	return number;
}

/* Numbers of eight bytes, the lowest first; the residual in f32 behind the bounds of the ranks' regions. */
static void bytes_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { HEAD = 88, BOUNDS = 24 };
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_stats stats;
	choir_topk_state *state;
	unsigned char bytes[HEAD + BOUNDS + N * 4];
	float grad[N] = { [3] = 1, [N - 1] = 0.5f }, result[N];
	size_t n = 0;

	(void)arg;
	config.k = 1;
	out.dense = choir_host(result);
	OK(choir_topk_create(comm, &config, &state));
	one(world, rank, state, grad, &out, &stats);
	OK(choir_topk_export(state, NULL, &n));
	CHECK(n == sizeof bytes);
	SAYS(choir_topk_export(state, bytes, (n = 10, &n)), CHOIR_CAPACITY, "room for 10");
	CHECK(n == sizeof bytes);
	OK(choir_topk_export(state, bytes, &n));
	CHECK(memcmp(bytes, "choirtk", 8) == 0);
	CHECK(number_at(bytes, 8) == 1 && number_at(bytes, 16) == N && number_at(bytes, 24) == CHOIR_F32);
	CHECK(number_at(bytes, 40) == 2 && number_at(bytes, 48) == 0 && number_at(bytes, 56) == 1);
	for (size_t i = 0; i < N; i++)
		CHECK((number_at(bytes, HEAD + BOUNDS + i * 4 - (i == N - 1 ? 4 : 0)) >> (i == N - 1 ? 32 : 0) &
		       UINT32_MAX) == (i == N - 1 ? 0x3f000000u : 0));
	bytes[8] = 2;
	SAYS(choir_topk_import(state, bytes, n), CHOIR_ARGUMENT, "version 2; this library knows version 1");
	choir_topk_destroy(state);
}

/* Bytes of a state whose regions are none: refused, and the state goes on as before. */
static void regions_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { HEAD = 88, SIZE = HEAD + 4 * 8 + N * 4 };
	static const struct {
		size_t at;
		uint64_t bound;
	} bad[] = { { 0, 1 }, { 1, UINT64_MAX }, { 1, N + 1 }, { 2, 0 }, { 3, N - 1 }, { 3, N + 1 } };
	choir_topk_config config = law_config("oktopk", N, K);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_stats stats;
	choir_topk_state *state;
	unsigned char bytes[SIZE], broken[SIZE];
	float grad[N], result[N];
	size_t n = SIZE;

	(void)arg;
	out.dense = choir_host(result);
	for (size_t i = 0; i < N; i++)
		grad[i] = law_value(rank, 0, i);
	OK(choir_topk_create(comm, &config, &state));
	one(world, rank, state, grad, &out, &stats);
	OK(choir_topk_export(state, bytes, &n));
	for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
		memcpy(broken, bytes, sizeof broken);
		memcpy(broken + HEAD + 8 * bad[b].at, &bad[b].bound, 8);
		SAYS(choir_topk_import(state, broken, n), CHOIR_ARGUMENT, "regions");
	}
	CHECK(n == SIZE);
	OK(choir_topk_import(state, bytes, n));
	one(world, rank, state, grad, &out, &stats);
	CHECK(stats.call == 1);
	choir_topk_destroy(state);
}

/* Each involved entry leaves the residual, once, and no other does.  gtopk and spardl add what they dropped. */
static void used_once_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		choir_topk_config config = law_config(law_algorithms[a], N, K);
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;
		choir_topk_stats stats;
		choir_topk_state *state;
		uint32_t involved[(N + 31) / 32];
		float grad[N], result[N], before[N], after[N];

		if (law_drops_on_the_way(law_algorithms[a]))
			continue;
		out.dense = choir_host(result);
		out.involved = choir_host(involved);
		OK(choir_topk_create(comm, &config, &state));
		for (int call = 0; call < 40; call++) {
			for (size_t i = 0; i < N; i++)
				grad[i] = law_value(rank, call, i);
			OK(choir_topk_residual(state, before));
			if (!one(world, rank, state, grad, &out, &stats))
				break;
			OK(choir_topk_residual(state, after));
			for (size_t i = 0; i < N; i++) {
				float acc = before[i] + grad[i], left = involved[i / 32] >> i % 32 & 1 ? 0 : acc;

				if (after[i] != left)
					world_fail(world, rank, "%s, call %d: %g of %g left of element %zu",
					           law_algorithms[a], call, (double)after[i], (double)acc, i);
			}
		}
		choir_topk_destroy(state);
	}
	(void)arg;
}

/* u = u / 2 + g, acc = residual + u; what the result has leaves both, once.  All of these numbers are exact. */
static void momentum_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		choir_topk_config config = law_config(law_algorithms[a], N, K);
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;
		choir_topk_stats stats;
		choir_topk_state *state;
		uint32_t involved[(N + 31) / 32];
		float grad[N], result[N], velocity[N] = { 0 }, acc[N] = { 0 }, left[N];

		if (law_drops_on_the_way(law_algorithms[a]))
			continue;
		config.momentum = 0.5;
		out.dense = choir_host(result);
		out.involved = choir_host(involved);
		OK(choir_topk_create(comm, &config, &state));
		for (int call = 0; call < 8; call++) {
			for (size_t i = 0; i < N; i++) {
				grad[i] = law_value(rank, call, i);
				velocity[i] = velocity[i] / 2 + grad[i];
				acc[i] += velocity[i];
			}
			if (!one(world, rank, state, grad, &out, &stats))
				break;
			OK(choir_topk_residual(state, left));
			for (size_t i = 0; i < N; i++) {
				if (involved[i / 32] >> i % 32 & 1)
					acc[i] = velocity[i] = 0;
				if (left[i] != acc[i])
					world_fail(world, rank, "%s, call %d: %g left of element %zu, not %g",
					           law_algorithms[a], call, (double)left[i], i, (double)acc[i]);
			}
		}
		choir_topk_destroy(state);
	}
	(void)arg;
}

static void default_k(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, default_k_rank, NULL);
}

static void names(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, names_rank, NULL);
}

static void exported_bytes(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, bytes_rank, NULL);
}

static void broken_regions(void **state)
{
	(void)state;
	line_up_run(3, 0, 30000, regions_rank, NULL);
}

static void values_are_used_once(void **state)
{
	(void)state;
	line_up_run(3, 0, 60000, used_once_rank, NULL);
}

static void momentum(void **state)
{
	(void)state;
	line_up_run(3, 0, 60000, momentum_rank, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(default_k),
		                            cmocka_unit_test(names),
		                            cmocka_unit_test(exported_bytes),
		                            cmocka_unit_test(broken_regions),
		                            cmocka_unit_test(values_are_used_once),
		                            cmocka_unit_test(momentum) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
