/* SPDX-License-Identifier: MIT */
/* The frame of a call.  Design notes: next is called by one thread at a time and runs steps until one fills a turn. All
 * decisions come from gathered numbers, so all ranks take the same turns.  Long steps run as SCRIPT_WORK, so that other
 * calls of the comm go on.  Thresholds and regions that a call learns stay in the run until its last step, which copies
 * them to the state. */
#include "topk/algorithm.h"
#include "topk/wire.h"

#include "base/float_control.h"
#include "base/wait.h"

#include <string.h>

enum { PIECE_BYTES = 256 * 1024 }; /* tensors above it are worked on apart */

static choir_status step_reach(struct topk_run *run, struct script_turn *turn);
static choir_status step_read(struct topk_run *run, struct script_turn *turn);
static choir_status step_select(struct topk_run *run, struct script_turn *turn);
static choir_status step_headers(struct topk_run *run, struct script_turn *turn);
static choir_status step_agree(struct topk_run *run, struct script_turn *turn);
static choir_status step_deliver(struct topk_run *run, struct script_turn *turn);
static choir_status step_result(struct topk_run *run, struct script_turn *turn);
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
	struct operand *operands = run->request.operands;
	bool dense = topk_state_is_dense(settings, state->tracking.calls), sparse;

	(void)turn;
	run->tracking = state->tracking;
	memcpy(run->bounds, state->bounds, ((size_t)run->env.layout->n + 1) * sizeof *run->bounds);
	run->algorithm = dense ? topk_algorithm_find("dense") : settings->algorithm;
	run->k = topk_state_k(settings, state->tracking.calls);
	run->sparse_call = dense ? 0 : state->tracking.calls - settings->dense_calls;
	run->step = step_read;
	sparse = run->algorithm->select != NULL && operand_kernels_run(run->env.device);
	for (size_t i = 0; i < run->request.n_tensors; i++) {
		struct operand *grad = topk_grad(&run->request, i), *to = topk_dense(&run->request, i);

		grad->by_kernel = state->device != NULL && operand_kernels_may(grad);
		to->by_kernel = sparse && operand_kernels_may(to);
	}
	operands[TOPK_INVOLVED].by_kernel =
	    sparse && run->request.involved_p == NULL && operand_kernels_may(&operands[TOPK_INVOLVED]);
	return operands_reach(run->env.device, operands, run->request.n_operands);
}

/* Keeps the outcome of work, which may run on another thread, for next. */
static void keep_outcome(struct topk_run *run, choir_status st)
{
	error_keep(&run->outcome, st);
	run->worked = true;
}

static void copy(void *state)
{
	struct topk_run *run = state;

	run->left = (struct script_turn){ .what = TOPK_GO_ON };
	keep_outcome(run, operands_copy(run->request.operands, run->request.n_operands));
}

static choir_status move(struct topk_run *run, struct script_turn *turn, bool *done_p)
{
	TRY(operands_move(run->request.operands, run->request.n_operands, run->env.wake, NULL, done_p));
	if (operands_want_copy(run->request.operands, run->request.n_operands)) {
		turn->what = SCRIPT_WORK;
		turn->job = copy;
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
		run->step = step_select;
	return CHOIR_SUCCESS;
}

static choir_status step_select(struct topk_run *run, struct script_turn *turn)
{
	run->bad_at = UINT64_MAX;
	run->agree = step_headers;
	if (run->algorithm->select == NULL)
		return run->on->accumulate(run, run->agree);
	return run->request.at ? topk_select_chosen(run, turn) : run->state->settings.select(run, turn);
}

static choir_status step_headers(struct topk_run *run, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = 8, .bytes = sizeof run->header };

	topk_header_make(run);
	return topk_plan(run, turn, &in, &run->header, sizeof run->header, run->headers,
	                 sizeof run->header * (uint64_t)run->env.layout->n, step_agree);
}

static choir_status step_agree(struct topk_run *run, struct script_turn *turn)
{
	choir_status st = topk_headers_check(run);

	(void)turn;
	if (st == CHOIR_SUCCESS && run->algorithm->select == NULL) /* the exchange writes the caller's tensor */
		st = topk_result_check_room(run);
	run->part = TOPK_MERGING;
	run->failure_is_local = st != CHOIR_SUCCESS;
	TRY(st);
	run->deliver = step_deliver;
	run->step = run->algorithm->start;
	if (run->algorithm->select == NULL)
		return CHOIR_SUCCESS;
	if (wire_is_narrow(&run->types))
		TRY(wire_round(&run->types, &run->selected, 0, run->selected.count, &run->lost));
	if (run->algorithm->returns)
		return CHOIR_SUCCESS;
	TRY(run->on->clear(run, &run->selected));
	return run->on->add(run, &run->lost);
}

/* The part of a list whose indices are in the result. */
static choir_status add_if_kept(struct topk_run *run, const struct topk_list *list)
{
	struct topk_list part = { .count = 0 };
	choir_status st;

	if (list->count == 0)
		return CHOIR_SUCCESS;
	st = list_intersect(&part, &run->types, list, &run->kept);
	if (st == CHOIR_SUCCESS)
		st = run->on->add(run, &part);
	list_free(&part);
	return st;
}

/* Entries in the result leave the residual; what their rounding lost on the way comes back to it. */
static choir_status return_rest(struct topk_run *run)
{
	TRY(run->on->clear(run, &run->involved));
	TRY(add_if_kept(run, &run->lost));
	return add_if_kept(run, &run->lost_sums);
}

/* The threshold for the next call, if this one's let too few or too many pass. */
static void adapt_local(struct topk_run *run)
{
	const struct topk_reuse *reuse = &run->state->settings.reuse;

	if (run->state->settings.select != topk_select_adapt || run->algorithm->select == NULL || run->request.at)
		return;
	if (run->passed < topk_band_bottom(reuse->low, run->k))
		run->tracking.local /= reuse->factor;
	else if (run->passed > topk_band_top(reuse->high, run->k))
		run->tracking.local *= reuse->factor;
}

static choir_status step_deliver(struct topk_run *run, struct script_turn *turn)
{
	choir_status st = topk_result_check_room(run);

	(void)turn;
	run->part = TOPK_UPDATING;
	run->failure_is_local = true; /* no exchange is left */
	TRY(st);
	run->step = step_result;
	if (run->algorithm->select == NULL)
		return CHOIR_SUCCESS;
	if (!run->algorithm->gathers)
		return run->on->intersect(run, step_result);
	run->involved = run->selected; /* all that was sent is in the result */
	run->selected = (struct topk_list){ .count = 0 };
	return CHOIR_SUCCESS;
}

static choir_status step_result(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	if (run->algorithm->returns)
		TRY(return_rest(run));
	TRY(topk_result_write(run));
	adapt_local(run);
	run->tracking.calls++;
	operands_write(run->env.device, run->request.operands, run->request.n_operands);
	if (far_result_wanted(run))
		TRY(far_result_write(run));
	return far_wait(run, step_write);
}

/* All went well: the state takes its new contents from the run. */
static choir_status step_write(struct topk_run *run, struct script_turn *turn)
{
	bool done;

	TRY(move(run, turn, &done));
	if (!done)
		return CHOIR_SUCCESS;
	topk_run_commit(run);
	turn->what = SCRIPT_DONE;
	return CHOIR_SUCCESS;
}

/* The time between a plan's turn and the next step counts as exchange; other waiting belongs to the part. */
static choir_status run_step(struct topk_run *run, struct script_turn *turn)
{
	choir_topk_stats *stats = &run->stats;
	double *const parts[] = { &stats->select_us, &stats->merge_us, &stats->update_us };
	bool counts = run->last_ns > 0 || run->step == step_select;
	int64_t start = wait_now_ns(), end;
	double *gap = run->exchanges ? &stats->exchange_us : parts[run->part];
	choir_status st = run->step(run, turn);

	end = wait_now_ns();
	if (counts) {
		*gap += run->last_ns > 0 ? (double)(start - run->last_ns) * 1e-3 : 0;
		*parts[run->part] += (double)(end - start) * 1e-3;
		run->last_ns = end;
		run->exchanges = turn->what == SCRIPT_PLAN;
	}
	return st;
}

/* On a device the selection is started by light steps until its candidates have come. */
static bool is_light(const struct topk_run *run)
{
	return run->types.n * run->types.elem_bytes <= PIECE_BYTES || run->step == step_turn ||
	       run->step == step_reach || run->step == step_read || run->step == step_write || run->far.waits ||
	       run->split.waits ||
	       (run->on == &topk_access_far && run->part == TOPK_SELECTING && !run->candidates.complete);
}

/* All ranks compute under the same floating-point control word. */
static void work(void *state)
{
	struct topk_run *run = state;
	uint64_t control = float_control_begin();
	choir_status st;

	run->left = (struct script_turn){ .what = TOPK_GO_ON };
	do
		st = run_step(run, &run->left);
	while (st == CHOIR_SUCCESS && run->left.what == TOPK_GO_ON && !is_light(run));
	keep_outcome(run, st);
	float_control_end(control);
}

static choir_status take_outcome(struct topk_run *run, struct script_turn *turn)
{
	run->worked = false;
	*turn = run->left;
	return error_again(&run->outcome);
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
			st = run_step(run, turn);
		} else {
			turn->what = SCRIPT_WORK;
			turn->job = work;
		}
	}
	turn->failure_is_local = run->failure_is_local;
	float_control_end(control);
	return st;
}

static const struct script_ops ops = { .next = next, .destroy = topk_run_destroy };

choir_status topk_run_create(const struct script_env *env, struct topk_state *state, const struct topk_request *request,
                             const struct script_ops **ops_p, void **state_p)
{
	struct topk_run *run;

	TRY(topk_run_make(env, state, request, &run));
	run->step = step_turn;
	*ops_p = &ops;
	*state_p = run;
	return CHOIR_SUCCESS;
}
