/* SPDX-License-Identifier: MIT */
/* The caches of this machine. */
#ifndef NODE_CACHE_H
#define NODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cache_shared_bytes: the size of the last-level cache that cores share, about; 32 MiB if unknown.  It is the lesser of
 * the C library's answer, which may add up all sockets, and sysfs's. */
uint64_t cache_shared_bytes(void);

/* cache_core_bytes: the size of the second-level cache, which most CPUs have for each core; 0 if unknown. */
uint64_t cache_core_bytes(void);

/* cache_is_shared: true if all these cores (the bytes of a cpu_set_t) share the last-level cache, or if that is
 * unknown. */
bool cache_is_shared(const unsigned char *cores, size_t bytes);

#endif
