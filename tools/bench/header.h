/* SPDX-License-Identifier: MIT */
/* What a run's numbers depend on. */
#ifndef BENCH_HEADER_H
#define BENCH_HEADER_H

#include "world.h"

#include <choir/comm.h>
#include <jansson.h>

/* header_make: collective; rank 0 gets a new reference, the others NULL. */
json_t *header_make(struct world *world, choir_device *device, choir_comm *comm);

#endif
