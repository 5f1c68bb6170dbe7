/* SPDX-License-Identifier: MIT */
/* Which ranks are a node: those whose processes can map one arena, as far as the caller's layout allows. */
#ifndef API_NODES_H
#define API_NODES_H

#include "api/bootstrap.h"

/* nodes_make: the layout, the nodes' arenas, and what the processes of this machine share; once more where a process
 * could not map its node's arena.  Gathers.  ready: the status of all work before.  own, failed: room, [n_processes],
 * zero.
 * nodes_drop: gives the arenas back. */
choir_status nodes_make(struct bootstrap *bootstrap, choir_status ready, unsigned char *own, unsigned char *failed);
void nodes_drop(struct bootstrap *bootstrap);

/* nodes_are_far: do the cores of these processes of this machine share no cache? */
bool nodes_are_far(const struct bootstrap *bootstrap, int process, int other);

#endif
