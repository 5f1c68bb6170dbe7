/* SPDX-License-Identifier: MIT */
/* Blocking calls that were made again and again, and a rank that makes no further one. */
#ifndef TESTS_REPEATED_ENDS_H
#define TESTS_REPEATED_ENDS_H

/* test_repeated_ends: a CMocka test. */
void test_repeated_ends(void **state);

#endif
