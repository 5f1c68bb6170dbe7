/* SPDX-License-Identifier: MIT */
/* Memory of every kind for tests of the calls on one device. */
#ifndef TESTS_TOPK_PAIRS_MEMORY_H
#define TESTS_TOPK_PAIRS_MEMORY_H

#include "world/memory.h"

enum { KINDS = 3 }; /* host, cl_mem, SVM */

/* pairs_open, pairs_close: a group's set-up and tear-down; in between pairs_device is the device. */
extern choir_device *pairs_device;
int pairs_open(void **state);
int pairs_close(void **state);

bool pairs_has_svm(void);

/* pairs_make: a buffer of a kind with these bytes; SVM has no sentinels of its own.  pairs_is: its first `bytes` bytes
 * are these, and all behind them stands as it was.  pairs_drop: frees all that is not NULL. */
struct memory pairs_make(int kind, const void *from, size_t bytes);
void pairs_is(struct memory *m, const void *wanted, size_t bytes);
void pairs_drop(struct memory *a, struct memory *b, struct memory *c, struct memory *d);

/* pairs_draw: the next random number. */
uint64_t pairs_draw(void);

/* GOOD: the call succeeds. */
#define GOOD(call) pairs_good((call))
void pairs_good(choir_status got);

#endif
