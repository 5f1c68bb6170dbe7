/* SPDX-License-Identifier: MIT */
/* Poison: the first failure of any rank, in memory that all ranks of a node map.  All zero: no failure. */
#ifndef NODE_POISON_H
#define NODE_POISON_H

#include <choir/types.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { POISON_NOTES = 6, POISON_TEXT_BYTES = 512 };

struct poison_note {
	int32_t status;
	char text[POISON_TEXT_BYTES];
};

struct poison {
	_Atomic uint32_t winner; /* 1 + the number of the first note; 0 = none */
	_Atomic uint32_t taken;  /* notes handed out */
	struct poison_note notes[POISON_NOTES];
};

/* poison_set: records a failure if there is none yet.  Wait-free; any thread of any process.  SUCCESS counts as
 * ABORTED. */
void poison_set(struct poison *poison, choir_status status, const char *text);

/* poison_get: SUCCESS, by one relaxed load, if there is none; else its status, and its text in text[bytes] (text may be
 * NULL). */
choir_status poison_get(struct poison *poison, char *text, size_t bytes);

/* poison_is_set: the same load alone. */
static inline bool poison_is_set(const struct poison *poison)
{
	return atomic_load_explicit(&poison->winner, memory_order_relaxed) != 0;
}

#endif
