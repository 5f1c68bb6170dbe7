/* SPDX-License-Identifier: MIT */
/* Note [device at work].  Nothing rings when a command of the device ends: a callback for each costs more than most
 * commands take.  A GPU's copy engine needs no core, and looking at the event again and again learns of the end
 * soonest.  A CPU device is threads of this process: a spinning thread keeps them from the core, and a blocked one lets
 * OpenCL do the work in its place (a read of 64 bytes by polling and by blocking: Intel 4.8 and 2.3 us).  So
 * run_block_on_device blocks where nothing else is to be done; else Note [wait policy] in base/wait.h applies. */
#include "exec/device_wait.h"

static bool is_mapping(const struct run *run)
{
	return run->state == RUN_MAP || run->state == RUN_UNMAP;
}

/* The first command that is under way; *n counts them. */
static cl_event first_command(const struct run *run, uint32_t *n)
{
	const struct step_board *board = &run->board;
	cl_event first = NULL;

	*n = 0;
	for (uint32_t i = 0; is_mapping(run) && i < 2; i++) {
		*n += run->map_events[i] != NULL;
		first = first != NULL ? first : run->map_events[i];
	}
	for (uint32_t i = 0; run->state == RUN_STEPS && i < board->n_waiting; i++) {
		cl_event event = board->events[board->waiting[i]];

		*n += event != NULL;
		first = first != NULL ? first : event;
	}
	return first;
}

bool run_waits_for_device(const struct run *run)
{
	uint32_t n;

	return first_command(run, &n) != NULL;
}

bool run_block_on_device(struct run *run)
{
	uint32_t n;
	cl_event event = first_command(run, &n);

	if (event == NULL || !dev_is_cpu(run->comm->device) || (run->state == RUN_STEPS && n < run->board.n_waiting))
		return false;
	clWaitForEvents(1, &event); /* how it ended is the poll's to say */
	return true;
}
