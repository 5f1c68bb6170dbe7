/* SPDX-License-Identifier: MIT */
/* The mapped pointer of every cl_mem that was reached directly.  A cl_mem handle is soon reused with another pointer
 * after its memory died, so an entry ends in the memory's destructor callback, which may come after the device is gone:
 * hence the reference count.  Any thread. */
#ifndef DEV_POINTER_CACHE_H
#define DEV_POINTER_CACHE_H

#include "base/error.h"

#include <choir/device.h>

struct pointer_cache;

/* pointer_cache_create: NULL without memory.  pointer_cache_release: the device's reference. */
struct pointer_cache *pointer_cache_create(void);
void pointer_cache_release(struct pointer_cache *cache);

/* pointer_cache_find: the pointer of mem's first byte, NULL if there is none. */
void *pointer_cache_find(struct pointer_cache *cache, cl_mem mem);

/* pointer_cache_add: remembers it until mem dies.  The caller holds mem.  NO_MEMORY, OPENCL (then nothing is
 * remembered). */
choir_status pointer_cache_add(struct pointer_cache *cache, cl_mem mem, void *ptr);

/* pointer_cache_count: live entries, for tests and choir-info. */
size_t pointer_cache_count(struct pointer_cache *cache);

#endif
