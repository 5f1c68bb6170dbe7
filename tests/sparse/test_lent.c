/* SPDX-License-Identifier: MIT */
/* Loans of device memory: when their memory is given back, and whom they can be found by.  No device is needed. */
#include "sparse/lent.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int given;

void __wrap_scratch_give(struct scratch *scratch);
void __wrap_scratch_give(struct scratch *scratch)
{
	given++;
	memset(scratch, 0, sizeof *scratch);
}

static struct lent_list *lend(int others)
{
	static int memory[2];
	struct scratch ind = { .mem = (cl_mem)(void *)&memory[0] }, rows = { .mem = (cl_mem)(void *)&memory[1] };
	struct lent_list *list;

	given = 0;
	assert_int_equal(lent_create(&ind, &rows, others, &list), CHOIR_SUCCESS);
	assert_true(ind.mem == NULL && rows.mem == NULL);
	assert_true(lent_ind(list) == (cl_mem)(void *)&memory[0] && lent_rows(list) == (cl_mem)(void *)&memory[1]);
	assert_true(lent_number(list) > 0);
	return list;
}

/* The loans of a call's other ranks, whose numbers the owner knows. */
static void await_both(struct lent_list *list, const struct lent_list *one, const struct lent_list *other)
{
	lent_await(list, lent_number(one));
	lent_await(list, lent_number(other));
}

/* The memory goes with the last of the ranks' calls and readers, whichever that is. */
static void test_last(void **state)
{
	struct lent_list *list = lend(2), *one = lend(2), *other = lend(2), *reader;
	uint64_t number = lent_number(list);

	(void)state;
	assert_int_equal(lent_open(number, &reader), CHOIR_SUCCESS);
	assert_true(lent_ind(reader) == lent_ind(list));
	await_both(list, one, other);
	lent_give(list, true);
	lent_give(one, false);
	assert_int_equal(given, 2); /* its own; another one is to come */
	lent_close(reader);
	assert_int_equal(given, 2);
	assert_int_equal(lent_open(number, &reader), CHOIR_SUCCESS);
	lent_give(other, false);
	assert_int_equal(given, 4);
	lent_close(reader);
	assert_int_equal(given, 6);
	assert_int_equal(lent_open(number, &reader), CHOIR_TRANSPORT);
}

/* The ranks' calls end before they open the list: it goes with the last one.  One was over before the owner's. */
static void test_never_opened(void **state)
{
	struct lent_list *list = lend(2), *one = lend(2), *other = lend(2);
	uint64_t numbers[] = { lent_number(one), lent_number(other) };

	(void)state;
	lent_give(one, false);
	assert_int_equal(given, 2);
	lent_await(list, numbers[0]);
	lent_await(list, numbers[1]);
	lent_give(list, true);
	assert_int_equal(given, 2);
	lent_give(other, false);
	assert_int_equal(given, 6);
}

/* All know each other's. */
static void test_all_know(void **state)
{
	struct lent_list *lists[3] = { lend(2), lend(2), lend(2) };

	(void)state;
	given = 0;
	for (int r = 0; r < 3; r++) {
		assert_int_equal(given, 0);
		for (int other = r + 1; other < 3; other++)
			lent_await(lists[r], lent_number(lists[other]));
		lent_give(lists[r], true);
	}
	assert_int_equal(given, 6);
}

/* The owner's call fails: readers that have not opened its list do not find it, the others go on. */
static void test_failed(void **state)
{
	struct lent_list *list = lend(2), *reader, *late;
	uint64_t number = lent_number(list);

	(void)state;
	assert_int_equal(lent_open(number, &reader), CHOIR_SUCCESS);
	lent_give(list, false);
	assert_int_equal(given, 0);
	assert_int_equal(lent_open(number, &late), CHOIR_TRANSPORT);
	assert_non_null(strstr(error_text(), "call has failed"));
	lent_close(reader);
	assert_int_equal(given, 2);

	list = lend(3);
	lent_give(list, false);
	assert_int_equal(given, 2);
}

static void test_withdrawn(void **state)
{
	struct lent_list *list = lend(2), *reader;
	cl_mem mems[] = { lent_ind(list), lent_rows(list) };
	uint64_t number = lent_number(list);
	struct scratch ind, rows;

	(void)state;
	lent_withdraw(list, &ind, &rows);
	assert_true(ind.mem == mems[0] && rows.mem == mems[1]);
	assert_int_equal(given, 0);
	assert_int_equal(lent_open(number, &reader), CHOIR_TRANSPORT);
	lent_give(NULL, true);
	lent_close(NULL);
}

/* Loans are told apart by their numbers, which are never used again. */
static void test_several(void **state)
{
	struct lent_list *a = lend(1), *b = lend(1), *reader;
	uint64_t number = lent_number(a);

	(void)state;
	assert_true(lent_number(b) > number);
	assert_int_equal(lent_open(number, &reader), CHOIR_SUCCESS);
	assert_ptr_equal(reader, a);
	lent_close(reader);
	lent_give(a, true);
	assert_int_equal(given, 2);
	lent_give(b, false);
	assert_int_equal(given, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last),   cmocka_unit_test(test_never_opened), cmocka_unit_test(test_all_know),
		cmocka_unit_test(test_failed), cmocka_unit_test(test_withdrawn),    cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
