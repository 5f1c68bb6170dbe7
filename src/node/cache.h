/* SPDX-License-Identifier: MIT */
/* The caches of this machine. */
#ifndef NODE_CACHE_H
#define NODE_CACHE_H

#include <stdint.h>

/* cache_shared_bytes: of the last level that cores share, about; 32 MiB where nobody knows.  The C library's answer may be that of all sockets together, so the system's is
 * taken if it is less. */
uint64_t cache_shared_bytes(void);

#endif
