/* SPDX-License-Identifier: MIT */
/* Equal blocks of all ranks for algorithms that send several blocks in one message: the blocks are packed in scratch.
 * Blocks that are too long for that move in chunks, several of them in flight. */
#ifndef ALGO_PACKED_H
#define ALGO_PACKED_H

#include "algo/algo.h"
#include "algo/pattern_block.h"

#define PACKED_AREAS 4

struct packed {
	const struct algo_in *in;
	struct plan *plan;
	struct chunks chunks;       /* of one block */
	uint64_t base, area_bytes;  /* PACKED_AREAS areas in scratch, used in turn */
	plan_id done[PACKED_AREAS]; /* the last step that uses the area; the caller sets it */
};

/* packed_init: chunks of which n_message fit a message; areas of n_area chunks.  packed_unfit: NULL, or why that is
 * impossible. */
void packed_init(struct packed *packed, const struct algo_in *in, struct plan *plan, int n_message, int n_area);
const char *packed_unfit(const struct algo_in *in, int n_message);

/* packed_area: the begin of chunk k's area; packed_len: the bytes of each block in it. */
struct plan_ref packed_area(const struct packed *packed, uint64_t k);
uint64_t packed_len(const struct packed *packed, uint64_t k);

/* packed_in: copies chunk k of n blocks, from block `first` on, from SEND to ref; packed_out: from ref to RECV.  Both
 * return the last copy; the copies are chained. */
plan_id packed_in(const struct packed *packed, uint64_t k, struct plan_ref ref, int first, int n, plan_id after);
plan_id packed_out(const struct packed *packed, uint64_t k, struct plan_ref ref, int first, int n, plan_id after);

#endif
