/* SPDX-License-Identifier: MIT */
/* Copies of every length at every alignment of either side, plain and past the cache, and of two at once: all bytes, and none beyond. */
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

static void test_two_at_once(void **state)
{
	static const size_t lengths[] = { 0, 1, 63, 64, 1023, 1024, 1025, 1100, 2048, 3000, 5183 };
	enum { LONGEST = 5183, ALL = LONGEST + 3 * LINE };
	_Alignas(LINE) static unsigned char src[2][ALL], dst[2][ALL];

	(void)state;
	for (size_t i = 0; i < ALL; i++) {
		src[0][i] = (unsigned char)(i * 7 + i / 251 + 1);
		src[1][i] = (unsigned char)(i * 5 + i / 253 + 2);
	}
	for (size_t to = 0; to < LINE; to += 3)
		for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
			size_t bytes = lengths[i / 2], off[] = { to % 9 == 0 ? 0 : to, to };

			memset(dst, SENTINEL, sizeof dst);
			copy_host_both(dst[0] + off[0], src[0] + 3, dst[1] + off[1], src[1] + 5, bytes, i % 2 != 0);
			for (size_t copy = 0; copy < 2; copy++) {
				assert_memory_equal(dst[copy] + off[copy], src[copy] + (copy == 0 ? 3 : 5), bytes);
				for (size_t at = 0; at < ALL; at++)
					if (at < off[copy] || at >= off[copy] + bytes)
						assert_int_equal(dst[copy][at], SENTINEL);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_alignment), cmocka_unit_test(test_two_at_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
