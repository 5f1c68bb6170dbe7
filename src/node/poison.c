/* SPDX-License-Identifier: MIT */
/* Note [poison].  Each writer takes a note of its own, fills it, and tries to make it the winner by one
 * compare-and-swap with release order.  So the winner's text is complete and does not change, and a writer that dies
 * half way delays no other.  A writer that finds all notes taken does nothing: another writer will win, unless all
 * of them died first. */
#include "node/poison.h"

#include <stdio.h>
#include <string.h>

void poison_set(struct poison *poison, choir_status status, const char *text)
{
	uint32_t mine, none = 0;
	struct poison_note *note;

	if (atomic_load_explicit(&poison->winner, memory_order_relaxed) != 0)
		return;
	mine = atomic_fetch_add_explicit(&poison->taken, 1, memory_order_relaxed);
	if (mine >= POISON_NOTES)
		return;
	note = &poison->notes[mine];
	note->status = status == CHOIR_SUCCESS ? CHOIR_ABORTED : (int32_t)status;
	snprintf(note->text, sizeof note->text, "%s", text != NULL ? text : "");
	atomic_compare_exchange_strong_explicit(&poison->winner, &none, mine + 1, memory_order_release,
	                                        memory_order_relaxed);
}

choir_status poison_get(struct poison *poison, char *text, size_t bytes)
{
	uint32_t winner = atomic_load_explicit(&poison->winner, memory_order_relaxed);
	const struct poison_note *note;

	if (winner == 0)
		return CHOIR_SUCCESS;
	winner = atomic_load_explicit(&poison->winner, memory_order_acquire);
	note = &poison->notes[winner - 1];
	if (text != NULL && bytes > 0)
		snprintf(text, bytes, "%s", note->text);
	return (choir_status)note->status;
}
