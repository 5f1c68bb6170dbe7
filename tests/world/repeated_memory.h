/* SPDX-License-Identifier: MIT */
/* Calls made again and again (exec/repeat.h) on memory that ranks share and on cl_mems, which come and go; and what ends a call that was right many times. */
#ifndef TESTS_REPEATED_MEMORY_H
#define TESTS_REPEATED_MEMORY_H

/* test_repeated_memory, test_repeated_ends: CMocka tests. */
void test_repeated_memory(void **state);
void test_repeated_ends(void **state);

#endif
