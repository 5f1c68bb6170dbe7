/* SPDX-License-Identifier: MIT */
/* The shared-memory transport: point-to-point messages between the processes of one node that have no MPI.  One p2p
 * ring (base/ring.h) an ordered pair, in memory that the caller provides (an arena slot), mapped by all. */
#ifndef NET_SHM_H
#define NET_SHM_H

#include <choir/transport.h>
#include <stdint.h>

/* shm_bytes: of the memory for n endpoints, all pairs with ring_bytes each (a power of two, 256 at least). */
uint64_t shm_bytes(int n, uint64_t ring_bytes);

/* shm_create: endpoint `rank` of n over the same zero-initialised memory in every process.  wake(ctx, peer) wakes peer
 * after something was written for it or read from it.  release(ctx) is called at destroy, not on failure here: memory
 * may go.  Messages of any length pass, in pieces of a quarter of the ring.  memory is 64-byte aligned. */
choir_status shm_create(void *memory, int rank, int n, uint64_t ring_bytes, void (*wake)(void *ctx, int peer),
                        void (*release)(void *ctx), void *ctx, choir_transport **out_p);

#endif
