/* SPDX-License-Identifier: MIT */
/* What a run's numbers depend on. */
#ifndef BENCH_HEADER_H
#define BENCH_HEADER_H

#include "bench/ranks/world.h"

#include <choir/comm.h>
#include <jansson.h>

/* header_make: collective; rank 0 gets a new reference, the others NULL. */
json_t *header_make(struct world *world, choir_device *device);

/* header_add_comm: what only a comm knows. */
void header_add_comm(json_t *header, const struct world *world, choir_comm *comm);

/* header_info_of: what the library's JSON text says, freed; an empty object if it gave none. */
json_t *header_info_of(choir_status st, char *text);

#endif
