/* SPDX-License-Identifier: MIT */
/* Calls made again and again, so that the call cache finds them (exec/call_cache.h), on memory that ranks share and on
 * cl_mems, which come and go. */
#ifndef TESTS_REPEATED_MEMORY_H
#define TESTS_REPEATED_MEMORY_H

/* test_repeated_memory: a CMocka test. */
void test_repeated_memory(void **state);

#endif
