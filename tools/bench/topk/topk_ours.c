/* SPDX-License-Identifier: MIT */
#include "bench/ranks/world.h"
#include "bench/sparse/sparse_ids.h"
#include "bench/ways/ours.h"
#include "lib/stats.h"
#include "topk_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 77, PARTS = 4, KEPT = 1024 };

struct topk_ours {
	struct contender base;
	const struct topk_job *topk;
	struct memory out, ind, val; /* dense; pairs, with room for every element */
	uint64_t made;               /* calls */
	choir_topk_state *state;
	char options[OURS_OPTIONS_BYTES];
	choir_call call;
	struct topk_means sum;
	double calls, all_words, all_calls; /* words, calls: outside those that find a threshold anew */
	double part_us[PARTS][KEPT];        /* of the first so many timed calls */
};

/* The first call and the warm-up, which are not timed. */
static uint64_t untimed_calls(const struct args *args)
{
	return 1 + (uint64_t)(args->warmup > 0 ? args->warmup : 1);
}

/* oktopk's sums of all ranks travel in the calls that find the global threshold anew: every 32nd. */
static bool is_bounded(const choir_topk_stats *stats)
{
	return strcmp(stats->algorithm, "oktopk") != 0 || stats->call % 32 != 0;
}

static void note(struct topk_ours *ours, const choir_topk_stats *stats)
{
	struct topk_means *sum = &ours->sum;
	const double parts[PARTS] = { stats->select_us, stats->exchange_us, stats->merge_us, stats->update_us };
	double words = 2 * (double)stats->pairs_received;

	if (ours->made <= untimed_calls(ours->topk->job->args))
		return;
	for (int i = 0; i < PARTS && ours->all_calls < KEPT; i++)
		ours->part_us[i][(size_t)ours->all_calls] = parts[i];
	sum->algorithm = stats->algorithm;
	sum->selected += (double)stats->selected;
	sum->pairs += (double)stats->pairs;
	sum->imbalance += stats->imbalance;
	sum->wire += (double)stats->wire_bytes;
	sum->local = stats->local_threshold;
	sum->global = stats->global_threshold;
	ours->all_calls++;
	ours->all_words += words;
	ours->calls += is_bounded(stats);
	sum->words += is_bounded(stats) ? words : 0;
}

static bool wants(const struct topk_ours *ours, const char *form)
{
	const char *result = ours->topk->job->args->sparse.result;

	return strcmp(result, form) == 0 || strcmp(result, "both") == 0;
}

/* pairs: room in, pairs out, until the call is over. */
static choir_topk_out out_of(const struct topk_ours *ours, size_t *pairs)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;

	if (wants(ours, "dense"))
		out.dense = memory_buffer(&ours->out, 0);
	if (!wants(ours, "pairs"))
		return out;
	out.ind = memory_buffer(&ours->ind, 0);
	out.val = memory_buffer(&ours->val, 0);
	out.ind_dtype = ours->topk->job->args->sparse.index_dtype;
	out.pairs_p = pairs;
	*pairs = ours->topk->n;
	return out;
}

static int once(struct contender *self)
{
	struct topk_ours *ours = (struct topk_ours *)self;
	const struct topk_job *topk = ours->topk;
	size_t from = sparse_ids_random(ORDER, ours->made++) % (topk->spare / TOPK_STEP + 1) * TOPK_STEP, pairs;
	choir_topk_out out = out_of(ours, &pairs);
	choir_topk_stats stats = { .struct_size = sizeof stats };
	choir_event *event = NULL;
	choir_status st;
	int status = EXIT_FINE;

	st = choir_topk_allreduce(ours->state, memory_buffer(&topk->grads, from * topk->job->elem_bytes), &out,
	                          &ours->call, &event);
	if (st != CHOIR_SUCCESS)
		return ours_failed(ours->topk->job, "topk", st, choir_last_error());
	st = choir_event_wait(event, -1);
	if (st == CHOIR_SUCCESS && choir_event_topk_stats(event, &stats) == CHOIR_SUCCESS)
		note(ours, &stats);
	else
		status = ours_failed(ours->topk->job, "topk", st, choir_event_error(event));
	choir_event_release(event);
	return status;
}

static void close_ours(struct contender *self)
{
	struct topk_ours *ours = (struct topk_ours *)self;

	choir_topk_destroy(ours->state);
	memory_fini(&ours->out);
	memory_fini(&ours->ind);
	memory_fini(&ours->val);
	free(ours);
}

static bool open_state(struct topk_ours *ours, const char *algorithm)
{
	const struct topk_job *topk = ours->topk;
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;

	config.count = topk->n;
	config.dtype = topk->job->dtype;
	config.algorithm = algorithm;
	config.density = topk->density;
	config.op = topk->job->op;
	if (choir_topk_create(topk->job->comm, &config, &ours->state) == CHOIR_SUCCESS)
		return true;
	fprintf(stderr, "choir-bench: topk: %s\n", choir_last_error());
	return false;
}

static bool open_results(struct topk_ours *ours)
{
	const struct topk_job *topk = ours->topk;
	const struct memory_source *source = &topk->job->memory;
	size_t bytes = topk->n * topk->job->elem_bytes,
	       ind_bytes = topk->n * choir_dtype_bytes(topk->job->args->sparse.index_dtype);

	if (wants(ours, "dense") && !memory_init(&ours->out, source, bytes))
		return false;
	if (!wants(ours, "pairs"))
		return true;
	return memory_init(&ours->ind, source, ind_bytes) && memory_init(&ours->val, source, bytes);
}

struct contender *topk_ours_open(const struct topk_job *topk, const char *algorithm)
{
	struct topk_ours *ours = calloc(1, sizeof *ours);

	if (ours == NULL)
		return NULL;
	ours->base = (struct contender){ .name = "choir", .calls = 1, .once = once, .close = close_ours };
	ours->topk = topk;
	ours->call = ours_call(topk->job->args, topk->job->op, NULL, ours->options);
	if (open_results(ours) && open_state(ours, algorithm))
		return &ours->base;
	close_ours(&ours->base);
	return NULL;
}

struct topk_means topk_ours_means(struct contender *self)
{
	struct topk_ours *ours = (struct topk_ours *)self;
	struct topk_means means = ours->sum;
	double n = ours->all_calls > 0 ? ours->all_calls : 1;
	double *parts[PARTS] = { &means.select_us, &means.exchange_us, &means.merge_us, &means.update_us };
	double *others[] = { &means.selected, &means.pairs, &means.imbalance, &means.wire };

	for (int i = 0; i < PARTS && ours->all_calls > 0; i++)
		*parts[i] = stats_of(ours->part_us[i], n < KEPT ? (size_t)n : KEPT).p50;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		*others[i] /= n;
	means.words = ours->calls > 0 ? means.words / ours->calls : ours->all_words / n;
	return means;
}

static bool is(const char *algorithm, const char *name)
{
	return strncmp(algorithm, name, strlen(name)) == 0;
}

double topk_formula(const char *algorithm, double n, double k, double pairs, int ranks)
{
	double f = (double)(ranks - 1) / ranks;

	if (is(algorithm, "dense"))
		return 2 * n * f;
	if (is(algorithm, "gtopk"))
		return 2 * k * (ceil(log2(ranks)) + (ranks > 1));
	if (is(algorithm, "topk-sa") || is(algorithm, "gaussiank-sa"))
		return f * (2 * k + 2 * pairs);
	if (is(algorithm, "oktopk"))
		return 6 * k * f;
	return is(algorithm, "spardl") ? 4 * k * f : 2 * k * (ranks - 1);
}
