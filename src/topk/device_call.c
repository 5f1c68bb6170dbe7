/* SPDX-License-Identifier: MIT */
/* Design notes.  next is called by one thread at a time and runs steps until one has to wait.  Every failure is that
 * of the call alone: the comm it runs on serves the device's other calls, so deps and the deadline are the script's
 * too. */
#include "topk/device_call.h"

#include "base/float_control.h"
#include "base/plural.h"
#include "base/user_op.h"
#include "base/wait.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GO_ON ((enum script_what) - 1)

static choir_status step_deps(struct device_call *call, struct script_turn *turn);
static choir_status step_reach(struct device_call *call, struct script_turn *turn);
static choir_status step_read(struct device_call *call, struct script_turn *turn);
static choir_status step_host(struct device_call *call, struct script_turn *turn);
static choir_status step_worked(struct device_call *call, struct script_turn *turn);
static choir_status step_write(struct device_call *call, struct script_turn *turn);
static choir_status step_kernels(struct device_call *call, struct script_turn *turn);

choir_status device_call_indices(const struct device_call *call, const void *ind, uint64_t n, uint64_t rows)
{
	struct index_form form = device_call_index_form(call);

	for (uint64_t i = 0; i < n; i++) {
		int64_t x = index_at(ind, form, i);

		if (x < 0 || (uint64_t)x >= rows)
			return error_set(CHOIR_ARGUMENT,
			                 "%s: index %" PRId64 " at position %" PRIu64 " is not one of %" PRIu64
			                 " row%s",
			                 call->form->name, x, i, rows, plural(rows));
	}
	return CHOIR_SUCCESS;
}

choir_status device_call_capacity(const struct device_call *call, uint64_t count)
{
	uint64_t room = call->args.room;

	*call->args.count_p = count;
	if (count <= room)
		return CHOIR_SUCCESS;
	return error_set(CHOIR_CAPACITY, "%s: %" PRIu64 " pair%s, and room for %" PRIu64, call->form->name, count,
	                 plural(count), room);
}

static choir_status step_deps(struct device_call *call, struct script_turn *turn)
{
	bool moved = false, done;

	TRY(deps_poll(&call->deps, &moved, &done));
	if (!done) {
		turn->what = SCRIPT_AGAIN;
		return CHOIR_SUCCESS;
	}
	call->end_ns = wait_end_ns(call->deadline_ms);
	call->step = step_reach;
	return CHOIR_SUCCESS;
}

static bool takes_kernels(const struct device_call *call)
{
	bool fit = !call->host_only && call->form->kernels != NULL &&
	           (user_op_has_texts_alone(call->user) ? dev_has_long_loops(call->device)
	                                                : operand_kernels_run(call->device));

	for (size_t i = 0; i < call->n_operands && fit; i++)
		fit = operand_kernels_may(&call->operands[i]);
	return fit && call->form->fits_kernels(call);
}

static choir_status step_reach(struct device_call *call, struct script_turn *turn)
{
	(void)turn;
	if (takes_kernels(call)) {
		call->step = step_kernels;
		return CHOIR_SUCCESS;
	}
	call->step = step_read;
	return operands_reach(call->device, call->operands, call->n_operands);
}

static void copy(void *state)
{
	struct device_call *call = state;

	error_keep(&call->outcome, operands_copy(call->operands, call->n_operands));
}

static choir_status move(struct device_call *call, struct script_turn *turn, bool *done_p)
{
	TRY(operands_move(call->operands, call->n_operands, call->wake, NULL, done_p));
	if (operands_want_copy(call->operands, call->n_operands)) {
		turn->what = SCRIPT_WORK;
		turn->job = copy;
	} else if (!*done_p) {
		turn->what = SCRIPT_AGAIN;
	}
	return CHOIR_SUCCESS;
}

static choir_status step_read(struct device_call *call, struct script_turn *turn)
{
	bool done;

	TRY(move(call, turn, &done));
	if (done)
		call->step = step_host;
	return CHOIR_SUCCESS;
}

static void work(void *state)
{
	struct device_call *call = state;
	uint64_t control = float_control_begin();

	error_keep(&call->outcome, call->form->host(call));
	float_control_end(control);
}

static choir_status step_host(struct device_call *call, struct script_turn *turn)
{
	turn->what = SCRIPT_WORK;
	turn->job = work;
	call->step = step_worked;
	return CHOIR_SUCCESS;
}

static choir_status step_worked(struct device_call *call, struct script_turn *turn)
{
	(void)turn;
	operands_write(call->device, call->operands, call->n_operands);
	call->step = step_write;
	return CHOIR_SUCCESS;
}

static choir_status step_write(struct device_call *call, struct script_turn *turn)
{
	bool done;

	TRY(move(call, turn, &done));
	if (done)
		turn->what = SCRIPT_DONE;
	return CHOIR_SUCCESS;
}

static choir_status step_kernels(struct device_call *call, struct script_turn *turn)
{
	bool done = true;
	choir_status st;

	if (call->event != NULL)
		TRY(dev_poll(call->event, &done));
	if (done && call->event != NULL) {
		TRY(dev_wait(&call->event));
		call->watched = false;
	}
	if (done) {
		dev_build_deadline(call->end_ns); /* the run has none */
		st = call->form->kernels(call, &done);
		/* Commands before the one that failed may be at the caller's memory.  A call is refused when its
		 * kernels have ended: nothing of it is under way, and other comms' commands are not waited for. */
		if (st != CHOIR_SUCCESS && st != CHOIR_ARGUMENT && st != CHOIR_CAPACITY)
			dev_drain(call->device);
		if (st != CHOIR_SUCCESS)
			return st == CHOIR_TIMEOUT ? error_prefix(st, "%s", call->form->name) : st;
		if (call->host_only)
			call->step = step_reach;
		else
			turn->what = done ? SCRIPT_DONE : call->event != NULL ? GO_ON : SCRIPT_AGAIN;
		return CHOIR_SUCCESS;
	}
	turn->what = SCRIPT_AGAIN;
	if (call->watched)
		return CHOIR_SUCCESS;
	call->watched = true;
	return dev_watch(call->event, call->wake, NULL);
}

static choir_status next(void *state, struct script_turn *turn)
{
	struct device_call *call = state;
	uint64_t control = float_control_begin();
	choir_status st = error_again(&call->outcome);

	memset(turn, 0, sizeof *turn);
	turn->what = GO_ON;
	while (st == CHOIR_SUCCESS && turn->what == GO_ON)
		st = call->step(call, turn);
	if (st == CHOIR_SUCCESS && turn->what == SCRIPT_AGAIN && call->end_ns != 0 && wait_now_ns() > call->end_ns)
		st = error_set(CHOIR_TIMEOUT, "%s: the device was not done after %lld ms", call->form->name,
		               (long long)call->deadline_ms);
	turn->failure_is_local = true;
	float_control_end(control);
	return st;
}

/* Commands under way on the device may use memory that is given back here, so jobs and transfers go first. */
static void destroy(void *state)
{
	struct device_call *call = state;

	(void)dev_wait(&call->event);
	select_job_destroy(call->select);
	range_job_destroy(call->range);
	coalesce_fini(&call->coalesce);
	operands_fini(call->operands, call->n_operands);
	for (size_t i = 0; i < sizeof call->made / sizeof *call->made; i++)
		dev_buffer_free(call->made[i]);
	deps_release(&call->deps);
	user_op_release(call->user);
	free(call);
}

static const struct script_ops ops = { .next = next, .destroy = destroy };

choir_status device_call_create(const struct device_call *call, const struct script_ops **ops_p, void **state_p)
{
	struct device_call *copy = malloc(sizeof *copy);
	struct user_op *user = NULL;
	choir_status st = CHOIR_SUCCESS;

	if (copy == NULL)
		return error_no_memory("a call on a device", sizeof *copy);
	if (user_op_is(call->args.op))
		st = user_op_find(call->form->name, call->args.op, &user);
	if (st != CHOIR_SUCCESS) {
		free(copy);
		return st;
	}
	*copy = *call;
	copy->user = user;
	copy->step = step_deps;
	*ops_p = &ops;
	*state_p = copy;
	return CHOIR_SUCCESS;
}
