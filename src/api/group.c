/* SPDX-License-Identifier: MIT */
/* Groups: calls of one thread that are submitted together. */
#include "api/call.h"

#include "base/kept_error.h"
#include "exec/submit.h"
#include "exec/progress.h"
#include "exec/thread.h"

#include <stdio.h>
#include <stdlib.h>

/* runs: the parts of a call one behind the other; waits: beside its last part a reference to the event, for calls
 * without event_p. */
static _Thread_local struct held {
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
	if (group.lost) {
		submit_drop(runs, n, CHOIR_NO_MEMORY, "no memory for a call of a group");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		choir_event *event = runs[i]->event;

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

/* What the group held; the group is empty. */
static struct held take_held(void)
{
	struct held held = group;

	group = (struct held){ 0 };
	return held;
}

static void free_held(struct held *held)
{
	for (size_t i = 0; i < held->n; i++)
		choir_event_release(held->waits[i]);
	free(held->runs);
	free(held->waits);
}

choir_status choir_group_end(void)
{
	struct kept_error first = { .status = CHOIR_SUCCESS };
	struct held held;

	if (!group_is_open())
		return error_set(CHOIR_ARGUMENT, "choir_group_end without choir_group_begin");
	group_leave();
	if (group_is_open())
		return CHOIR_SUCCESS;
	held = take_held();
	if (held.lost)
		error_keep(&first, error_no_memory("the calls of a group", held.n * sizeof *held.runs));
	for (size_t i = 0, parts; i < held.n; i += parts) {
		parts = parts_of_one(&held.runs[i], held.n - i);
		atomic_store(&held.runs[i]->event->grouped_by, 0);
		error_keep_first(&first, submit_parts(&held.runs[i], parts));
	}
	(void)progress_kick();
	for (size_t i = 0; i < held.n; i++)
		if (held.waits[i] != NULL)
			error_keep_first(&first, choir_event_wait(held.waits[i], -1));
	free_held(&held);
	return error_again(&first);
}

static void drop(struct run *const *parts, size_t n)
{
	const struct choir_comm *comm = parts[0]->comm;
	char text[ERROR_TEXT_BYTES];

	snprintf(text, sizeof text, "%s: rank %d: %s: choir_group_cancel dropped the call, which was not made",
	         comm->name, comm->rank, run_name(parts[0]));
	atomic_store(&parts[0]->event->grouped_by, 0);
	submit_drop(parts, n, CHOIR_ABORTED, text);
}

choir_status choir_group_cancel(void)
{
	struct held held;

	if (!group_is_open())
		return error_set(CHOIR_ARGUMENT, "choir_group_cancel without choir_group_begin");
	while (group_is_open())
		group_leave();
	held = take_held();
	for (size_t i = 0, parts; i < held.n; i += parts) {
		parts = parts_of_one(&held.runs[i], held.n - i);
		drop(&held.runs[i], parts);
	}
	free_held(&held);
	return CHOIR_SUCCESS;
}

choir_status group_close(choir_status st)
{
	if (st == CHOIR_SUCCESS)
		return choir_group_end();
	(void)choir_group_cancel();
	return st;
}
