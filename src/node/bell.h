/* SPDX-License-Identifier: MIT */
/* The doorbell: one word a process, in shared memory, on which every sleeping thread of the process waits (futex).
 * Peers of the node ring it when they publish; callbacks and submitters of the process itself ring it too. */
#ifndef NODE_BELL_H
#define NODE_BELL_H

#include <choir/types.h>
#include <stdint.h>

struct bell; /* a mapped bell word: my process's or a peer's */

/* What a peer needs to map this process's bell; sent through the bootstrap. */
struct bell_address {
	int64_t pid;
	int32_t fd;
	uint32_t unused;
	uint64_t nonce;
};

/* bell_mine: this process's bell, made at first use (thread-safe) and never unmapped; a forked child gets one of its
 * own.  NULL only if the process has no memory or descriptor left; bell_mine_address fills the address, or fails with
 * NO_MEMORY. */
struct bell *bell_mine(void);
choir_status bell_mine_address(struct bell_address *out);

/* bell_open: the bell of a process of this machine and user (its own included); reference counted per pid + nonce.
 * Fails with TRANSPORT if it cannot be mapped. */
choir_status bell_open(const struct bell_address *address, struct bell **out_p);
void bell_close(struct bell *bell); /* NULL and bell_mine() are silent */

/* bell_ring: wakes the sleepers if there are any: a full fence and a load when nobody sleeps.  Async-signal-safe, any
 * thread. */
void bell_ring(struct bell *bell);

/* Sleeping, in this order:  seen = bell_arm(bell);  look once more for work;  bell_sleep(bell, seen, timeout_us) or
 * bell_disarm(bell). bell_sleep returns when rung since bell_arm, after the timeout (negative: none), or for no reason;
 * it disarms. */
uint32_t bell_arm(struct bell *bell);
void bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us);
void bell_disarm(struct bell *bell);

#endif
