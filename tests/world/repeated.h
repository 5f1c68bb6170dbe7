/* SPDX-License-Identifier: MIT */
/* Blocking collectives that are the same as the call before, and such as differ from it in one word. */
#ifndef TESTS_REPEATED_H
#define TESTS_REPEATED_H

/* test_repeated: a CMocka test. */
void test_repeated(void **state);

#endif
