/* SPDX-License-Identifier: MIT */
/* choir's ways of reducing many tensors, all in the buffers of one replay. */
#ifndef BENCH_TENSORS_OURS_H
#define BENCH_TENSORS_OURS_H

#include "replay.h"

/* tensors_have: is there a form for lists of that collective?  tensors_multi: all in one call of it.  tensors_each: a
 * blocking call each.  NULL if there is no
 * memory. */
bool tensors_have(const char *collective);
struct contender *tensors_multi(struct replay *replay);
struct contender *tensors_each(struct replay *replay);

#endif
