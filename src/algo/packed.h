/* SPDX-License-Identifier: MIT */
/* Equal blocks of all ranks, as the short algorithms move them: several blocks a message, so side by side in scratch.
 * Blocks that are too long for that go through in chunks of so many bytes of each block, several chunks on their way at
 * once. */
#ifndef ALGO_PACKED_H
#define ALGO_PACKED_H

#include "algo/algo.h"
#include "algo/pattern_block.h"

#define PACKED_AREAS 4

struct packed {
	const struct algo_in *in;
	struct plan *plan;
	struct chunks chunks;         /* of a block */
	uint64_t base, area_bytes;    /* PACKED_AREAS areas, used in turn */
	plan_id done[PACKED_AREAS];   /* the last step that touches the area, for the caller to set */
};

/* packed_init: chunks such that n_message blocks of one fit a message; areas of n_area such blocks.  packed_unfit: why
 * it cannot. */
void packed_init(struct packed *packed, const struct algo_in *in, struct plan *plan, int n_message, int n_area);
const char *packed_unfit(const struct algo_in *in, int n_message);

/* packed_area: where chunk k's area begins; packed_len: bytes of one block in it. */
struct plan_ref packed_area(const struct packed *packed, uint64_t k);
uint64_t packed_len(const struct packed *packed, uint64_t k);

/* packed_in, packed_out: copies chunk k of n blocks, from block `first` on: of SEND to ref, and from ref to RECV.
 * Returns the last copy, after which all are done. */
plan_id packed_in(const struct packed *packed, uint64_t k, struct plan_ref ref, int first, int n, plan_id after);
plan_id packed_out(const struct packed *packed, uint64_t k, struct plan_ref ref, int first, int n, plan_id after);

#endif
