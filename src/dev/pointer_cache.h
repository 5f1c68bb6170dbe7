/* SPDX-License-Identifier: MIT */
/* The mapped pointer of every cl_mem of class direct, and the cl_mems of other classes in prepared calls.  Drivers
 * reuse the handle of a released cl_mem, so the memory's destructor callback ends its entry; it may run after the
 * device is destroyed, so entries are reference counted.  Any thread. */
#ifndef DEV_POINTER_CACHE_H
#define DEV_POINTER_CACHE_H

#include "base/error.h"

#include <choir/device.h>

struct pointer_cache;

/* pointer_cache_create: NULL without memory.  pointer_cache_release: drops the device's reference; NULL is silent. */
struct pointer_cache *pointer_cache_create(void);
void pointer_cache_release(struct pointer_cache *cache);

/* pointer_cache_find: the pointer of mem's first byte, NULL if there is none. */
void *pointer_cache_find(struct pointer_cache *cache, cl_mem mem);

/* pointer_cache_add: keeps ptr until mem is destroyed, which counts as a death (dev_deaths); ptr NULL: mem has none.
 * The caller holds mem.  NO_MEMORY, OPENCL: nothing is kept. */
choir_status pointer_cache_add(struct pointer_cache *cache, cl_mem mem, void *ptr);

/* pointer_cache_count: live entries, for tests and choir-info. */
size_t pointer_cache_count(struct pointer_cache *cache);

#endif
