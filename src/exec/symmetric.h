/* SPDX-License-Identifier: MIT */
/* Which of a rank's buffers its node can reach, and where those of the others are for me: the ground of the direct
 * algorithms.
 *
 * Symmetric memory is a share of each rank of the node, all of the same size: slots of an arena of its own, or memory
 * of the callers' that was registered.  Ranks that are threads of one process reach each other's buffers anyway. */
#ifndef EXEC_SYMMETRIC_H
#define EXEC_SYMMETRIC_H

#include "exec/comm.h"
#include "node/borrow.h"

struct symmetric {
	uint64_t bytes;            /* of each share */
	int n;                     /* ranks of the node */
	unsigned char **shares;    /* [n] where each rank's is here */
	struct arena *arena;       /* whose slots they are, a reference; NULL = registered memory: */
	struct borrow_map *maps;   /* [n] of the others' */
	struct borrow_address own; /* mine */
	cl_mem mem;                /* over my share, or NULL */
	cl_mem pinned;             /* tells the driver of a device with far memory of my share, or NULL */
};

/* symmetric_create: room for the shares of a comm's node.  symmetric_destroy: gives back all it holds; NULL is
 * silent. */
choir_status symmetric_create(const struct choir_comm *comm, uint64_t bytes, struct symmetric **out_p);
void symmetric_destroy(struct symmetric *symmetric);

/* symmetric_allows_direct: may direct algorithms be chosen on this comm?  The same on all its ranks, whatever buffers
 * they give. */
bool symmetric_allows_direct(const struct choir_comm *comm);

/* symmetric_address: a number by which the other ranks of the node find that memory; 0 = they cannot. */
uint64_t symmetric_address(const struct choir_comm *comm, const struct dev_access *access);

/* symmetric_address_of_list: the address of a list of segments (exec/segments.h): those of the segments stand at the
 * beginning of the rank's slot. */
uint64_t symmetric_address_of_list(void);

/* symmetric_address_of_device: the address of the memory that peers copy from the device; 0 = it has none.
 * symmetric_source: the memory at such an address. */
struct run_source;
uint64_t symmetric_address_of_device(const struct run_source *source);
const struct run_source *symmetric_source(uint64_t address);

/* symmetric_find: the pointer here to the memory of that rank of the node with that symmetric address; NULL for memory
 * of no bytes, and for a list. */
unsigned char *symmetric_find(const struct choir_comm *comm, int local_rank, uint64_t address);

/* symmetric_add: the comm's from now on; its number is the lowest free one, so the same on all ranks that add in the
 * same order.  NO_MEMORY if all are taken: then it stays the caller's.  symmetric_of: the one in which my share begins
 * at ptr, NULL if none.  symmetric_remove: destroys that one.  symmetric_close: all of them. */
choir_status symmetric_add(struct choir_comm *comm, struct symmetric *symmetric);
const struct symmetric *symmetric_of(const struct choir_comm *comm, const void *ptr);
void symmetric_remove(struct choir_comm *comm, const void *ptr);
void symmetric_close(struct choir_comm *comm);

#endif
