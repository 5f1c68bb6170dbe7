/* SPDX-License-Identifier: MIT */
/* Groups: calls of one thread that are submitted together. */
#include "api/call.h"

#include "exec/submit.h"
#include "exec/progress.h"
#include "exec/thread.h"

#include <stdio.h>
#include <stdlib.h>

struct grouped {
	struct run *run;
	choir_event *waits; /* a reference, for calls without event_p */
};

static _Thread_local struct {
	struct grouped *calls;
	size_t n, room;
	bool lost; /* a call could not be kept */
} group;

choir_status choir_group_begin(void)
{
	if (in_callback())
		return error_set(CHOIR_WOULD_DEADLOCK, "choir_group_begin inside a callback of the library's");
	group_enter();
	return CHOIR_SUCCESS;
}

static bool make_room(void)
{
	size_t room = group.room > 0 ? 2 * group.room : 8;
	struct grouped *grown;

	if (group.n < group.room)
		return true;
	grown = realloc(group.calls, room * sizeof *grown);
	if (grown == NULL)
		return false;
	group.calls = grown;
	group.room = room;
	return true;
}

bool group_add(struct run *run, bool waits)
{
	if (!group_is_open())
		return false;
	if (!make_room()) {
		event_complete(run->event, CHOIR_NO_MEMORY, "no memory for a call of a group");
		run_discard(run);
		group.lost = true;
		return true;
	}
	atomic_store(&run->event->grouped_by, this_thread());
	group.calls[group.n++] = (struct grouped){ run, waits ? choir_event_retain(run->event) : NULL };
	return true;
}

choir_status choir_group_end(void)
{
	choir_status first = CHOIR_SUCCESS;
	char text[ERROR_TEXT_BYTES] = "";
	struct grouped *calls = group.calls;
	size_t n = group.n;

	if (!group_is_open())
		return error_set(CHOIR_ARGUMENT, "choir_group_end without choir_group_begin");
	group_leave();
	if (group_is_open())
		return CHOIR_SUCCESS;
	if (group.lost) {
		first = error_no_memory("the calls of a group", n * sizeof *calls);
		snprintf(text, sizeof text, "%s", error_text());
	}
	group.calls = NULL;
	group.n = group.room = 0;
	group.lost = false;
	for (size_t i = 0; i < n; i++) {
		choir_status st;

		atomic_store(&calls[i].run->event->grouped_by, 0);
		st = submit_run(calls[i].run);
		if (st != CHOIR_SUCCESS && first == CHOIR_SUCCESS) {
			first = st;
			snprintf(text, sizeof text, "%s", error_text());
		}
	}
	(void)progress_kick();
	for (size_t i = 0; i < n; i++) {
		choir_status st = calls[i].waits != NULL ? choir_event_wait(calls[i].waits, -1) : CHOIR_SUCCESS;

		choir_event_release(calls[i].waits);
		if (st != CHOIR_SUCCESS && first == CHOIR_SUCCESS) {
			first = st;
			snprintf(text, sizeof text, "%s", error_text());
		}
	}
	free(calls);
	return first == CHOIR_SUCCESS ? first : error_set(first, "%s", text);
}
