/* SPDX-License-Identifier: MIT */
/* The bare loops: every count of sources and destinations, odd lengths, odd places, and not a byte beside. */
#include "bench/ways/bound_loops.h"
#include "unit.h"

#include <string.h>

enum { ROOM = 4200, MAX_SIDES = 4, GUARD = 77 };

static float src[MAX_SIDES][ROOM], dst[MAX_SIDES][ROOM];

static void reset(void)
{
	for (int s = 0; s < MAX_SIDES; s++)
		for (int i = 0; i < ROOM; i++) {
			src[s][i] = (float)((i * (s + 3)) % 101);
			dst[s][i] = GUARD;
		}
}

static void sum_once(int n_src, int n_dst, size_t at, size_t count, bool nt)
{
	const float *from[MAX_SIDES];
	float *to[MAX_SIDES];

	reset();
	for (int i = 0; i < MAX_SIDES; i++) {
		from[i] = src[i] + at;
		to[i] = dst[i] + at;
	}
	bound_sum(to, n_dst, from, n_src, count, nt);
	for (int d = 0; d < MAX_SIDES; d++)
		for (size_t i = 0; i < ROOM; i++) {
			float expected = 0;

			for (int s = 0; s < n_src; s++)
				expected += src[s][i];
			if (d >= n_dst || i < at || i >= at + count)
				expected = GUARD;
			if (dst[d][i] != expected)
				fail_msg("%d to %d, %zu from %zu: element %zu of %d is %g", n_src, n_dst, count, at, i,
				         d, dst[d][i]);
		}
}

static void copy_once(int n_dst, size_t at, size_t bytes, bool nt)
{
	char *to[MAX_SIDES], expected[sizeof *dst];

	reset();
	for (int i = 0; i < MAX_SIDES; i++)
		to[i] = (char *)dst[i] + at;
	bound_copy(to, n_dst, (const char *)src[0] + 5, bytes, nt);
	memcpy(expected, dst[MAX_SIDES - 1], sizeof expected);
	memcpy(expected + at, (const char *)src[0] + 5, bytes);
	for (int d = 0; d < n_dst; d++)
		assert_memory_equal(dst[d], expected, sizeof expected);
}

static void sums_are_exact(void **state)
{
	static const size_t counts[] = { 0, 1, 3, 16, 17, 1023, 1024, 1025, 4001 };

	(void)state;
	for (int n_src = 1; n_src <= MAX_SIDES; n_src++)
		for (int n_dst = 1; n_dst <= MAX_SIDES; n_dst++)
			for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
				for (size_t at = 0; at < 3; at++) {
					sum_once(n_src, n_dst, at, counts[c], false);
					sum_once(n_src, n_dst, at, counts[c], true);
				}
}

static void copies_are_exact(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 64, 200, 4095, 4096, 9001 };

	(void)state;
	for (int n_dst = 1; n_dst < MAX_SIDES; n_dst++)
		for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
			for (size_t at = 0; at < 20; at += 3) {
				copy_once(n_dst, at, sizes[c], false);
				copy_once(n_dst, at, sizes[c], true);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(copies_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
