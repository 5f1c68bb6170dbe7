/* SPDX-License-Identifier: MIT */
/* choir's ways of reducing many tensors, all in the buffers of one replay. */
#ifndef BENCH_TENSORS_OURS_H
#define BENCH_TENSORS_OURS_H

#include "replay.h"

/* tensors_multi: all in one choir_allreduce_multi.  tensors_each: a blocking choir_allreduce each.  NULL if there is no
 * memory. */
struct contender *tensors_multi(struct replay *replay);
struct contender *tensors_each(struct replay *replay);

#endif
