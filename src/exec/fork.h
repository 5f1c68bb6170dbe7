/* SPDX-License-Identifier: MIT */
/* A forked child has none of the parent's threads, and must not touch the parent's comms, whose arenas it shares. */
#ifndef EXEC_FORK_H
#define EXEC_FORK_H

/* fork_generation: of this process: another number in each forked child.
 * fork_in_child: fn runs in the children of all later forks, before any other code of them; once for each fn. */
int fork_generation(void);
void fork_in_child(void (*fn)(void));

#endif
