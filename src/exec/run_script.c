/* SPDX-License-Identifier: MIT */
/* A run that is a script: it is asked what comes next, between its plans and its jobs. */
#include "exec/run_states.h"

#include "exec/device_memory.h"
#include "exec/lane.h"

/* The tags of a script's messages have 8 bits for the plan (tag_of in steps.c). */
#define LAST_PLAN 255u

struct script_env script_env_of(struct choir_comm *comm)
{
	return (struct script_env){ .layout = &comm->layout,
		                    .me = comm->rank,
		                    .device = comm->device,
		                    .slot_bytes = comm->fallback_bytes,
		                    .message_bytes = comm->message_bytes,
		                    .device_bytes = comm->device_bytes,
		                    .command_bytes = comm->command_bytes,
		                    .far_memory = comm->far_memory,
		                    .peer_percent = comm->peer_percent,
		                    .core_cache_bytes = comm->core_cache_bytes,
		                    .plans = &comm->plans,
		                    .wake = comm_wake_self,
		                    .costs = &comm->rules.costs,
		                    .choice_memory = &comm->engine.choice_memory,
		                    .order_ranks = comm->order_ranks,
		                    .nt = nt_of_comm(comm) };
}

/* Of a plan on the device: the lane says what peers copy from, before the plan's first flag. */
static choir_status offer(struct run *run)
{
	uint64_t address = run->plan->device ? device_memory_offer(run) : 0;

	if (run->plan->device && address == 0)
		return error_no_memory("the device memory of a plan", run->plan->scratch_bytes + run->plan->slot_bytes);
	if (address != 0)
		comm_lane(run->comm, run->comm->local_rank, run->lane)->send_address = address;
	return CHOIR_SUCCESS;
}

choir_status run_ask_script(struct run *run, bool *moved)
{
	struct script_turn turn = { .what = SCRIPT_DONE };
	choir_status st;

	dev_build_deadline(run_deadline_ns(run));
	st = run->script.ops->next(run->script.state, &turn);
	dev_build_deadline(0);
	if (st != CHOIR_SUCCESS) {
		run->failure_is_local = turn.failure_is_local;
		return st;
	}
	if (turn.what == SCRIPT_AGAIN)
		return CHOIR_SUCCESS;
	if (turn.by_user) /* as in steps_host_reduce */
		TRY(comm_failure_inside(run->comm));
	*moved = true;
	switch (turn.what) {
	case SCRIPT_PLAN:
		run->plan = turn.plan;
		if (++run->plan_index > LAST_PLAN)
			return error_set(CHOIR_UNSUPPORTED, "its script has more than %u plans", LAST_PLAN);
		run->bound.send = turn.send;
		run->bound.recv = turn.recv;
		TRY(offer(run));
		/* Phase 0 of this plan says that I have read all I need of the one before. */
		lane_publish(run, arena_point(run->plan_index, 0));
		comm_wake_step(run->comm);
		run->state = RUN_PREVIOUS_PLAN;
		return CHOIR_SUCCESS;
	case SCRIPT_CALLBACK:
	case SCRIPT_WORK:
		run->script.job = turn.job;
		run->script.is_callback = turn.what == SCRIPT_CALLBACK;
		atomic_store(&run->script.job_done, false);
		run->state = RUN_JOB;
		return CHOIR_SUCCESS;
	default:
		run->state = RUN_ENDED;
		return CHOIR_SUCCESS;
	}
}

/* The plans of a script share a lane: none may write into its slot while a peer still reads there what the plan before
 * had published, and none may read a peer's memory before the peer has said where that is. */
choir_status run_await_previous_plan(struct run *run, bool *moved)
{
	struct choir_comm *comm = run->comm;
	int size = comm->node_size;

	for (int local_rank = 0; local_rank < size && (run->plan_index > 1 || run->plan->peers); local_rank++)
		if (!lane_look(run, local_rank, 0).reached)
			return CHOIR_SUCCESS;
	*moved = true;
	run->state = RUN_MAP;
	return CHOIR_SUCCESS;
}

/* The driver does the job after it has given the right to drive back (engine_do_job); here it is only noticed. */
choir_status run_await_job(struct run *run, bool *moved)
{
	if (atomic_load_explicit(&run->script.job_done, memory_order_acquire)) {
		*moved = true;
		run->state = RUN_ASK;
	}
	return CHOIR_SUCCESS;
}
