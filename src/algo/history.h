/* SPDX-License-Identifier: MIT */
/* The choice memory: the algorithm and the growth of earlier similar calls, for choices that depend on sizes not known
 * beforehand.  One for each comm; the caller serialises. */
#ifndef ALGO_HISTORY_H
#define ALGO_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { HISTORY_ROWS = 16 };

/* A call: kind is a hash of the parameters that must be equal; the sizes of similar calls differ by at most a factor of
 * 2. */
struct history_call {
	uint64_t kind, count, range;
};

struct history_row {
	struct history_call call;
	uint64_t age;  /* 0 = free; later rows have larger numbers */
	int taken;     /* the algorithm's row in its table; -1 = none yet */
	double growth; /* size of the result / size of the input; 0 = unknown */
};

/* All zero = empty. */
struct history {
	struct history_row rows[HISTORY_ROWS];
	uint64_t age;
};

/* history_find: the latest row of a similar call; taken -1 and growth 0 if there is none. */
struct history_row history_find(const struct history *history, const struct history_call *call);

/* history_note: writes this call to the row that history_find finds, or to a free row, or over the oldest.  taken -1
 * keeps the row's algorithm. */
void history_note(struct history *history, const struct history_call *call, int taken, double growth);

#endif
