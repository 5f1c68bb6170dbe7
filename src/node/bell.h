/* SPDX-License-Identifier: MIT */
/* The doorbell of a process: a futex word in shared memory, on which its threads sleep.  Peers of the node ring it when
 * they publish; so do OpenCL callbacks and threads of the process that submit calls. */
#ifndef NODE_BELL_H
#define NODE_BELL_H

#include <choir/types.h>
#include <stdbool.h>
#include <stdint.h>

struct bell; /* a mapped bell, of this process or of a peer */

/* The address by which a peer maps this process's bell; the bootstrap exchanges it. */
struct bell_address {
	int64_t process; /* process_id.h */
	int32_t fd;
	uint32_t unused;
	uint64_t nonce;
};

/* bell_mine: this process's bell, made at first use and never unmapped; a forked child makes its own.  Any thread.
 * NULL without memory or descriptors (error set).  bell_mine_address: its address; NO_MEMORY. */
struct bell *bell_mine(void);
choir_status bell_mine_address(struct bell_address *out);

/* bell_open: maps the bell of a process of this machine and user, also of this process; reference counted.  TRANSPORT
 * if it cannot be mapped. */
choir_status bell_open(const struct bell_address *address, struct bell **out_p);
void bell_close(struct bell *bell); /* NULL and bell_mine() are silent */

/* bell_is_orphan: has its process exited?  A system call. */
bool bell_is_orphan(const struct bell *bell);

/* bell_leave_fences_to_ringers: of bell_mine(), for good: sleeping gets cheaper, and ringing dearer by a full fence. */
void bell_leave_fences_to_ringers(struct bell *bell);

/* bell_ring: wakes the process's sleeping threads; without one it costs a full fence and a load.  Async-signal-safe,
 * any thread.  bell_ring_mine: that of bell_mine(); silent where there is none yet, on which no thread can sleep.
 * bell_ring_step: the same for a step of that process: those who await steps of another one sleep on. */
void bell_ring(struct bell *bell);
void bell_ring_mine(void);
void bell_ring_step(struct bell *bell, int64_t process);

/* A thread sleeps in this order: seen = bell_arm(bell, awaited); check once more for work; then bell_sleep(bell, seen,
 * timeout_us) or bell_disarm(bell).  bell_sleep returns when the bell was rung since bell_arm, after the timeout
 * (negative: none), or spuriously; it disarms.  awaited: the process whose steps alone can help, or BELL_ANY. */
enum { BELL_ANY = 0 };
uint32_t bell_arm(struct bell *bell, int64_t awaited);
void bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us);
void bell_disarm(struct bell *bell);

/* bell_fence: of a thread that writes, passes this fence and reads, and one that writes, rings the bell and reads, at
 * least one reads what the other wrote (Note [bell] in bell.c). */
static inline void bell_fence(struct bell *bell)
{
	(void)bell_arm(bell, BELL_ANY);
	bell_disarm(bell);
}

#endif
