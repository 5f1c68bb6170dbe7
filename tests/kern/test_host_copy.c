/* SPDX-License-Identifier: MIT */
/* Copies of every length at every alignment of either side, plain and by nt stores, and of two at once: all bytes,
 * and none beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/copy.h"

#include <string.h>

enum { MAX_BYTES = 600, LINE = 64, ROOM = MAX_BYTES + 3 * LINE, LONG_ROOM = 3400, SENTINEL = 0xa5 };

static void check(size_t to, size_t from, size_t bytes, bool stream)
{
	_Alignas(LINE) static unsigned char src[ROOM], dst[ROOM];

	for (size_t i = 0; i < ROOM; i++)
		src[i] = (unsigned char)(i * 7 + i / 251 + 1);
	memset(dst, SENTINEL, sizeof dst);
	copy_host(dst + to, src + from, bytes, stream);
	assert_memory_equal(dst + to, src + from, bytes);
	for (size_t i = 0; i < ROOM; i++)
		if (i < to || i >= to + bytes)
			assert_int_equal(dst[i], SENTINEL);
}

static void test_every_alignment(void **state)
{
	static const size_t lengths[] = { 0, 1, 2, 15, 63, 64, 65, 127, 128, 129, 191, 255, 256, 512, 599 };

	(void)state;
	for (size_t to = 0; to < LINE; to++)
		for (size_t from = 0; from < LINE; from += 5)
			for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
				check(to, from, lengths[i], true);
				check(to, from, lengths[i], false);
			}
}

static void check_both(size_t to, size_t from, size_t bytes, bool nt)
{
	_Alignas(LINE) static unsigned char src[2][LONG_ROOM], dst[2][LONG_ROOM];
	size_t at[2] = { LINE, LINE + to };

	for (size_t i = 0; i < LONG_ROOM; i++) {
		src[0][i] = (unsigned char)(i * 7 + i / 251 + 1);
		src[1][i] = (unsigned char)(i * 11 + i / 241 + 2);
	}
	memset(dst, SENTINEL, sizeof dst);
	copy_host_both(dst[0] + at[0], src[0] + from, dst[1] + at[1], src[1] + 3 * from, bytes, nt);
	for (size_t k = 0; k < 2; k++) {
		assert_memory_equal(dst[k] + at[k], src[k] + (2 * k + 1) * from, bytes);
		for (size_t i = 0; i < LONG_ROOM; i++)
			if (i < at[k] || i >= at[k] + bytes)
				assert_int_equal(dst[k][i], SENTINEL);
	}
}

static void test_both(void **state)
{
	static const size_t lengths[] = { 0, 1, 63, 64, 65, 1023, 1024, 1025, 1087, 2048, 3000 };

	(void)state;
	for (size_t to = 0; to < LINE; to += 3)
		for (size_t from = 0; from < LINE; from += 9)
			for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
				check_both(to, from, lengths[i], true);
				check_both(to, from, lengths[i], false);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_alignment), cmocka_unit_test(test_both) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
