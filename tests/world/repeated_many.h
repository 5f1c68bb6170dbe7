/* SPDX-License-Identifier: MIT */
/* The call cache's size: it grows for calls that come back, and for no others. */
#ifndef TESTS_REPEATED_MANY_H
#define TESTS_REPEATED_MANY_H

/* test_repeated_many: a CMocka test. */
void test_repeated_many(void **state);

#endif
