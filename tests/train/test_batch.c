/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "train/batch.h"

#include <string.h>

static int make_text(void **state)
{
	static struct text text;
	static const char bytes[] = "one two three four five\nsix seven\neight";

	*state = &text;
	return text_parse(bytes, sizeof bytes - 1, &text);
}

static int free_text(void **state)
{
	text_free(*state);
	return 0;
}

/* The example of every target in the order of the text: which word, and what stands before it. */
static void test_contexts(void **state)
{
	const struct text *text = *state;
	struct batcher batcher;
	int32_t contexts[11 * 3], targets[11];
	int seen[11] = { 0 };

	assert_int_equal(batcher_init(&batcher, text, 3, 7), CHOIR_SUCCESS);
	assert_int_equal(batcher.n_positions, 11);
	batcher_fill(&batcher, 0, 11, contexts, targets);
	for (int i = 0; i < 11; i++) {
		int at = batcher.positions[i], inside = 1;

		seen[at - 1]++;
		assert_int_equal(targets[i], text->tokens[at]);
		for (int c = 0; c < 3; c++) {
			inside = inside && text->tokens[at - 1 - c] != TEXT_BOUNDARY;
			assert_int_equal(contexts[i * 3 + c], inside ? text->tokens[at - 1 - c] : TEXT_BOUNDARY);
		}
	}
	for (int i = 0; i < 11; i++)
		assert_int_equal(seen[i], 1);
	batcher_fini(&batcher);
}

/* What a rank takes of a batch does not depend on what it took before, nor on who takes the rest. */
static void test_slices_join(void **state)
{
	struct batcher whole, sliced;
	int32_t contexts[50 * 4], targets[50], slice_contexts[50 * 4], slice_targets[50];

	assert_int_equal(batcher_init(&whole, *state, 4, 3), CHOIR_SUCCESS);
	assert_int_equal(batcher_init(&sliced, *state, 4, 3), CHOIR_SUCCESS);
	batcher_fill(&whole, 5, 50, contexts, targets); /* several epochs */
	for (int n_ranks = 1; n_ranks <= 7; n_ranks++)
		for (int r = n_ranks - 1; r >= 0; r--) {
			size_t first = slice_first(50, r, n_ranks), n = slice_first(50, r + 1, n_ranks) - first;

			assert_true(n >= 50u / (unsigned)n_ranks);
			batcher_fill(&sliced, 5 + first, n, slice_contexts, slice_targets);
			assert_memory_equal(slice_targets, targets + first, n * sizeof *targets);
			assert_memory_equal(slice_contexts, contexts + first * 4, n * 4 * sizeof *contexts);
		}
	assert_int_equal(slice_first(50, 7, 7), 50);
	batcher_fini(&whole);
	batcher_fini(&sliced);
}

static void test_epochs_differ(void **state)
{
	struct batcher a, b;
	int32_t contexts[11], first[11], second[11], other[11];

	assert_int_equal(batcher_init(&a, *state, 1, 3), CHOIR_SUCCESS);
	assert_int_equal(batcher_init(&b, *state, 1, 4), CHOIR_SUCCESS);
	batcher_fill(&a, 0, 11, contexts, first);
	batcher_fill(&a, 11, 11, contexts, second);
	batcher_fill(&b, 0, 11, contexts, other);
	assert_memory_not_equal(first, second, sizeof first);
	assert_memory_not_equal(first, other, sizeof first);
	batcher_fini(&a);
	batcher_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_slices_join),
		cmocka_unit_test(test_epochs_differ),
	};

	return cmocka_run_group_tests(tests, make_text, free_text);
}
