/* SPDX-License-Identifier: MIT */
/* How a rank selects, where the caller asks for a way that is not the algorithm's. */
#include "topk/law.h"
#include "world/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4000, K = 40, CALLS = 9, PERIOD = 4, SAMPLED_K = 160 };

static choir_topk_config config_of(const char *algorithm, choir_topk_threshold threshold)
{
	choir_topk_config config = law_config(algorithm, N, K);

	config.threshold = threshold;
	return config;
}

/* In the first call of a run all gradients are 0; in all calls all but every 200th element, less than k. */
static _Atomic bool begins_at_zero, is_thin;

/* About normal, and no two magnitudes alike. */
static float spread(int rank, int call, size_t i)
{
	float sum = 0;

	for (uint64_t part = 0; part < 6; part++) {
		uint64_t x = ((uint64_t)rank * 77 + (uint64_t)call * 1009 + 1) * 131 + i * 6 + part;

		x *= UINT64_C(0x9e3779b97f4a7c15);
		x ^= x >> 29;
		x *= UINT64_C(0xbf58476d1ce4e5b9);
		sum += (float)(x >> 44) * 0x1p-20f - 0.5f;
	}
	return sum;
}

/* The statistics of each call. */
static void run(struct world *world, int rank, choir_comm *comm, const choir_topk_config *config,
                choir_topk_stats *stats)
{
	static float grads[4][N], results[4][N];
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;

	out.dense = choir_host(results[rank]);
	if (!OK(choir_topk_create(comm, config, &state)))
		return;
	for (int call = 0; call < CALLS; call++) {
		choir_event *event = NULL;

		for (size_t i = 0; i < N; i++)
			grads[rank][i] =
			    (begins_at_zero && call == 0) || (is_thin && i % 200 != 0) ? 0 : spread(rank, call, i);
		stats[call].struct_size = sizeof *stats;
		OK(choir_topk_allreduce(state, choir_host(grads[rank]), &out, NULL, &event));
		OK(choir_event_wait(event, -1));
		OK(choir_event_topk_stats(event, &stats[call]));
		choir_event_release(event);
	}
	choir_topk_destroy(state);
}

static void exact_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = config_of("oktopk", CHOIR_TOPK_THRESHOLD_EXACT);
	choir_topk_stats stats[CALLS];

	(void)arg;
	run(world, rank, comm, &config, stats);
	for (int call = 0; call < CALLS; call++)
		CHECK(stats[call].selected == K);
}

/* A residual that is forgotten, so that all calls have alike gradients: the old threshold lets about k pass. */
static void reuse_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = config_of("topka", CHOIR_TOPK_THRESHOLD_REUSE);
	choir_topk_stats stats[CALLS];
	bool other = false;

	(void)arg;
	config.decay = 0;
	config.threshold_period = PERIOD;
	config.threshold_low = 0.1;
	config.threshold_high = 10;
	run(world, rank, comm, &config, stats);
	for (int call = 0; call < CALLS; call++) {
		CHECK(call % PERIOD != 0 || stats[call].selected == K);
		CHECK(call % PERIOD == 0 || stats[call].local_threshold == stats[call - 1].local_threshold);
		other |= stats[call].selected != K;
	}
	CHECK(other);
}

/* The threshold of a call without a gradient is 0: it says nothing of those to come. */
static void zero_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topk-opt", N, K);
	choir_topk_stats stats[CALLS];

	(void)arg;
	run(world, rank, comm, &config, stats);
	CHECK(stats[1].selected == K);
	for (int call = 2; call < CALLS; call++)
		CHECK(stats[call].selected < N / 2);
}

/* Less than k elements are not 0, so the exact calls' threshold is 0; the other calls send no zeros. */
static void thin_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topk-opt", N, K);
	choir_topk_stats stats[CALLS];

	(void)arg;
	run(world, rank, comm, &config, stats);
	CHECK(stats[0].selected == K);
	for (int call = 1; call < CALLS; call++)
		CHECK(stats[call].selected <= N / 200 && stats[call].selected > 0);
}

/* A band of exactly k: the threshold moves after each call by the factor, unless just k passed, and by up to 1.03^5
 * where far too many would pass.  The k largest are sent, whatever passes. */
static void factor_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = config_of("topk-sa", CHOIR_TOPK_THRESHOLD_REUSE);
	choir_topk_stats stats[CALLS];
	int raised = 0, lowered = 0;

	(void)arg;
	config.decay = 0;
	config.threshold_period = 100;
	config.threshold_low = config.threshold_high = 1;
	config.threshold_factor = 1.25;
	run(world, rank, comm, &config, stats);
	for (int call = 1; call < CALLS; call++) {
		double ratio = stats[call].local_threshold / stats[call - 1].local_threshold;

		CHECK(stats[call].selected == K);
		if (ratio < 0.95) {
			ratio *= 1.25;
			lowered++;
		} else if (ratio > 1.2) {
			ratio /= 1.25;
			raised++;
		}
		CHECK(ratio > 1 - 1e-6 && ratio < pow(1.03, 5) + 1e-6);
	}
	CHECK(raised > 0 && lowered > 0);
}

static void gaussian_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = config_of("topka2", CHOIR_TOPK_THRESHOLD_GAUSSIAN);
	choir_topk_stats stats[CALLS];

	(void)arg;
	config.decay = 0;
	run(world, rank, comm, &config, stats);
	for (int call = 0; call < CALLS; call++)
		CHECK(stats[call].selected >= 3 * K / 4 && stats[call].selected <= 5 * K / 4);
}

/* Far from a normal distribution: by the threshold of one none would ever pass, or all. */
static float narrow(int rank, int call, size_t i)
{
	return 1000 + spread(rank, call, i) * 0.125f;
}

static void not_normal(void **state)
{
	static const char *const names[] = { "gaussiank", "gaussiank-concat", "gaussiank-sa" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct law law = { .config = law_config(names[i], N, K), .ranks = 2, .value = narrow };

		law.tolerance = 1e-6;
		for (law.calls = 1; law.calls <= 3; law.calls++) {
			law_holds(&law);
			assert_in_range(law_stats().selected, 1, N);
		}
	}
}

/* About k in a tensor of which the sample is a part, and k at least where the sample says so. */
static void sampled_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = config_of("topk-sa", CHOIR_TOPK_THRESHOLD_SAMPLED);
	choir_topk_stats stats[CALLS];
	bool other = false;

	(void)arg;
	config.k = SAMPLED_K;
	config.decay = 0;
	run(world, rank, comm, &config, stats);
	for (int call = 0; call < CALLS; call++) {
		CHECK(stats[call].selected > SAMPLED_K / 3 && stats[call].selected <= 5 * SAMPLED_K / 4);
		CHECK(stats[call].local_threshold > 0);
		other |= stats[call].selected != SAMPLED_K;
	}
	CHECK(other);
}

static void refuses(struct world *world, int rank, choir_comm *comm, const choir_topk_config *config,
                    choir_status wanted, const char *words)
{
	choir_topk_state *state = NULL;

	SAYS(choir_topk_create(comm, config, &state), wanted, words);
	CHECK(state == NULL);
}

static void refused_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const char *const names[] = { "dense", "gtopk", "spardl" };
	choir_topk_config config;

	(void)arg;
	for (int i = 0; i < 3; i++) {
		config = config_of(names[i], CHOIR_TOPK_THRESHOLD_EXACT);
		refuses(world, rank, comm, &config, CHOIR_UNSUPPORTED, names[i]);
	}
	config = config_of("topka", (choir_topk_threshold)9);
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "threshold is 9");
	config = config_of("topka", CHOIR_TOPK_THRESHOLD_EXACT);
	config.threshold_period = 3;
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "REUSE only");
	config = config_of("topka", CHOIR_TOPK_THRESHOLD_REUSE);
	config.threshold_factor = 0.5;
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "threshold_factor is 0.5");
	config = config_of("topka", CHOIR_TOPK_THRESHOLD_REUSE);
	config.threshold_low = 2;
	config.threshold_high = 3;
	refuses(world, rank, comm, &config, CHOIR_ARGUMENT, "2 to 3 of k");
	for (int high = 0; high < 2; high++) { /* the other end is the preset's */
		choir_topk_state *state;

		config.threshold_low = high ? 0 : 0.5;
		config.threshold_high = high ? 2 : 0;
		OK(choir_topk_create(comm, &config, &state));
		choir_topk_destroy(state);
	}
}

/* Ranks that select in different ways. */
static void mismatch_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static float grads[4][N], results[4][N];
	choir_topk_config config = config_of("topka", CHOIR_TOPK_THRESHOLD_REUSE);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;

	(void)arg;
	config.threshold_period = 5 + (size_t)rank;
	out.dense = choir_host(results[rank]);
	OK(choir_topk_create(comm, &config, &state));
	SAYS(choir_topk_allreduce(state, choir_host(grads[rank]), &out, NULL, NULL), CHOIR_MISMATCH, "topk_allreduce");
	choir_topk_destroy(state);
}

static void on_two(world_fn fn)
{
	line_up_run(2, 0, 30000, fn, NULL);
}

static void selections(void **state)
{
	(void)state;
	on_two(exact_rank);
	on_two(reuse_rank);
	on_two(factor_rank);
	on_two(gaussian_rank);
	on_two(sampled_rank);
	begins_at_zero = true;
	on_two(zero_rank);
	begins_at_zero = false;
	is_thin = true;
	on_two(thin_rank);
	is_thin = false;
}

static void refusals(void **state)
{
	(void)state;
	on_two(refused_rank);
	on_two(mismatch_rank);
}

static void law(void **state)
{
	static const char *const names[] = { "topka", "topka2", "topk-opt", "topk-sa", "gaussiank-concat", "oktopk" };

	(void)state;
	for (int i = 0; i < 6; i++)
		for (int policy = CHOIR_TOPK_THRESHOLD_EXACT; policy <= CHOIR_TOPK_THRESHOLD_SAMPLED; policy++) {
			struct law law = { .config = config_of(names[i], (choir_topk_threshold)policy),
				           .ranks = 3,
				           .calls = 12 };

			law.config.count = 211;
			law.config.k = 12;
			law_holds(&law);
			assert_true(law_moved() > 0);
		}
}

/* The sample is a third of the tensor. */
static void law_sampled(void **state)
{
	static const int ranks[] = { 1, 2, 3, 5, 8 };
	static const char *const names[] = { "topka", "topka2", "topk-sa", "oktopk" };

	(void)state;
	for (int i = 0; i < 4; i++)
		for (int n = 0; n < 5; n++) {
			struct law law = { .config = config_of(names[i], CHOIR_TOPK_THRESHOLD_SAMPLED),
				           .ranks = ranks[n],
				           .calls = 6 };

			law.config.count = 3001;
			law.config.k = 200;
			law.device = n % 2 == 1;
			law_holds(&law);
			assert_true(law_moved() > 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(selections), cmocka_unit_test(refusals),
		                            cmocka_unit_test(law), cmocka_unit_test(law_sampled),
		                            cmocka_unit_test(not_normal) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
