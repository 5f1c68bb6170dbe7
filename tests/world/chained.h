/* SPDX-License-Identifier: MIT */
/* A recorded sequence whose calls read what the ones before them wrote. */
#ifndef TESTS_CHAINED_H
#define TESTS_CHAINED_H

#include "world/world.h"

/* chained: on this rank; started several times, blocking and with an event. */
void chained(struct world *world, int rank, choir_comm *comm, void *unused);

#endif
