/* SPDX-License-Identifier: MIT */
/* What earlier calls like this one took and came to, for choices that depend on sizes that nobody knows beforehand.
 * One a comm; its user serialises. */
#ifndef ALGO_HISTORY_H
#define ALGO_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { HISTORY_ROWS = 16 };

/* A call: kind is a hash of what must be the same; the sizes may be up to twice or down to half as large. */
struct history_call {
	uint64_t kind, count, range;
};

struct history_row {
	struct history_call call;
	uint64_t age; /* 0 = free; the larger, the later */
	int taken;    /* the algorithm's row in its table; -1 = none so far */
	double growth;/* what came out / what went in; 0 = unknown */
};

/* All zero = empty. */
struct history {
	struct history_row rows[HISTORY_ROWS];
	uint64_t age;
};

/* history_find: the latest row of a call like this; taken -1, growth 0 if there is none. */
struct history_row history_find(const struct history *history, const struct history_call *call);

/* history_note: of this call; instead of the row that history_find finds, a free one, or the one that was left alone
 * for longest.  taken -1 leaves what was noted there. */
void history_note(struct history *history, const struct history_call *call, int taken, double growth);

#endif
