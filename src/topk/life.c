/* SPDX-License-Identifier: MIT */
/* A call's memory, its place among the calls of its state, and what it leaves there. */
#include "topk/algorithm.h"

#include <stdlib.h>
#include <string.h>

void topk_run_leave(void *left)
{
	struct topk_run *run = left;
	struct topk_state *state = run->state;

	pthread_mutex_lock(&state->lock);
	for (struct topk_run **at = &state->first; *at != NULL; at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			break;
		}
	pthread_mutex_unlock(&state->lock);
}

static void enter_state(struct topk_run *run)
{
	struct topk_run **at = &run->state->first;

	pthread_mutex_lock(&run->state->lock);
	while (*at != NULL)
		at = &(*at)->next;
	*at = run;
	pthread_mutex_unlock(&run->state->lock);
}

static void free_tables(struct topk_run *run)
{
	free(run->headers);
	free(run->numbers);
	free(run->row);
	free(run->matrix);
	free(run->counts);
	free(run->block_bytes);
	free(run->bounds);
	free(run->lists);
	free(run->parts);
}

void topk_run_destroy(void *state)
{
	struct topk_run *run = state;
	struct pool_block *blocks[] = { &run->dense, &run->mean,      &run->out,
		                        &run->in,    &run->in_values, &run->whole_block,
		                        &run->wide,  &run->sent_mean, &run->zeroed.ind };
	struct topk_list *lists[] = { &run->selected,        &run->held, &run->total,     &run->kept,   &run->involved,
		                      &run->candidates.list, &run->lost, &run->lost_sums, &run->as_sent };

	topk_split_fini(run);
	far_fini(run);
	for (int c = 0; c < run->env.layout->n && run->sums != NULL; c++)
		list_free(&run->sums[c]);
	free(run->sums);
	tensor_give(&run->acc);
	tensor_give(&run->velocity);
	operands_fini(run->request.operands, run->request.n_operands);
	free(run->request.operands);
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		pool_give(blocks[i]);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		list_free(lists[i]);
	cached_plan_release(run->plan);
	free_tables(run);
	topk_run_leave(run);
	topk_state_release(run->state);
	free(run);
}

/* Pairs of ranks only for the algorithms that send from each to each. */
static choir_status take_tables(struct topk_run *run)
{
	size_t n = (size_t)run->env.layout->n, cells = run->state->settings.algorithm->pairwise ? n * n : n;

	run->headers = calloc(n, sizeof *run->headers);
	run->numbers = calloc(cells, sizeof *run->numbers);
	run->matrix = calloc(cells, sizeof *run->matrix);
	run->block_bytes = calloc(cells, sizeof *run->block_bytes);
	run->row = calloc(n, sizeof *run->row);
	run->counts = calloc(n, sizeof *run->counts);
	run->bounds = calloc(n + 1, sizeof *run->bounds);
	run->lists = calloc(n, sizeof *run->lists);
	run->parts = calloc(n, sizeof *run->parts);
	if (run->headers == NULL || run->numbers == NULL || run->matrix == NULL || run->block_bytes == NULL ||
	    run->row == NULL || run->counts == NULL || run->bounds == NULL || run->lists == NULL || run->parts == NULL)
		return error_no_memory("the counts of all ranks", cells * sizeof *run->numbers);
	return CHOIR_SUCCESS;
}

/* The request is the caller's, the run keeps what it says of buffers. */
static choir_status copy_request(struct topk_run *run, const struct topk_request *request)
{
	size_t bytes = request->n_operands * sizeof *request->operands;

	run->request = *request;
	run->request.operands = malloc(bytes);
	if (run->request.operands == NULL) {
		run->request.n_operands = 0;
		return error_no_memory("the buffers of a topk_allreduce", bytes);
	}
	memcpy(run->request.operands, request->operands, bytes);
	return operands_keep(run->request.operands, run->request.n_operands);
}

choir_status topk_run_make(const struct script_env *env, struct topk_state *state, const struct topk_request *request,
                           struct topk_run **out_p)
{
	struct topk_run *run = calloc(1, sizeof *run);
	choir_status st;

	if (run == NULL)
		return error_no_memory("a topk_allreduce", sizeof *run);
	topk_split_init(run);
	run->env = *env;
	run->state = topk_state_retain(state);
	run->types = state->settings.types;
	run->on = state->device != NULL ? &topk_access_far : &topk_access_near;
	run->stats = (choir_topk_stats){ .algorithm = "", .imbalance = 1 };
	st = copy_request(run, request);
	if (st == CHOIR_SUCCESS)
		st = take_tables(run);
	if (st != CHOIR_SUCCESS) {
		topk_run_destroy(run);
		return st;
	}
	enter_state(run);
	*out_p = run;
	return CHOIR_SUCCESS;
}

void topk_run_stats(const void *state, choir_topk_stats *out)
{
	const struct topk_run *run = state;

	*out = run->stats;
	out->algorithm = run->algorithm != NULL ? run->algorithm->name : "";
}

void topk_run_commit(struct topk_run *run)
{
	struct topk_state *state = run->state;
	struct topk_zeroed before;

	pthread_mutex_lock(&state->lock);
	before = state->zeroed;
	tensor_swap(&state->residual, &run->acc);
	state->zeroed = run->zeroed;
	run->zeroed = before;
	if (state->settings.momentum > 0)
		tensor_swap(&state->velocity, &run->velocity);
	if (state->device != NULL) {
		tensor_swap(&state->spare[0], &run->acc);
		tensor_swap(&state->spare[1], &run->velocity);
	}
	state->tracking = run->tracking;
	memcpy(state->bounds, run->bounds, ((size_t)run->env.layout->n + 1) * sizeof *run->bounds);
	pthread_mutex_unlock(&state->lock);
}
