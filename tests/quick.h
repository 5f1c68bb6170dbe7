/* SPDX-License-Identifier: MIT */
/* Short lists of cases: for interpreters such as Oclgrind, and where a program runs again over another kind of memory
 * or network. */
#ifndef TESTS_QUICK_H
#define TESTS_QUICK_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* quick_wanted: is CHOIR_TEST_QUICK=1 set? */
static inline bool quick_wanted(void)
{
	const char *text = getenv("CHOIR_TEST_QUICK");

	return text != NULL && strcmp(text, "1") == 0;
}

#endif
