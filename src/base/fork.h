/* SPDX-License-Identifier: MIT */
/* A forked child has none of the parent's threads, and must not touch the parent's comms, whose arenas it shares, nor
 * its OpenCL objects, whose driver lacks its threads. */
#ifndef BASE_FORK_H
#define BASE_FORK_H

#include <stdatomic.h>

extern _Atomic int fork_count;

/* fork_watch: forks are counted from now on.
 * fork_generation: of this process: another number in each forked child.
 * fork_in_child: fn runs in the children of all later forks, before any other code of them.  The same fn again is
 * silent; it may run twice. */
void fork_watch(void);
static inline int fork_generation(void)
{
	return atomic_load_explicit(&fork_count, memory_order_relaxed);
}
void fork_in_child(void (*fn)(void));

#endif
