/* SPDX-License-Identifier: MIT */
/* Examples: a target word and the words before it, shuffled anew every epoch, the same on every rank. */
#ifndef TRAIN_BATCH_H
#define TRAIN_BATCH_H

#include "text.h"

struct batcher {
	const struct text *text; /* outlives the batcher */
	int n_context;
	uint64_t seed;
	int64_t epoch;      /* the one that positions is shuffled for; -1 before the first */
	int32_t *positions; /* of all targets: every token but the first boundary */
	size_t n_positions;
};

/* batcher_init: ARGUMENT for a text of 2^31 tokens or more. */
choir_status batcher_init(struct batcher *batcher, const struct text *text, int n_context, uint64_t seed);
void batcher_fini(struct batcher *batcher);

/* batcher_fill: examples first ... first + n - 1 of the endless stream of epochs.  contexts[i * n_context + c] is the
 * word c + 1 places before targets[i]; places before the sentence hold TEXT_BOUNDARY. */
void batcher_fill(struct batcher *batcher, uint64_t first, size_t n, int32_t *contexts, int32_t *targets);

/* slice_first: rank r of n_ranks takes rows slice_first(r) ... slice_first(r + 1) - 1 of a batch, whether n_ranks
 * divides it or not. */
static inline size_t slice_first(size_t batch, int rank, int n_ranks)
{
	return batch * (size_t)rank / (size_t)n_ranks;
}

#endif
