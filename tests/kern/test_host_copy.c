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

enum { MAX_BYTES = 600, LINE = 64, ROOM = MAX_BYTES + 3 * LINE, SENTINEL = 0xa5 };

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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_alignment) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
