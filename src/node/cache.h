/* SPDX-License-Identifier: MIT */
/* The caches of this machine, which hwloc knows.  A NULL topology is one that hwloc cannot tell. */
#ifndef NODE_CACHE_H
#define NODE_CACHE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct hwloc_topology;

/* cache_machine: this machine's topology, loaded once a process; NULL if hwloc cannot.  Not to be destroyed; any
 * thread. */
struct hwloc_topology *cache_machine(void);

/* cache_shared_bytes: the size of the last-level cache that cores share; without a topology the C library's answer,
 * which may add up all sockets; 32 MiB if unknown. */
uint64_t cache_shared_bytes(struct hwloc_topology *topology);

/* cache_core_bytes: the size of the second-level cache, which most CPUs have for each core; 0 if unknown. */
uint64_t cache_core_bytes(struct hwloc_topology *topology);

/* cache_is_shared: true if all these cores share the last-level cache, or if that is unknown. */
bool cache_is_shared(struct hwloc_topology *topology, const cpu_set_t *cores);

#endif
