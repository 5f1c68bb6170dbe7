/* SPDX-License-Identifier: MIT */
/* Words that a rank receives: what docs/topk.md says of exact selections; and oktopk's volume, once its thresholds have
 * settled: outside the calls that find the global threshold anew a rank receives no more than 6 k (P-1)/P words for the
 * k asked for, and selects about k entries, as many as the result has.  Where nearly all large entries lie close
 * together, regions of equal length would give all work to one owner; words are only told there. */
#include "topk/law.h"
#include "world/gate.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 20000, K = 400, SETTLED = 128, CALLS = 192, PERIOD = 32 };

/* Without ties, and of about the same magnitudes on all ranks, in every call and everywhere. */
static float spread(int rank, int call, size_t i)
{
	uint64_t x = (uint64_t)rank * 77 + (uint64_t)call * 1009 + i * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 31;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 29;
	return (float)(int)(x % 4000001) / 1000 - 2000;
}

/* Nearly all large entries are in an eighth of the tensor. */
static float skewed(int rank, int call, size_t i)
{
	return spread(rank, call, i) * (i < COUNT / 8 ? 8 : 1);
}

/* From one call on all magnitudes are three times what they were, and far more pass the thresholds. */
static float jumps(int rank, int call, size_t i)
{
	return spread(rank, call, i) * (call < SETTLED + 10 ? 1 : 3);
}

/* From one call on all magnitudes are a third of what they were, and far fewer pass the thresholds; for a rank that
 * forgets its residual. */
static float falls(int rank, int call, size_t i)
{
	return spread(rank, call, i) / (call < SETTLED + 10 ? 1 : 3);
}

/* What the calls between the exact ones came to. */
struct volume {
	int calls;
	double most_words, imbalance;
	uint64_t least_selected, least, most; /* least, most: selected, and in the result */
};

static void add(struct volume *volume, const choir_topk_stats *stats)
{
	double words = 2 * (double)stats->pairs_received;

	if (stats->call < SETTLED || stats->call % PERIOD == 0)
		return;
	volume->calls++;
	volume->least_selected = stats->selected < volume->least_selected ? stats->selected : volume->least_selected;
	for (int i = 0; i < 2; i++) {
		uint64_t n = i == 0 ? stats->selected : stats->pairs;

		volume->least = n < volume->least ? n : volume->least;
		volume->most = n > volume->most ? n : volume->most;
	}
	volume->most_words = words > volume->most_words ? words : volume->most_words;
	volume->imbalance += stats->imbalance;
}

typedef float (*value_fn)(int rank, int call, size_t i);

static choir_status one_call(choir_topk_state *state, int rank, int call, value_fn value, float *grad,
                             choir_topk_stats *stats)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_event *event;
	choir_status st;

	for (size_t i = 0; i < COUNT; i++)
		grad[i] = value(rank, call, i);
	out.dense = choir_host(grad);
	st = choir_topk_allreduce(state, choir_host(grad), &out, NULL, &event);
	if (st != CHOIR_SUCCESS)
		return st;
	st = choir_event_wait(event, -1);
	if (st == CHOIR_SUCCESS)
		st = choir_event_topk_stats(event, stats);
	choir_event_release(event);
	return st;
}

/* That of lstm, the default: 3/4 to 5/4 of k.  What a rank selects is in it whatever the gradients do. */
static void check_band(struct world *world, int rank, const struct volume *volume, bool least)
{
	if ((double)volume->least_selected < 0.75 * K || (least && (double)volume->least < 0.75 * K) ||
	    (double)volume->most > 1.25 * K)
		world_fail(world, rank, "%d to %d entries in a call, %d wanted", (int)volume->least, (int)volume->most,
		           K);
}

static void volume_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("oktopk", COUNT, K);
	choir_topk_stats stats = { .struct_size = sizeof stats };
	struct volume volume = { .least_selected = UINT64_MAX, .least = UINT64_MAX };
	double bound = 6.0 * K * (choir_comm_size(comm) - 1) / choir_comm_size(comm);
	float *grad = malloc(COUNT * sizeof *grad);
	const value_fn *value = arg;
	choir_topk_state *state;

	config.decay = *value == falls ? 0 : 1;
	OK(choir_topk_create(comm, &config, &state));
	for (int call = 0; call < CALLS; call++) {
		OK(one_call(state, rank, call, *value, grad, &stats));
		add(&volume, &stats);
	}
	if (rank == 0)
		print_message("%d ranks: at most %g words, %g are allowed; %d to %d entries, imbalance %.2f\n",
		              choir_comm_size(comm), volume.most_words, bound, (int)volume.least, (int)volume.most,
		              volume.imbalance / volume.calls);
	if (*value != skewed && volume.most_words > bound)
		world_fail(world, rank, "%g words received in a call, %g are allowed", volume.most_words, bound);
	check_band(world, rank, &volume, *value != jumps && *value != falls);
	if (volume.imbalance / volume.calls > 1.5)
		world_fail(world, rank, "the busiest owner gets %g times the mean", volume.imbalance / volume.calls);
	choir_topk_destroy(state);
	free(grad);
}

/* Pairs that a rank may receive in a call that selects exactly k, by docs/topk.md: a chunk has k/P rounded up. */
static uint64_t allowed(const char *algorithm, uint64_t ranks)
{
	uint64_t rounds = 0;

	while (UINT64_C(1) << rounds < ranks)
		rounds++;
	if (strcmp(algorithm, "gtopk") == 0)
		return K * (rounds + 1);
	return strcmp(algorithm, "spardl") == 0 ? 2 * (ranks - 1) * ((K + ranks - 1) / ranks) : K * (ranks - 1);
}

static void first_call_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const char *const names[] = { "topka", "topka2", "topk-opt", "gtopk", "spardl" };
	uint64_t ranks = (uint64_t)choir_comm_size(comm);
	float *grad = malloc(COUNT * sizeof *grad);

	(void)arg;
	for (int i = 0; i < 5; i++) {
		choir_topk_config config = law_config(names[i], COUNT, K);
		choir_topk_stats stats = { .struct_size = sizeof stats };
		choir_topk_state *state;
		bool differs;

		OK(choir_topk_create(comm, &config, &state));
		OK(one_call(state, rank, 0, spread, grad, &stats));
		differs = i < 3 && stats.pairs_received != allowed(names[i], ranks);
		if (differs || stats.pairs_received > allowed(names[i], ranks) || stats.pairs_received == 0)
			world_fail(world, rank, "%s, %d ranks: %d pairs received", names[i], (int)ranks,
			           (int)stats.pairs_received);
		choir_topk_destroy(state);
	}
	free(grad);
}

static void as_documented(void **state)
{
	(void)state;
	for (int ranks = 2; ranks <= LAW_RANKS; ranks++)
		line_up_run(ranks, 0, 30000, first_call_rank, NULL);
}

static void entries_everywhere(void **state)
{
	value_fn value = spread;

	(void)state;
	for (int ranks = 2; ranks <= LAW_RANKS; ranks++)
		line_up_run(ranks, 0, 30000, volume_rank, &value);
}

static void entries_that_grow(void **state)
{
	value_fn value = jumps;

	(void)state;
	for (int ranks = 2; ranks <= LAW_RANKS; ranks++)
		line_up_run(ranks, 0, 30000, volume_rank, &value);
}

static void entries_that_shrink(void **state)
{
	value_fn value = falls;

	(void)state;
	for (int ranks = 2; ranks <= LAW_RANKS; ranks++)
		line_up_run(ranks, 0, 30000, volume_rank, &value);
}

static void entries_close_together(void **state)
{
	value_fn value = skewed;

	(void)state;
	for (int ranks = 2; ranks <= LAW_RANKS; ranks++)
		line_up_run(ranks, 0, 30000, volume_rank, &value);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_documented), cmocka_unit_test(entries_everywhere),
		                            cmocka_unit_test(entries_that_grow), cmocka_unit_test(entries_that_shrink),
		                            cmocka_unit_test(entries_close_together) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	memory_drop();
	world_device_drop();
	return failed;
}
