/* SPDX-License-Identifier: MIT */
#ifndef API_LOCAL_H
#define API_LOCAL_H

#include "exec/plan_cache.h"

/* local_plan: the plan of the operator "local": every rank keeps its own values, nothing travels.  One reference. */
choir_status local_plan(const struct algo_in *in, struct cached_plan **out_p);

#endif
