/* SPDX-License-Identifier: MIT */
/* The caches of this machine. */
#ifndef NODE_CACHE_H
#define NODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cache_shared_bytes: size of the last level that cores share, about; 32 MiB if unknown.  The C library may count all
 * sockets together, so the system's answer is taken if it is less. */
uint64_t cache_shared_bytes(void);

/* cache_is_shared: do all these cores (the bytes of a cpu_set_t) share the last level cache?  True where the system
 * does not say. */
bool cache_is_shared(const unsigned char *cores, size_t bytes);

#endif
