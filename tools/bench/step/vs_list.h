/* SPDX-License-Identifier: MIT */
/* A way of --vs that does many jobs, one call after another. */
#ifndef BENCH_VS_LIST_H
#define BENCH_VS_LIST_H

#include "replay.h"

/* vs_list_open: of all items' jobs.  NULL if one of them cannot be done so, why_not says why.  Collective. */
struct contender *vs_list_open(const struct vs_way *way, const struct replay *replay, const char **why_not);

#endif
