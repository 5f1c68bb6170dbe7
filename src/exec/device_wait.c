/* SPDX-License-Identifier: MIT */
/* Note [device at work].  A callback for each command costs more than most commands take.  A GPU's copy engine needs no
 * core, and looking at the event again and again learns of the end soonest.  Only a thread that is about to sleep has
 * the ends of the commands under way ring the doorbell, and not where the probe found callbacks to be late: there it
 * sleeps for a moment only.  A CPU device is threads of this process: a spinning thread keeps them from the core, and a
 * blocked one lets OpenCL do the work in its place.  So run_block_on_device blocks where nothing else is to be done but
 * to wait for peers: their flags come no later for it, and a chunk's copy is short.  Else Note [wait policy] in
 * base/wait.h applies. */
#include "exec/device_wait.h"

static bool is_mapping(const struct run *run)
{
	return run->state == RUN_MAP || run->state == RUN_UNMAP;
}

/* The first command that is under way. */
static cl_event first_command(const struct run *run)
{
	const struct step_board *board = &run->board;
	cl_event first = NULL;

	for (uint32_t i = 0; is_mapping(run) && i < 2 && first == NULL; i++)
		first = run->map_events[i];
	for (uint32_t i = 0; run->state == RUN_STEPS && i < board->n_waiting && first == NULL; i++)
		first = board->events[board->waiting[i]];
	return first;
}

bool run_waits_for_device(const struct run *run)
{
	return first_command(run) != NULL;
}

/* Of a run in its steps: commands under way, or flags of peers? */
static bool waits_for_commands_and_flags(const struct run *run)
{
	const struct step_board *board = &run->board;

	for (uint32_t i = 0; i < board->n_waiting; i++)
		if (board->events[board->waiting[i]] == NULL && run->plan->steps[board->waiting[i]].kind != PLAN_AWAIT)
			return false;
	return true;
}

bool run_block_on_device(struct run *run)
{
	cl_event event = first_command(run);

	if (event == NULL || !dev_is_cpu(run->comm->device) ||
	    (run->state == RUN_STEPS && !waits_for_commands_and_flags(run)))
		return false;
	clWaitForEvents(1, &event); /* how it ended is the poll's to say */
	return true;
}

static bool ring_at_end(cl_event event)
{
	return event == NULL || dev_watch(event, comm_wake_self, NULL) == CHOIR_SUCCESS;
}

/* Each command is watched once: those of a state that maps at once, those of steps in the order of the list, whose
 * first n_watched were watched before. */
bool run_ring_at_ends(struct run *run)
{
	struct step_board *board = &run->board;
	bool all = true;

	for (int i = 0; i < 2 && is_mapping(run) && !run->maps_watched; i++)
		all &= ring_at_end(run->map_events[i]);
	if (is_mapping(run))
		run->maps_watched = all;
	if (run->state != RUN_STEPS)
		return all;
	while (all && board->n_watched < board->n_waiting) {
		all = ring_at_end(board->events[board->waiting[board->n_watched]]);
		board->n_watched += all;
	}
	return all;
}
