/* SPDX-License-Identifier: MIT */
/* Messages of any length, from one word to more than a ring holds, and such as are wanted in another order than they
 * were sent in. */
#ifndef TESTS_SPANS_H
#define TESTS_SPANS_H

/* test_spans: a CMocka test. */
void test_spans(void **state);

#endif
