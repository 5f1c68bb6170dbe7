/* SPDX-License-Identifier: MIT */
/* Persistent calls of the table's rows. */
#ifndef TESTS_SOAK_REQUESTS_H
#define TESTS_SOAK_REQUESTS_H

#include "world/flight.h"

/* soak_can_keep: here is a row for the collective.  soak_run_kept: on this rank, one request of that call, which is
 * not in place, is started so many times; each result is checked, and failures go to the world. */
bool soak_can_keep(const struct collective_row *what);
void soak_run_kept(struct world *world, int rank, choir_comm *comm, const struct dense_call *call, int starts);

#endif
