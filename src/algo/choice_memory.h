/* SPDX-License-Identifier: MIT */
/* The choice memory: the algorithm and the growth of earlier similar calls, for choices that depend on sizes not known
 * beforehand.  One for each comm; the caller serialises. */
#ifndef ALGO_CHOICE_MEMORY_H
#define ALGO_CHOICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { CHOICE_MEMORY_ROWS = 16 };

/* A call: kind is a hash of the parameters that must be equal; the sizes of similar calls differ by at most a factor of
 * 2. */
struct choice_memory_call {
	uint64_t kind, count, range;
};

struct choice_memory_row {
	struct choice_memory_call call;
	uint64_t age;  /* 0 = free; later rows have larger numbers */
	int taken;     /* the algorithm's row in its table; -1 = none yet */
	double growth; /* size of the result / size of the input; 0 = unknown */
};

/* All zero = empty. */
struct choice_memory {
	struct choice_memory_row rows[CHOICE_MEMORY_ROWS];
	uint64_t age;
};

/* choice_memory_find: the latest row of a similar call; taken -1 and growth 0 if there is none. */
struct choice_memory_row choice_memory_find(const struct choice_memory *memory, const struct choice_memory_call *call);

/* choice_memory_note: writes this call to the row that choice_memory_find finds, or to a free row, or over the oldest.
 * taken -1 keeps the row's algorithm. */
void choice_memory_note(struct choice_memory *memory, const struct choice_memory_call *call, int taken, double growth);

#endif
