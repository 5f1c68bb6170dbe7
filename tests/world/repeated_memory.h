/* SPDX-License-Identifier: MIT */
/* Calls made again and again (exec/repeat.h) on memory that ranks share and on cl_mems, which come and go. */
#ifndef TESTS_REPEATED_MEMORY_H
#define TESTS_REPEATED_MEMORY_H

/* test_repeated_memory: a CMocka test. */
void test_repeated_memory(void **state);

#endif
