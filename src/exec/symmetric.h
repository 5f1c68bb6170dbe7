/* SPDX-License-Identifier: MIT */
/* Which of a rank's buffers its node can reach, and where those of the others are for me: the ground of the direct algorithms.
 *
 * Symmetric memory is an arena of its own whose slots belong to the caller, one a rank.  Ranks that are threads of one process reach each other's buffers anyway. */
#ifndef EXEC_SYMMETRIC_H
#define EXEC_SYMMETRIC_H

#include "exec/comm.h"

/* symmetric_usual: may direct algorithms be chosen on this comm?  The same on all its ranks, whatever buffers they give. */
bool symmetric_usual(const struct choir_comm *comm);

/* symmetric_place: a number by which the other ranks of the node find that memory; 0 = they cannot. */
uint64_t symmetric_place(const struct choir_comm *comm, const struct dev_access *access);

/* symmetric_find: the address of a peer's place here; NULL for memory of no bytes. */
unsigned char *symmetric_find(const struct choir_comm *comm, uint64_t place);

/* symmetric_add: takes the references to the arena and to the cl_mem over my slot (may be NULL); its number is the lowest free one, so the same on all ranks that
 * add in the same order.  NO_MEMORY if all are taken.  symmetric_begins: does my slot of one begin at ptr?  symmetric_remove: releases that one.
 * symmetric_close: all of them. */
choir_status symmetric_add(struct choir_comm *comm, struct arena *arena, cl_mem mem);
bool symmetric_begins(const struct choir_comm *comm, const void *ptr);
void symmetric_remove(struct choir_comm *comm, const void *ptr);
void symmetric_close(struct choir_comm *comm);

#endif
