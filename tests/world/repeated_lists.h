/* SPDX-License-Identifier: MIT */
/* Calls with counts a rank, made again and again, so that the call cache finds them (exec/call_cache.h): arrays at the
 * same address are not the same counts. */
#ifndef TESTS_REPEATED_LISTS_H
#define TESTS_REPEATED_LISTS_H

/* test_repeated_lists: a CMocka test. */
void test_repeated_lists(void **state);

#endif
