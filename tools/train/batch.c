/* SPDX-License-Identifier: MIT */
#include "batch.h"
#include "random.h"

#include <stdlib.h>

choir_status batcher_init(struct batcher *batcher, const struct text *text, int n_context, uint64_t seed)
{
	size_t n = text->n_tokens - 1;
	int32_t *positions;

	if (text->n_tokens > INT32_MAX)
		return failure(CHOIR_ARGUMENT, "a text of %zu words is too long", text->n_tokens);
	positions = malloc(n * sizeof *positions);
	if (!positions)
		return fail_memory("the order of the examples", n * sizeof *positions);
	*batcher = (struct batcher){ .text = text,
		                     .n_context = n_context,
		                     .seed = seed,
		                     .epoch = -1,
		                     .positions = positions,
		                     .n_positions = n };
	return CHOIR_SUCCESS;
}

void batcher_fini(struct batcher *batcher)
{
	free(batcher->positions);
	batcher->positions = NULL;
}

/* Fisher and Yates, from the identity, so that an epoch's order depends on nothing but its number. */
static void shuffle(struct batcher *batcher, int64_t epoch)
{
	uint64_t state = random_stream(batcher->seed, RANDOM_ORDER, (uint64_t)epoch);

	for (size_t i = 0; i < batcher->n_positions; i++)
		batcher->positions[i] = (int32_t)i + 1;
	for (size_t i = batcher->n_positions; i > 1; i--) {
		size_t j = random_below(&state, i);
		int32_t held = batcher->positions[i - 1];

		batcher->positions[i - 1] = batcher->positions[j];
		batcher->positions[j] = held;
	}
	batcher->epoch = epoch;
}

static void fill_context(const int32_t *target, int n_context, int32_t *context)
{
	int c = 0;

	for (; c < n_context && target[-1 - c] != TEXT_BOUNDARY; c++)
		context[c] = target[-1 - c];
	for (; c < n_context; c++)
		context[c] = TEXT_BOUNDARY;
}

void batcher_fill(struct batcher *batcher, uint64_t first, size_t n, int32_t *contexts, int32_t *targets)
{
	for (size_t i = 0; i < n; i++) {
		int64_t epoch = (int64_t)((first + i) / batcher->n_positions);
		const int32_t *target;

		if (epoch != batcher->epoch)
			shuffle(batcher, epoch);
		target = batcher->text->tokens + batcher->positions[(first + i) % batcher->n_positions];
		targets[i] = *target;
		fill_context(target, batcher->n_context, contexts + i * (size_t)batcher->n_context);
	}
}
