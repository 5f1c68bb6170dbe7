/* SPDX-License-Identifier: MIT */
#ifndef TESTS_WORLD_MEMBERS_H
#define TESTS_WORLD_MEMBERS_H

#include <choir/choir.h>
#include <stdbool.h>
#include <string.h>

/* has_members: are these comm's ranks, by their ranks in its parent?  Collective: comm itself gathers them. */
static inline bool has_members(choir_comm *comm, int parent_rank, const int *wanted, int n)
{
	int all[32];

	if (choir_comm_size(comm) != n ||
	    choir_allgather(comm, choir_host(&parent_rank), choir_host(all), 1, CHOIR_I32, NULL, NULL) != CHOIR_SUCCESS)
		return false;
	return memcmp(all, wanted, (size_t)n * sizeof *all) == 0;
}

#endif
