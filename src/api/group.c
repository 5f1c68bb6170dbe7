/* SPDX-License-Identifier: MIT */
/* Groups: calls of one thread that are submitted together. */
#include "api/call.h"

#include "base/kept_error.h"
#include "exec/submit.h"
#include "exec/progress.h"
#include "exec/thread.h"

#include <stdlib.h>

/* runs: the parts of a call one behind the other; waits: beside its last part a reference to the event, for calls
 * without event_p. */
static _Thread_local struct {
	struct run **runs;
	choir_event **waits;
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
	choir_event **waits;
	struct run **runs;

	if (group.n + n <= group.room)
		return true;
	runs = realloc(group.runs, room * sizeof *runs);
	group.runs = runs != NULL ? runs : group.runs;
	waits = realloc(group.waits, room * sizeof *waits);
	group.waits = waits != NULL ? waits : group.waits;
	if (runs == NULL || waits == NULL)
		return false;
	group.room = room;
	return true;
}

/* The parts of a call all or none, and none after one that is lost: later ones would take its number. */
void group_add(struct run *const *runs, size_t n, bool waits)
{
	group.lost |= !make_room(n);
	for (size_t i = 0; i < n; i++) {
		choir_event *event = runs[i]->event;

		if (group.lost) {
			event_complete(event, CHOIR_NO_MEMORY, "no memory for a call of a group");
			run_discard(runs[i]);
			continue;
		}
		atomic_store(&event->grouped_by, this_thread());
		group.runs[group.n] = runs[i];
		group.waits[group.n++] = waits && i + 1 == n ? choir_event_retain(event) : NULL;
	}
}

/* How many runs from the first on are parts of one call. */
static size_t parts_of_one(struct run *const *runs, size_t n)
{
	size_t parts = 1;

	while (parts < n && runs[parts]->event == runs[0]->event)
		parts++;
	return parts;
}

choir_status choir_group_end(void)
{
	struct kept_error first = { .status = CHOIR_SUCCESS };
	struct run **runs = group.runs;
	choir_event **waits = group.waits;
	size_t n = group.n;

	if (!group_is_open())
		return error_set(CHOIR_ARGUMENT, "choir_group_end without choir_group_begin");
	group_leave();
	if (group_is_open())
		return CHOIR_SUCCESS;
	if (group.lost)
		error_keep(&first, error_no_memory("the calls of a group", n * sizeof *runs));
	group.runs = NULL;
	group.waits = NULL;
	group.n = group.room = 0;
	group.lost = false;
	for (size_t i = 0, parts; i < n; i += parts) {
		parts = parts_of_one(&runs[i], n - i);
		atomic_store(&runs[i]->event->grouped_by, 0);
		error_keep_first(&first, submit_parts(&runs[i], parts));
	}
	(void)progress_kick();
	for (size_t i = 0; i < n; i++) {
		if (waits[i] != NULL)
			error_keep_first(&first, choir_event_wait(waits[i], -1));
		choir_event_release(waits[i]);
	}
	free(runs);
	free(waits);
	return error_again(&first);
}
