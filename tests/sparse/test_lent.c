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

static struct lent_list *lend(int readers)
{
	static int memory[2];
	struct scratch ind = { .mem = (cl_mem)(void *)&memory[0] }, rows = { .mem = (cl_mem)(void *)&memory[1] };
	struct lent_list *list;

	given = 0;
	assert_int_equal(lent_create(&ind, &rows, readers, &list), CHOIR_SUCCESS);
	assert_true(ind.mem == NULL && rows.mem == NULL);
	assert_true(lent_ind(list) == (cl_mem)(void *)&memory[0] && lent_rows(list) == (cl_mem)(void *)&memory[1]);
	assert_true(lent_number(list) > LENT_NOTHING);
	return list;
}

/* The memory goes with the last of owner and readers, whoever that is. */
static void test_last(void **state)
{
	struct lent_list *list = lend(2), *first, *second;
	uint64_t number = lent_number(list);

	(void)state;
	assert_int_equal(lent_open(number, &first), CHOIR_SUCCESS);
	assert_true(lent_ind(first) == lent_ind(list));
	lent_close(first);
	lent_give(list, true);
	assert_int_equal(given, 0); /* the second reader is to come */
	assert_int_equal(lent_open(number, &second), CHOIR_SUCCESS);
	assert_int_equal(given, 0);
	lent_close(second);
	assert_int_equal(given, 2);
	assert_int_equal(lent_open(number, &second), CHOIR_TRANSPORT);

	list = lend(1);
	assert_int_equal(lent_open(lent_number(list), &first), CHOIR_SUCCESS);
	lent_close(first);
	assert_int_equal(given, 0); /* the owner reads it */
	lent_give(list, true);
	assert_int_equal(given, 2);
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
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_withdrawn),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
