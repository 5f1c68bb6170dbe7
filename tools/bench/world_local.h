/* SPDX-License-Identifier: MIT */
/* The world of threads: what world.c calls where there is no MPI. */
#ifndef BENCH_WORLD_LOCAL_H
#define BENCH_WORLD_LOCAL_H

#include "world.h"

void world_local_barrier(struct world *world);
void world_local_gather(struct world *world, const void *mine, size_t bytes, void *all);

#endif
