/* SPDX-License-Identifier: MIT */
/* How ranks write what peers read: the choice follows what plans take, and tries the other way seldom.  And the sizes of slots. */
#include "exec/slot_ring.h"
#include "exec/stores.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BYTES = 65536 };

/* Plans that take so many ns a byte, plain and past the cache; every third is disturbed.  Returns how many of them went past the cache. */
static int plans(struct stores_entry *entry, int n, bool *past, int plain_ns, int past_ns)
{
	int n_past = 0;

	for (int i = 0; i < n; i++) {
		int64_t ns = (int64_t)BYTES * (*past ? past_ns : plain_ns) * (i % 3 == 2 ? 20 : 1);

		n_past += *past;
		*past = stores_learn(entry, *past, BYTES, ns);
	}
	return n_past;
}

static void plain_stays(void **state)
{
	struct stores_entry entry = { 0 };
	bool past = false;
	int tried = plans(&entry, 2000, &past, 4, 5);

	(void)state;
	assert_false(entry.past);
	assert_in_range(tried, 1, 60);
}

static void the_faster_way_is_found(void **state)
{
	struct stores_entry entry = { 0 };
	bool past = false;

	(void)state;
	plans(&entry, 9, &past, 10, 1);
	assert_true(entry.past);
	assert_in_range(plans(&entry, 2000, &past, 10, 1), 1940, 2000);
}

static void a_change_is_noticed(void **state)
{
	struct stores_entry entry = { 0 };
	bool past = false;

	(void)state;
	plans(&entry, 1000, &past, 1, 2);
	assert_false(entry.past);
	plans(&entry, 24, &past, 10, 2); /* what is used has become slow: at once */
	assert_true(entry.past);
	plans(&entry, 1000, &past, 10, 2);
	assert_true(entry.past);
	plans(&entry, 530, &past, 1, 2); /* what is not used has become fast: by the next trial */
	assert_false(entry.past);
}

/* A receiver learns of pieces that were on their way when it changed its mind. */
static void what_was_under_way_does_not_count(void **state)
{
	struct stores_entry entry = { 0 };
	bool past = false;

	(void)state;
	for (int i = 0; i < 20 && !past; i++)
		past = stores_learn(&entry, past, BYTES, 10 * BYTES);
	for (int i = 0; i < 20; i++)
		assert_true(stores_learn(&entry, false, BYTES, BYTES));
	assert_false(entry.past);
	plans(&entry, 4, &past, 10, 5);
	assert_true(entry.past);
}

static void sizes_fit(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8, 17, 64, 100, 256 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct slot_sizes s = slot_sizes_of(sizes[i]);

		assert_true(s.lane_bytes % 4096 == 0 && s.lane_bytes > s.part_bytes);
		assert_true(s.part_bytes % (64 * (uint64_t)sizes[i]) == 0 && s.part_bytes >= 4096);
		assert_true(s.slot_bytes == 4 * s.part_bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(plain_stays), cmocka_unit_test(the_faster_way_is_found),
		                            cmocka_unit_test(a_change_is_noticed), cmocka_unit_test(what_was_under_way_does_not_count),
		                            cmocka_unit_test(sizes_fit) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
