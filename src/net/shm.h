/* SPDX-License-Identifier: MIT */
/* The shared-memory transport: messages between the processes of one node without MPI.  Each ordered pair has a ring
 * (base/ring.h) in memory that the caller provides, mapped by all processes.  A ring takes memory from its first
 * message on: the pairs of many processes are many, and most send none. */
#ifndef NET_SHM_H
#define NET_SHM_H

#include <choir/transport.h>
#include <stdint.h>

/* shm_bytes: the size of the memory for n endpoints, with ring_bytes of room for each ordered pair: a power of two, at
 * least 256. */
uint64_t shm_bytes(int n, uint64_t ring_bytes);

/* shm_first_bytes: of these, how many at the beginning are accessed before any take. */
uint64_t shm_first_bytes(int n);

/* shm_create: endpoint `rank` of n over the same zero-initialised, 64-byte aligned memory in every process.
 * take(ctx, off, bytes) allocates this part of the memory, which nothing has accessed before; its failure is that of
 * the send.  NULL: all of it is there.  wake(ctx, peer) is called after a write to the peer or a read from it, and
 * wakes it.  release(ctx) is called at destroy, when memory is not used any more, and not if this call fails.
 * ARGUMENT, NO_MEMORY. */
choir_status shm_create(void *memory, int rank, int n, uint64_t ring_bytes,
                        choir_status (*take)(void *ctx, uint64_t off, uint64_t bytes),
                        void (*wake)(void *ctx, int peer), void (*release)(void *ctx), void *ctx,
                        choir_transport **out_p);

#endif
