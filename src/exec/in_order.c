/* SPDX-License-Identifier: MIT */
#include "exec/in_order.h"

#include "base/wait.h"
#include "exec/board.h"
#include "exec/lane.h"
#include "exec/nt_plan.h"
#include "exec/p2p.h"
#include "exec/prepared.h"
#include "exec/record.h"
#include "exec/run_states.h"
#include "exec/shadow.h"
#include "exec/steps.h"

static void send_in_order(struct run *run)
{
	if (p2p_put_soon(run, run->plan->steps))
		run->state = RUN_ENDED;
}

static void recv_in_order(struct run *run)
{
	int rounds = wait_inline_rounds(WAIT_PIECE, run->comm->crowded);
	bool done = false;

	for (int i = 0; wait_inline_goes_on(i, rounds); i++) {
		if (p2p_take(run, run->plan->steps, &done) != CHOIR_SUCCESS || done)
			break;
		wait_spin();
	}
	if (done)
		run->state = RUN_ENDED;
}

/* Are all ranks here, with buffers at the addresses of the table? */
static bool peers_are_known(struct run *run, const struct operand_table *table)
{
	bool met = table->plan == run->plan && run->peers != NULL && lane_seen_alike(run, PLAN_ALL, 0);

	for (int i = 0; i < run->comm->node_size && met; i++)
		met = operand_knows_peer(run, i);
	return met;
}

/* True if peers' buffers are where this plan finds them. */
static bool find_peer_buffers(struct run *run, const struct operand_table *table)
{
	const struct plan *plan = run->plan;
	int rounds = wait_inline_rounds(WAIT_STEP, run->comm->crowded);
	bool moved = false;

	for (int i = 0; wait_inline_goes_on(i, rounds); i++) {
		if (peers_are_known(run, table))
			return true;
		if (run_find_peer_buffers(run, &moved) != CHOIR_SUCCESS || moved)
			break;
		wait_spin();
	}
	return run->state == RUN_MAP && run->plan == plan;
}

static bool enter_lane(struct run *run, const struct operand_table *table)
{
	bool moved = false;

	run->state = RUN_ADMIT;
	if (run_admit(run, &moved) != CHOIR_SUCCESS || !moved)
		return false;
	return run->state == RUN_MAP || find_peer_buffers(run, table);
}

/* Note [prefetched lane].  A flag is raised on a line that the peers read COMM_LANES calls ago: the store waits until
 * their caches have let go of it.  While this call waits for them anyway, the line of the next lane is fetched. */
static void prefetch_next_lane(const struct run *run)
{
	struct choir_comm *comm = run->comm;
	const struct arena_lane *lane = comm_lane(comm, comm->local_rank, (run->lane + 1) % COMM_LANES);

	if (comm->engine.arena.calls_over + COMM_LANES <= run->seq + 1) /* may still be looked at */
		return;
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*lane));
#else
	__builtin_prefetch(lane, 1);
#endif
}

/* True once the step is done; false if it has to be waited for longer. */
static bool do_step(struct run *run, const struct operand_table *table, uint32_t id)
{
	const struct plan_step *step = &run->plan->steps[id];
	bool done = false;
	int rounds;

	if (operand_table_do(table, run, id))
		return true;
	rounds = wait_inline_rounds(WAIT_STEP, run->comm->crowded);
	for (int i = 0; wait_inline_goes_on(i, rounds); i++) {
		if (step->kind == PLAN_AWAIT && lane_seen_alike(run, step->peer, step->phase))
			return true;
		if (steps_try(run, id, &done) != CHOIR_SUCCESS || done || run->counts_differ)
			break;
		if (run->owes_flag)
			run_raise_flag(run);
		wait_spin();
	}
	return done;
}

/* No buffer was mapped, so there is nothing to unmap. */
static void end(struct run *run)
{
	run->state = RUN_UNMAP;
	if (run_check_ended(run) != CHOIR_SUCCESS)
		return;
	run->state = RUN_ENDED;
	run_give_lane(run);
}

static void collective_in_order(struct run *run)
{
	struct operand_table *table = run->part->operands;
	uint32_t n = run->plan->n_steps, i = 0;

	if (!enter_lane(run, table))
		return;
	run->nt.on = false;
	run->nt.entry = -1;
	if (run->bound.in.bytes >= NT_LEAST_BYTES && run->plan->tells_peers)
		nt_plan_begin(run); /* times teach how peers' data is to be written */
	operand_table_bind(table, run);
	for (; i < n && do_step(run, table, i); i++)
		if (run->plan->steps[i].kind == PLAN_PUBLISH)
			prefetch_next_lane(run);
	if (i < n) {
		run->state = RUN_STEPS;
		board_fill(run, i);
		return;
	}
	nt_plan_end(run);
	end(run);
}

void run_in_order(struct run *run)
{
	if (!run->bound.pair)
		collective_in_order(run);
	else if (run->bound.pair_sends)
		send_in_order(run);
	else
		recv_in_order(run);
}

void run_in_shadows(struct run *run)
{
	choir_status st = shadow_fill(run, NULL);

	if (st == CHOIR_SUCCESS) {
		run_in_order(run);
		st = run->state == RUN_ENDED ? shadow_empty(run, NULL) : CHOIR_SUCCESS;
	}
	if (st != CHOIR_SUCCESS)
		run_fail_as_said(run, st);
}
