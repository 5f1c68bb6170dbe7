/* SPDX-License-Identifier: MIT */
/* Before the steps of a run the caller's buffers are mapped, gathered (gathered.h) or copied to shadows (shadow.h)
 * where that is needed, and after them the reverse. */
#include "exec/run_states.h"

#include "exec/gathered.h"
#include "exec/shadow.h"
#include "exec/steps.h"

static choir_status poll_maps(struct run *run, bool *done)
{
	*done = true;
	for (int i = 0; i < 2; i++) {
		bool one = true;

		if (run->map_events[i] == NULL)
			continue;
		TRY(dev_poll(run->map_events[i], &one));
		if (one) {
			clReleaseEvent(run->map_events[i]);
			run->map_events[i] = NULL;
		}
		*done &= one;
	}
	run->maps_watched &= !*done;
	return CHOIR_SUCCESS;
}

static choir_status start_maps(struct run *run)
{
	TRY(steps_make_room(run));
	if (run->plan->device)
		return CHOIR_SUCCESS;
	TRY(gathered_fill(run, &run->map_events[0]));
	TRY(shadow_fill(run, &run->map_events[0]));
	if (!run->bound.send_in_recv && !run->send_mapped && dev_needs_map(&run->bound.send)) {
		TRY(dev_map(run->comm->device, &run->bound.send, &run->map_events[0]));
		run->send_mapped = true;
	}
	if (!run->bound.recv_in_send && !run->recv_mapped && dev_needs_map(&run->bound.recv)) {
		TRY(dev_map(run->comm->device, &run->bound.recv, &run->map_events[1]));
		run->recv_mapped = true;
	}
	if (run->bound.send_in_recv && run->recv_mapped)
		run->bound.send.ptr = run->bound.recv.ptr + run->bound.inner_off;
	if (run->bound.recv_in_send && run->send_mapped)
		run->bound.recv.ptr = run->bound.send.ptr + run->bound.inner_off;
	return CHOIR_SUCCESS;
}

/* Tried once, well or not. */
static choir_status unmap(struct run *run, struct dev_access *access, bool *mapped, cl_event *event_p)
{
	if (!*mapped)
		return CHOIR_SUCCESS;
	*mapped = false;
	return dev_unmap(run->comm->device, access, event_p);
}

choir_status run_unmap(struct run *run)
{
	choir_status sent, received;

	/* a list is scattered behind its shadow's write, so each has an event of its own */
	TRY(shadow_empty(run, &run->map_events[run->bound.scattered != NULL ? 0 : 1]));
	TRY(gathered_empty(run, &run->map_events[1]));
	sent = unmap(run, &run->bound.send, &run->send_mapped, &run->map_events[0]);
	received = unmap(run, &run->bound.recv, &run->recv_mapped, &run->map_events[1]);
	return sent != CHOIR_SUCCESS ? sent : received;
}

choir_status run_map(struct run *run, bool *moved)
{
	bool done;

	TRY(start_maps(run));
	TRY(poll_maps(run, &done));
	if (!done)
		return CHOIR_SUCCESS;
	*moved = true;
	run->state = RUN_STEPS;
	return steps_begin(run);
}

choir_status run_await_unmap(struct run *run, bool *moved)
{
	bool done;

	TRY(poll_maps(run, &done));
	if (!done)
		return CHOIR_SUCCESS;
	*moved = true;
	run->state = RUN_ENDED;
	if (run_is_script(run)) {
		run->plan = NULL; /* the script may give it back from now on */
		run->state = RUN_ASK;
	}
	return CHOIR_SUCCESS;
}
