/* SPDX-License-Identifier: MIT */
/* The claims of the ranks of a split, gathered over the parent. */
#ifndef API_SPLIT_CLAIMS_H
#define API_SPLIT_CLAIMS_H

#include "api/split.h"

/* The calls of this process. */
struct split_calls {
	const struct split_how *how;
	int n_local;
	choir_comm *const *comms;   /* [n_local] */
	struct split_claim *claims; /* [parent size] of all ranks; of one that is no member color is -1 */
};

/* split_gather: bytes of each rank of the parent, all of which call; those of local rank i are at mine + i * stride.
 * all: [parent size] of so many bytes. */
choir_status split_gather(const struct split_calls *calls, const void *mine, size_t stride, size_t bytes, void *all);

/* split_exchange: a block of each of n ranks of the parent to all of them, which alone call, by send and recv.  Local
 * rank i is ranks[at[i]]; its blocks are blocks[i][n] of so many bytes, its own first, and behind that those of the
 * ranks that follow it round the list.  call: what an error names. */
choir_status split_exchange(const char *call, int n_local, choir_comm *const *comms, const int *at, const int *ranks,
                            int n, void *blocks, size_t bytes);

/* split_gather_claims: fills claims.  mine: [n_local].  MISMATCH if rules differ. */
choir_status split_gather_claims(const struct split_calls *calls, const struct split_claim *mine);

#endif
