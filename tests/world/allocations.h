/* SPDX-License-Identifier: MIT */
/* The library's allocations, wrapped by the linker (-Wl,--wrap): one of them can be made to fail, and those that are
 * not freed are counted. */
#ifndef TESTS_ALLOCATIONS_H
#define TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

/* allocations_fail: the k-th allocation from now on fails, once (0: none does). */
void allocations_fail(unsigned k);

/* allocations_stop: from now on none fails. */
void allocations_stop(void);

/* allocations_failed: did it?  *site_p: the address that asked for it. */
bool allocations_failed(const void **site_p);

/* allocations_made: how many since allocations_fail. */
unsigned allocations_made(void);

/* allocations_live: how many are not freed; allocations_mark: a number for those made from now on; allocations_since:
 * an address that asked for one of them that is not freed, NULL if there is none. */
size_t allocations_live(void);
unsigned allocations_mark(void);
const void *allocations_since(unsigned mark);

#endif
