/* SPDX-License-Identifier: MIT */
/* The frame of a call.  Design notes: next is called by one thread at a time and runs steps until one fills a turn. All
 * decisions come from gathered numbers, so all ranks take the same turns.  Long steps run as SCRIPT_WORK, so that other
 * calls of the comm go on.  Whatever a call learns is in the run until its last step, which makes it the state's. */
#include "topk/algorithm.h"
#include "topk/vector.h"

#include "base/float_control.h"
#include "sparse/convert.h"
#include "sparse/dense.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 256 * 1024 }; /* tensors above it are worked on apart */

static choir_status step_reach(struct topk_run *run, struct script_turn *turn);
static choir_status step_read(struct topk_run *run, struct script_turn *turn);
static choir_status step_accumulate(struct topk_run *run, struct script_turn *turn);
static choir_status step_agree(struct topk_run *run, struct script_turn *turn);
static choir_status step_deliver(struct topk_run *run, struct script_turn *turn);
static choir_status step_write(struct topk_run *run, struct script_turn *turn);

/* One call of a state at a time, in the order in which they were started. */
static choir_status step_turn(struct topk_run *run, struct script_turn *turn)
{
	bool mine;

	pthread_mutex_lock(&run->state->lock);
	mine = run->state->first == run;
	pthread_mutex_unlock(&run->state->lock);
	if (mine)
		run->step = step_reach;
	else
		turn->what = SCRIPT_AGAIN;
	return CHOIR_SUCCESS;
}

static choir_status step_reach(struct topk_run *run, struct script_turn *turn)
{
	struct topk_state *state = run->state;
	const struct topk_settings *settings = &state->settings;
	bool dense = topk_state_is_dense(settings, state->tracking.calls);

	(void)turn;
	run->tracking = state->tracking;
	memcpy(run->bounds, state->bounds, ((size_t)run->env.layout->n + 1) * sizeof *run->bounds);
	run->algorithm = dense ? topk_algorithm_find("dense") : settings->algorithm;
	run->k = topk_state_k(settings, state->tracking.calls);
	run->sparse_call = dense ? 0 : state->tracking.calls - settings->dense_calls;
	run->step = step_read;
	return operands_reach(run->env.device, run->request.operands, TOPK_OPERANDS);
}

/* Of work that may run on another thread: what it leaves for next. */
static void keep_outcome(struct topk_run *run, choir_status st)
{
	script_keep_outcome(&run->outcome, st);
	run->worked = true;
}

static void copy(void *state)
{
	struct topk_run *run = state;

	run->left = (struct script_turn){ .what = TOPK_GO_ON };
	keep_outcome(run, operands_copy(run->request.operands, TOPK_OPERANDS));
}

static choir_status move(struct topk_run *run, struct script_turn *turn, bool *done_p)
{
	TRY(operands_move(run->request.operands, TOPK_OPERANDS, run->env.ring, run->env.ring_ctx, done_p));
	if (operands_want_copy(run->request.operands, TOPK_OPERANDS)) {
		turn->what = SCRIPT_WORK;
		turn->call = copy;
	} else if (!*done_p) {
		turn->what = SCRIPT_AGAIN;
	}
	return CHOIR_SUCCESS;
}

static choir_status step_read(struct topk_run *run, struct script_turn *turn)
{
	bool done;

	TRY(move(run, turn, &done));
	if (done)
		run->step = step_accumulate;
	return CHOIR_SUCCESS;
}

static choir_status accumulate(struct topk_run *run)
{
	const struct topk_settings *settings = &run->state->settings;
	uint64_t bytes = run->types.n * run->types.elem_bytes;
	struct accumulation what = { .residual = run->state->residual.ptr,
		                     .grad = run->request.operands[TOPK_GRAD].ptr,
		                     .old_velocity = run->state->velocity.ptr,
		                     .decay = settings->decay,
		                     .scale = settings->scale,
		                     .momentum = settings->momentum };

	if (settings->dtype != run->types.work) {
		TRY(pool_take(&run->wide, bytes, "the gradient in f32"));
		convert_values(run->types.work, run->wide.ptr, settings->dtype, what.grad, run->types.n);
		what.grad = run->wide.ptr;
	}
	TRY(pool_take(&run->acc, bytes, "what was accumulated"));
	if (run->state->velocity.ptr != NULL)
		TRY(pool_take(&run->velocity, bytes, "the momentum"));
	what.acc = run->acc.ptr;
	what.velocity = run->velocity.ptr;
	vector_accumulate(&run->types, &what);
	pool_give(&run->wide);
	return CHOIR_SUCCESS;
}

static choir_status step_accumulate(struct topk_run *run, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = 8, .bytes = sizeof run->header };
	const struct topk_request *request = &run->request;
	uint64_t nan;

	TRY(accumulate(run));
	if (run->algorithm->select != NULL)
		TRY(run->algorithm->select(run));
	run->header =
	    (struct topk_header){ .selected = run->algorithm->select != NULL ? run->selected.count : run->types.n,
		                  .calls = run->tracking.calls,
		                  .room = request->pairs_p != NULL ? request->pairs_room : UINT64_MAX,
		                  .nan_at = UINT64_MAX };
	if (run->state->settings.nan_fails) {
		nan = vector_first_nan(&run->types, run->acc.ptr);
		run->header.nan_at = nan < run->types.n ? nan : UINT64_MAX;
	}
	run->header.involved_short = request->involved_p != NULL && request->involved_room < run->header.selected;
	return topk_plan(run, turn, &in, &run->header, sizeof run->header, run->headers,
	                 sizeof run->header * (uint64_t)run->env.layout->n, step_agree);
}

/* Every rank sees the same headers, so all fail alike, nobody waits for another one, and the comm goes on. */
static choir_status check_headers(struct topk_run *run)
{
	const struct topk_header *all = run->headers;

	for (int r = 0; r < run->env.layout->n; r++) {
		if (all[r].calls != all[0].calls)
			return error_set(CHOIR_ARGUMENT,
			                 "rank %d is at call %" PRIu64 " of its state, rank 0 at call %" PRIu64, r,
			                 all[r].calls, all[0].calls);
		if (all[r].nan_at != UINT64_MAX)
			return error_set(CHOIR_ARGUMENT, "rank %d has a NaN at %" PRIu64, r, all[r].nan_at);
		if (all[r].involved_short)
			return error_set(CHOIR_CAPACITY,
			                 "rank %d selected %" PRIu64
			                 " entries, more than its list of them has room for",
			                 r, all[r].selected);
	}
	return CHOIR_SUCCESS;
}

static choir_status step_agree(struct topk_run *run, struct script_turn *turn)
{
	choir_status st = check_headers(run);

	(void)turn;
	run->failure_is_local = st != CHOIR_SUCCESS;
	TRY(st);
	run->deliver = step_deliver;
	run->step = run->algorithm->start;
	if (run->algorithm->select != NULL && !run->algorithm->returns)
		topk_clear(run, &run->selected);
	return CHOIR_SUCCESS;
}

static uint64_t result_count(const struct topk_run *run)
{
	return run->algorithm->select == NULL ? run->types.n : run->kept.count;
}

/* The rooms of all ranks are in the headers, and all have the same result. */
static choir_status check_room(struct topk_run *run)
{
	uint64_t count = result_count(run);
	choir_status st = CHOIR_SUCCESS;

	if (run->request.pairs_p != NULL)
		*run->request.pairs_p = count;
	for (int r = 0; r < run->env.layout->n && st == CHOIR_SUCCESS; r++)
		if (count > run->headers[r].room)
			st = error_set(CHOIR_CAPACITY, "%" PRIu64 " pairs, and rank %d has room for %" PRIu64, count, r,
			               run->headers[r].room);
	return st;
}

/* The values of the result in the caller's dtype, averaged if that is asked for. */
static choir_status finish_values(struct topk_run *run, const void **out)
{
	const struct topk_settings *settings = &run->state->settings;
	void *values = run->algorithm->select == NULL ? run->dense.ptr : run->kept.val.ptr;
	uint64_t n = result_count(run);

	if (settings->op == CHOIR_OP_MEAN)
		vector_divide(&run->types, values, n, run->env.layout->n);
	*out = values;
	if (settings->dtype == run->types.work)
		return CHOIR_SUCCESS;
	TRY(pool_take(&run->mean, n * choir_dtype_bytes(settings->dtype), "the values of the result"));
	convert_values(settings->dtype, run->mean.ptr, run->types.work, values, n);
	*out = run->mean.ptr;
	return CHOIR_SUCCESS;
}

static void fill_dense(struct topk_run *run, const void *values)
{
	struct operand *to = &run->request.operands[TOPK_DENSE];
	uint64_t elem_bytes = choir_dtype_bytes(run->state->settings.dtype);
	struct pairs pairs = list_pairs(&run->kept, &run->types);

	to->written = to->bytes;
	if (to->bytes == 0)
		return;
	if (run->algorithm->select == NULL) {
		memcpy(to->ptr, values, to->bytes);
		return;
	}
	pairs.rows = values;
	memset(to->ptr, 0, to->bytes);
	dense_scatter(&pairs, elem_bytes, 0, to->ptr);
}

static void fill_indices(const struct topk_run *run, const struct topk_list *list, struct operand *to)
{
	struct index_form form = { .bytes = to->elem_bytes };

	to->written = list->count * to->elem_bytes;
	if (list->count > 0)
		index_convert(to->ptr, form, list->ind.ptr, run->types.form, list->count);
}

static void fill_all_indices(uint64_t n, struct operand *to)
{
	to->written = n * to->elem_bytes;
	for (uint64_t i = 0; i < n; i++)
		if (to->elem_bytes == 4)
			((int32_t *)to->ptr)[i] = (int32_t)i;
		else
			((int64_t *)to->ptr)[i] = (int64_t)i;
}

static void fill_pairs(struct topk_run *run, const void *values)
{
	struct operand *ind = &run->request.operands[TOPK_IND], *val = &run->request.operands[TOPK_VAL];
	uint64_t n = result_count(run);

	if (run->request.pairs_p == NULL)
		return;
	if (run->algorithm->select == NULL)
		fill_all_indices(n, ind);
	else
		fill_indices(run, &run->kept, ind);
	val->written = n * val->elem_bytes;
	if (n > 0)
		memcpy(val->ptr, values, val->written);
}

static void fill_bits(const struct topk_run *run, struct operand *to)
{
	uint32_t *words = to->ptr;

	to->written = to->bytes;
	if (to->bytes == 0)
		return;
	memset(words, 0, to->bytes);
	for (uint64_t i = 0; i < run->types.n && run->algorithm->select == NULL; i++)
		words[i / 32] |= UINT32_C(1) << i % 32;
	for (uint64_t i = 0; i < run->involved.count; i++) {
		uint64_t x = (uint64_t)index_at(run->involved.ind.ptr, run->types.form, i);

		words[x / 32] |= UINT32_C(1) << x % 32;
	}
}

static void fill_involved(struct topk_run *run)
{
	struct operand *to = &run->request.operands[TOPK_INVOLVED];

	run->stats.involved = run->algorithm->select == NULL ? run->types.n : run->involved.count;
	if (run->request.involved_p == NULL) {
		fill_bits(run, to);
		return;
	}
	*run->request.involved_p = run->stats.involved;
	if (run->algorithm->select == NULL)
		fill_all_indices(run->types.n, to);
	else
		fill_indices(run, &run->involved, to);
}

static void note_stats(struct topk_run *run)
{
	run->stats.call = run->tracking.calls;
	run->stats.k = run->k;
	run->stats.selected = run->header.selected;
	run->stats.pairs = result_count(run);
	run->stats.local_threshold = run->algorithm->select == NULL ? 0 : run->tracking.local;
	run->stats.global_threshold = run->tracking.global > 0 ? run->tracking.global : 0;
}

/* The threshold for the next call, if this one's let too few or too many pass. */
static void adapt_local(struct topk_run *run)
{
	const struct topk_preset *preset = run->state->settings.preset;
	double selected = (double)run->header.selected, k = (double)run->k;

	if (run->algorithm->select != topk_select_adapt)
		return;
	if (selected < preset->local_low * k)
		run->tracking.local /= preset->local_factor;
	else if (selected > preset->local_high * k)
		run->tracking.local *= preset->local_factor;
}

static choir_status step_deliver(struct topk_run *run, struct script_turn *turn)
{
	const void *values;
	choir_status st = check_room(run);

	(void)turn;
	run->failure_is_local = true; /* no exchange is left */
	TRY(st);
	if (run->algorithm->select != NULL)
		TRY(list_intersect(&run->involved, &run->types, &run->selected, &run->kept));
	if (run->algorithm->returns)
		topk_clear(run, &run->involved);
	TRY(finish_values(run, &values));
	fill_dense(run, values);
	fill_pairs(run, values);
	fill_involved(run);
	note_stats(run);
	adapt_local(run);
	run->tracking.calls++;
	operands_write(run->env.device, run->request.operands, TOPK_OPERANDS);
	run->step = step_write;
	return CHOIR_SUCCESS;
}

static void swap(struct pool_block *a, struct pool_block *b)
{
	struct pool_block old = *a;

	*a = *b;
	*b = old;
}

/* All went well: what the call made of the state is the state. */
static choir_status step_write(struct topk_run *run, struct script_turn *turn)
{
	struct topk_state *state = run->state;
	bool done;

	TRY(move(run, turn, &done));
	if (!done)
		return CHOIR_SUCCESS;
	pthread_mutex_lock(&state->lock);
	swap(&state->residual, &run->acc);
	if (state->velocity.ptr != NULL)
		swap(&state->velocity, &run->velocity);
	state->tracking = run->tracking;
	memcpy(state->bounds, run->bounds, ((size_t)run->env.layout->n + 1) * sizeof *run->bounds);
	pthread_mutex_unlock(&state->lock);
	turn->what = SCRIPT_DONE;
	return CHOIR_SUCCESS;
}

static bool is_light(const struct topk_run *run)
{
	return run->types.n * run->types.elem_bytes <= PIECE_BYTES || run->step == step_turn ||
	       run->step == step_reach || run->step == step_read || run->step == step_write;
}

/* All ranks compute under the same floating-point control word. */
static void work(void *state)
{
	struct topk_run *run = state;
	uint64_t control = float_control_begin();
	choir_status st;

	run->left = (struct script_turn){ .what = TOPK_GO_ON };
	do
		st = run->step(run, &run->left);
	while (st == CHOIR_SUCCESS && run->left.what == TOPK_GO_ON && !is_light(run));
	keep_outcome(run, st);
	float_control_end(control);
}

static choir_status take_outcome(struct topk_run *run, struct script_turn *turn)
{
	run->worked = false;
	*turn = run->left;
	return script_take_outcome(&run->outcome);
}

static choir_status next(void *state, struct script_turn *turn)
{
	struct topk_run *run = state;
	uint64_t control = float_control_begin();
	choir_status st = CHOIR_SUCCESS;

	*turn = (struct script_turn){ .what = TOPK_GO_ON };
	if (run->worked)
		st = take_outcome(run, turn);
	while (st == CHOIR_SUCCESS && turn->what == TOPK_GO_ON) {
		if (is_light(run)) {
			st = run->step(run, turn);
		} else {
			turn->what = SCRIPT_WORK;
			turn->call = work;
		}
	}
	turn->failure_is_local = run->failure_is_local;
	float_control_end(control);
	return st;
}

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

static void destroy(void *state)
{
	struct topk_run *run = state;
	struct pool_block *blocks[] = { &run->acc,  &run->velocity, &run->wide, &run->dense,
		                        &run->mean, &run->out,      &run->in,   &run->in_values };
	struct topk_list *lists[] = { &run->selected, &run->held, &run->kept, &run->involved, &run->dropped };

	operands_fini(run->request.operands, TOPK_OPERANDS);
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

static const struct script_ops ops = { .next = next, .destroy = destroy };

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

choir_status topk_run_create(const struct script_env *env, struct topk_state *state, const struct topk_request *request,
                             const struct script_ops **ops_p, void **state_p)
{
	struct topk_run *run = calloc(1, sizeof *run);
	choir_status st;

	if (run == NULL)
		return error_no_memory("a topk_allreduce", sizeof *run);
	run->env = *env;
	run->state = topk_state_retain(state);
	run->request = *request;
	run->types = state->settings.types;
	run->stats = (choir_topk_stats){ .algorithm = "", .imbalance = 1 };
	run->step = step_turn;
	st = take_tables(run);
	if (st != CHOIR_SUCCESS) {
		destroy(run);
		return st;
	}
	enter_state(run);
	*ops_p = &ops;
	*state_p = run;
	return CHOIR_SUCCESS;
}

void topk_run_stats(const void *state, choir_topk_stats *out)
{
	const struct topk_run *run = state;

	*out = run->stats;
	out->algorithm = run->algorithm != NULL ? run->algorithm->name : "";
}
