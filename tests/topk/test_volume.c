/* SPDX-License-Identifier: MIT */
/* oktopk's volume, once its thresholds have settled, where large entries are as frequent everywhere: outside the calls
 * that find the global threshold anew a rank receives no more than 6 k (P-1)/P words for the k asked for, and selects
 * about k entries, as many as the result has. */
#include "topk/law.h"
#include "world/gate.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COUNT = 5000, K = 100, SETTLED = 128, CALLS = 192, PERIOD = 32 };

/* Without ties, and of about the same magnitudes on all ranks, in every call and everywhere. */
static float spread(int rank, int call, size_t i)
{
	uint64_t x = (uint64_t)rank * 77 + (uint64_t)call * 1009 + i * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 31;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 29;
	return (float)(int)(x % 4000001) / 1000 - 2000;
}

/* What the calls between the exact ones came to. */
struct volume {
	int calls;
	double most_words, selected, pairs;
};

static void add(struct volume *volume, const choir_topk_stats *stats)
{
	double words = 2 * (double)stats->pairs_received;

	if (stats->call < SETTLED || stats->call % PERIOD == 0)
		return;
	volume->calls++;
	volume->most_words = words > volume->most_words ? words : volume->most_words;
	volume->selected += (double)stats->selected;
	volume->pairs += (double)stats->pairs;
}

static choir_status one_call(choir_topk_state *state, int rank, int call, float *grad, choir_topk_stats *stats)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_event *event;
	choir_status st;

	for (size_t i = 0; i < COUNT; i++)
		grad[i] = spread(rank, call, i);
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

/* That of lstm, the default: 3/4 to 5/4 of k. */
static void check_band(struct world *world, int rank, const char *what, double mean)
{
	if (mean < 0.75 * K || mean > 1.25 * K)
		world_fail(world, rank, "%g entries %s a call, %d wanted", mean, what, K);
}

static void volume_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("oktopk", COUNT, K);
	choir_topk_stats stats = { .struct_size = sizeof stats };
	struct volume volume = { 0 };
	double bound = 6.0 * K * (choir_comm_size(comm) - 1) / choir_comm_size(comm);
	float *grad = malloc(COUNT * sizeof *grad);
	choir_topk_state *state;

	(void)arg;
	OK(choir_topk_create(comm, &config, &state));
	for (int call = 0; call < CALLS; call++) {
		OK(one_call(state, rank, call, grad, &stats));
		add(&volume, &stats);
	}
	if (volume.most_words > bound)
		world_fail(world, rank, "%g words received in a call, %g are allowed", volume.most_words, bound);
	check_band(world, rank, "selected", volume.selected / volume.calls);
	check_band(world, rank, "in the result", volume.pairs / volume.calls);
	choir_topk_destroy(state);
	free(grad);
}

static void volume(void **state)
{
	(void)state;
	for (int ranks = 2; ranks <= LAW_RANKS; ranks++)
		line_up_run(ranks, 0, 30000, volume_rank, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(volume) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	memory_drop();
	world_device_drop();
	return failed;
}
