/* SPDX-License-Identifier: MIT */
/* The call cache's size: it grows for calls that come back, and for no others.  Calls on the same buffers that differ
 * in anything else are found as well. */
#ifndef TESTS_REPEATED_MANY_H
#define TESTS_REPEATED_MANY_H

/* test_repeated_many: a CMocka test. */
void test_repeated_many(void **state);

#endif
