/* SPDX-License-Identifier: MIT */
#include "topk/law.h"

#include "world/memory.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *const law_algorithms[] = { "dense",        "topka",   "topka2",    "topk-opt",
	                               "gtopk",        "topk-sa", "gaussiank", "gaussiank-concat",
	                               "gaussiank-sa", "oktopk",  "spardl" };

choir_topk_config law_config(const char *algorithm, size_t count, size_t k)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;

	config.algorithm = algorithm;
	config.count = count;
	config.k = k;
	config.op = CHOIR_OP_SUM;
	return config;
}

float law_value(int rank, int call, size_t i)
{
	return (float)((i * 37 + (size_t)rank * 11 + (size_t)call * 5) % 101) - 50;
}

choir_status law_call(choir_topk_state *state, const void *grad, void *dense, choir_event **event_p)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;

	out.dense = choir_host(dense);
	return choir_topk_allreduce(state, choir_host((void *)grad), &out, NULL, event_p);
}

bool law_drops_on_the_way(const char *algorithm)
{
	return strcmp(algorithm, "gtopk") == 0 || strcmp(algorithm, "spardl") == 0;
}

/* What the ranks of a trial show each other. */
static struct {
	const struct law *law;
	pthread_barrier_t barrier;
	float *grad[LAW_RANKS], *before[LAW_RANKS], *after[LAW_RANKS], *result[LAW_RANKS];
	double moved;
	choir_topk_stats stats;
} show;

/* A rank's memory. */
struct side {
	struct memory grad, dense, ind, val, involved;
	size_t pairs;
};

double law_moved(void)
{
	return show.moved;
}

choir_topk_stats law_stats(void)
{
	return show.stats;
}

static float random_value(int rank, int call, size_t i)
{
	uint64_t x = ((uint64_t)rank * 1000003 + (uint64_t)call) * 7919 + i * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 32;
	return x % 10 < 6 ? 0 : (float)(int)(x / 10 % 41) - 20;
}

static void make_side(struct side *side, struct world *world, const struct law *law)
{
	size_t n = law->config.count;

	memory_make(&side->grad, world->device, law->device, n * 4, 4);
	memory_make(&side->dense, world->device, law->device, n * 4, 8);
	memory_make(&side->ind, world->device, law->device, n * 4, 0);
	memory_make(&side->val, world->device, law->device, n * 4, 12);
	memory_make(&side->involved, world->device, law->device, (n + 31) / 32 * 4, 4);
}

static void free_side(struct side *side)
{
	memory_free(&side->grad);
	memory_free(&side->dense);
	memory_free(&side->ind);
	memory_free(&side->val);
	memory_free(&side->involved);
}

static void fill_grad(const struct law *law, struct side *side, int rank, int call)
{
	float *grad = (float *)(void *)memory_payload(&side->grad);

	for (size_t i = 0; i < law->config.count; i++)
		grad[i] = show.grad[rank][i] = (law->value != NULL ? law->value : random_value)(rank, call, i);
	memory_push(&side->grad);
}

/* Pairs are the dense result's non-zeros and some zeros, ascending; the sentinels stand. */
static void check_pairs(struct world *world, int rank, struct side *side)
{
	const float *dense = (const float *)(const void *)memory_payload(&side->dense),
		    *val = (const float *)(const void *)memory_payload(&side->val);
	const int32_t *ind = (const int32_t *)(const void *)memory_payload(&side->ind);
	size_t n = show.law->config.count, at = 0;

	CHECK(memory_sentinels_stand(&side->dense) && memory_sentinels_stand(&side->ind) &&
	      memory_sentinels_stand(&side->val) && memory_sentinels_stand(&side->involved) &&
	      memory_sentinels_stand(&side->grad));
	for (size_t i = 1; i < side->pairs; i++)
		if (ind[i] <= ind[i - 1]) {
			world_fail(world, rank, "pairs are not ascending at %zu", i);
			return;
		}
	for (size_t i = 0; i < n; i++) {
		bool here = at < side->pairs && ind[at] == (int32_t)i;

		if (here ? val[at] != dense[i] : dense[i] != 0) {
			world_fail(world, rank, "element %zu: dense %g, pairs %g", i, (double)dense[i],
			           here ? (double)val[at] : 0);
			return;
		}
		at += here;
	}
	CHECK(at == side->pairs);
}

/* An involved entry is one of the result, and its accumulated value has left; the others' has not (but for the
 * algorithms that add dropped sums). */
static void check_involved(struct world *world, int rank, struct side *side, uint64_t count)
{
	const uint32_t *bits = (const uint32_t *)(const void *)memory_payload(&side->involved);
	const int32_t *ind = (const int32_t *)(const void *)memory_payload(&side->ind);
	size_t n = show.law->config.count, at = 0, set = 0;

	for (size_t i = 0; i < n; i++) {
		bool involved = bits[i / 32] >> i % 32 & 1, here = at < side->pairs && ind[at] == (int32_t)i;

		at += here;
		set += involved;
		if (involved && !here)
			world_fail(world, rank, "element %zu is involved, but not in the result", i);
	}
	CHECK(set == count);
}

static void check_law(struct world *world, int rank, int call)
{
	const struct law *law = show.law;

	for (size_t i = 0; i < law->config.count; i++) {
		double acc = 0, left = show.result[rank][i], magnitude = 0;

		for (int r = 0; r < law->ranks; r++) {
			double kept = law->config.decay * (double)show.before[r][i],
			       came = law->config.scale * (double)show.grad[r][i];

			acc += kept + came;
			magnitude += fabs(kept) + fabs(came);
			left += (double)show.after[r][i];
		}
		if (fabs(acc - left) > law->tolerance * magnitude || show.result[rank][i] != show.result[0][i]) {
			world_fail(world, rank, "%s, %d ranks, call %d, element %zu: %g accumulated, %g left and sent",
			           law->config.algorithm, law->ranks, call, i, acc, left);
			return;
		}
	}
}

static bool one_call(struct world *world, int rank, struct side *side, choir_topk_state *state, int call)
{
	const struct law *law = show.law;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_stats stats = { .struct_size = sizeof stats };
	choir_event *event = NULL;
	bool ok;

	out.dense = side->dense.buffer;
	out.ind = side->ind.buffer;
	out.val = side->val.buffer;
	out.involved = side->involved.buffer;
	out.pairs_p = &side->pairs;
	side->pairs = law->config.count;
	ok = OK(choir_topk_allreduce(state, side->grad.buffer, &out, NULL, &event)) &&
	     OK(choir_event_wait(event, -1)) && OK(choir_event_topk_stats(event, &stats));
	choir_event_release(event);
	if (!ok)
		return false;
	memory_pull(&side->dense);
	memory_pull(&side->ind);
	memory_pull(&side->val);
	memory_pull(&side->involved);
	check_pairs(world, rank, side);
	check_involved(world, rank, side, stats.involved);
	CHECK(stats.pairs == side->pairs && stats.call == (uint64_t)call);
	memcpy(show.result[rank], memory_payload(&side->dense), law->config.count * 4);
	if (rank == 0)
		show.stats = stats;
	return OK(choir_topk_residual(state, show.after[rank]));
}

static void trial(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct law *law = arg;
	choir_topk_state *state = NULL;
	struct side side;
	bool ok = OK(choir_topk_create(comm, &law->config, &state));

	make_side(&side, world, law);
	for (int call = 0; call < law->calls; call++) {
		pthread_barrier_wait(&show.barrier); /* all have checked the call before */
		if (ok && law->before != NULL)
			law->before(world, rank, call, state);
		fill_grad(law, &side, rank, call);
		ok = ok && OK(choir_topk_residual(state, show.before[rank])) &&
		     one_call(world, rank, &side, state, call);
		pthread_barrier_wait(&show.barrier);
		if (ok && world->failure[0] == '\0')
			check_law(world, rank, call);
		for (size_t i = 0; i < law->config.count && rank == 0; i++)
			show.moved += show.result[0][i] < 0 ? -(double)show.result[0][i] : (double)show.result[0][i];
	}
	free_side(&side);
	choir_topk_destroy(state);
}

void law_holds(const struct law *law)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	size_t bytes = law->config.count * 4 + 4;

	config.deadline_ms = 60000;
	config.ranks_per_node = law->ranks_per_node;
	show.law = law;
	show.moved = 0;
	pthread_barrier_init(&show.barrier, NULL, (unsigned)law->ranks);
	for (int r = 0; r < law->ranks; r++) {
		show.grad[r] = calloc(1, bytes);
		show.before[r] = calloc(1, bytes);
		show.after[r] = calloc(1, bytes);
		show.result[r] = calloc(1, bytes);
	}
	world_run(law->ranks, &config, trial, (void *)law);
	for (int r = 0; r < law->ranks; r++) {
		free(show.grad[r]);
		free(show.before[r]);
		free(show.after[r]);
		free(show.result[r]);
	}
	pthread_barrier_destroy(&show.barrier);
}
