/* SPDX-License-Identifier: MIT */
/* The counts of all ranks of a comm in an alltoallv: Note [agreed counts] in alltoallv_call.c. */
#ifndef API_COUNTS_H
#define API_COUNTS_H

#include "exec/comm.h"
#include "exec/segments.h"

struct counts {
	struct segments_owner owner; /* first: a prepared call holds it */
	uint64_t hash;               /* of all that follows; not 0 */
	uint64_t mean;               /* bytes of a block */
	uint64_t *off;               /* [n][n] where the blocks lie in the sender's SEND */
	uint64_t matrix[];           /* [n][n] bytes, row = sender */
};

/* counts_create: a copy of the matrix, with the offsets behind it; one reference.  NULL without memory, or if no byte
 * moves. */
struct counts *counts_create(const struct choir_comm *comm, const uint64_t *matrix);

/* counts_mean: bytes of a block of [n][n].  Rules see it: of equal blocks it is a block of an alltoall. */
uint64_t counts_mean(const uint64_t *matrix, size_t n);

/* counts_may_differ: do the ranks of that algorithm wait for all others, and compare records, before they read? */
bool counts_may_differ(const struct choir_comm *comm, const char *algorithm);

/* counts_are_mine: does my rank send these bytes [n] from there, and expect those? */
bool counts_are_mine(const struct counts *counts, const struct choir_comm *comm, const uint64_t *sent,
                     const uint64_t *off, const uint64_t *expected);

#endif
