/* SPDX-License-Identifier: MIT */
/* Several threads of a rank at once: blocking calls beside calls with events. */
#ifndef TESTS_REPEATED_THREADS_H
#define TESTS_REPEATED_THREADS_H

void test_threads(void **state);

#endif
