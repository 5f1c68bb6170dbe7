/* SPDX-License-Identifier: MIT */
/* The copies and reductions of a plan with everything looked up: for calls that are repeated (exec/repeat.h), whose buffers stay where they are, while their slots go
 * round. */
#ifndef EXEC_TAPE_H
#define EXEC_TAPE_H

#include "kern/reduce.h"

struct plan;
struct run;

enum { TAPE_STEPS = 6, TAPE_OPERANDS = 8 };

/* What is added to an address from call to call. */
enum tape_moves { TAPE_STAYS, TAPE_WITH_SLOT, TAPE_WITH_LANE, N_TAPE_MOVES };

struct tape_step {
	uint32_t n, n_dst;          /* operands: destinations, then sources; n = 0: none of the plan's steps that can be here */
	unsigned char *at[TAPE_OPERANDS];
	unsigned char moves[TAPE_OPERANDS]; /* enum tape_moves */
	bool copies;
	struct reduce_call call;    /* of a copy: where its destination is written past the cache, and no more */
	uint64_t len;
};

struct tape {
	const struct plan *plan;    /* NULL = there is nothing on it */
	uint64_t finds;             /* run->peer_finds then */
	bool past;                  /* run->past then */
	struct tape_step steps[TAPE_STEPS];
};

/* tape_ready: for the plan of that run, which is about to begin its steps; looked up anew if anything has changed.
 * tape_play: does the step if it is on the tape. */
void tape_ready(struct tape *tape, struct run *run);
bool tape_play(const struct tape *tape, const struct run *run, uint32_t id);

#endif
