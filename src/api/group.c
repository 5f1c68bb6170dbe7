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

static bool make_room(size_t n)
{
	size_t room = 2 * group.room + n + 8;
	struct grouped *grown;

	if (group.n + n <= group.room)
		return true;
	grown = realloc(group.calls, room * sizeof *grown);
	if (grown == NULL)
		return false;
	group.calls = grown;
	group.room = room;
	return true;
}

/* The parts of a call all or none, and none after one that is lost: later ones would take its number. */
bool group_add(struct run *const *runs, size_t n, bool waits)
{
	if (!group_is_open())
		return false;
	group.lost |= !make_room(n);
	for (size_t i = 0; i < n; i++) {
		choir_event *event = runs[i]->event;

		if (group.lost) {
			event_complete(event, CHOIR_NO_MEMORY, "no memory for a call of a group");
			run_discard(runs[i]);
			continue;
		}
		atomic_store(&event->grouped_by, this_thread());
		group.calls[group.n++] =
		    (struct grouped){ runs[i], waits && i + 1 == n ? choir_event_retain(event) : NULL };
	}
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
