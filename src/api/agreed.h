/* SPDX-License-Identifier: MIT */
/* The counts of the last alltoallv of a comm: Note [agreed counts] in alltoallv_call.c. */
#ifndef API_AGREED_H
#define API_AGREED_H

#include "exec/comm.h"

struct agreed {
	uint64_t hash;     /* of the matrix; not 0 */
	uint64_t mean;     /* bytes of a block */
	uint64_t *off;     /* [n][n] where they lie in the sender's SEND */
	uint64_t matrix[]; /* [n][n] bytes, row = sender */
};

/* agreed_keep: matrix and offsets, one behind the other, are the comm's from now on, if the algorithm is one whose ranks all wait for all before they
 * read. */
void agreed_keep(struct choir_comm *comm, const struct algorithm *algorithm, const uint64_t *matrix);

/* agreed_take: out of the comm, so that nobody else changes it; NULL = there is none.  agreed_give: back, or away if there is a newer one. */
struct agreed *agreed_take(struct choir_comm *comm);
void agreed_give(struct choir_comm *comm, struct agreed *agreed);

/* agreed_is: does my rank send these bytes [n] from there, and expect those? */
bool agreed_is(const struct agreed *agreed, const struct choir_comm *comm, const uint64_t *sent, const uint64_t *off, const uint64_t *expected);

#endif
