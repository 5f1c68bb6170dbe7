/* SPDX-License-Identifier: MIT */
#include "exec/nt_plan.h"

#include "base/wait.h"
#include "exec/run.h"

/* The kind of a plan's writes for peers: into slots as a collective of that kind does, or into their buffers. */
static int kind_of(const struct run *run)
{
	enum collective collective = (enum collective)run->bound.record.collective;

	if (run->plan->peers)
		return NT_PEERS;
	if (run_is_script(run) || (size_t)collective >= N_COLLECTIVES)
		return NT_COPIED;
	if (collective_has(collective, TRAIT_REDUCES))
		return collective_sends_blocks(collective) ? NT_SCATTERED : NT_REDUCED;
	return collective_of_pairs(collective) ? NT_PAIRS : NT_COPIED;
}

static uint64_t bytes_of(const struct run *run)
{
	uint64_t most = 0;

	if (!run_is_script(run))
		return run->bound.in.bytes;
	for (uint32_t i = 0; i < run->plan->n_steps; i++)
		most = run->plan->steps[i].len > most ? run->plan->steps[i].len : most;
	return most;
}

struct nt_choice nt_of_comm(struct choir_comm *comm)
{
	if (comm->node_size == 1)
		return (struct nt_choice){ .bits = NULL };
	return (struct nt_choice){ .bits = &comm_control(comm, 0)->nt,
		                   .entries = comm->local_rank == 0 ? comm->engine.nt.node : NULL,
		                   .far = comm->far_cores };
}

void nt_plan_begin(struct run *run)
{
	struct choir_comm *comm = run->comm;
	struct nt_choice choice;
	uint64_t bytes;

	run->nt.on = false;
	run->nt.entry = -1;
	if (comm->node_size == 1 || run->bound.pair || run->slot.in_lane || run->plan->device)
		return;
	bytes = bytes_of(run);
	if (bytes < NT_LEAST_BYTES)
		return;
	run->nt.entry = kind_of(run) * NT_SIZES + nt_size(bytes, NT_SIZES);
	choice = nt_of_comm(comm);
	run->nt.on = nt_choose(&choice, run->nt.entry);
	run->nt.bytes = bytes;
	if (comm->local_rank == 0)
		run->nt.since_ns = wait_now_ns();
}

void nt_plan_end(struct run *run)
{
	struct nt_choice choice;

	if (run->nt.entry < 0 || run->comm->local_rank != 0)
		return;
	choice = nt_of_comm(run->comm);
	nt_took(&choice, run->nt.entry, run->nt.on, run->nt.bytes, wait_now_ns() - run->nt.since_ns);
}
