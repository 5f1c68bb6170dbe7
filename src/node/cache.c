/* SPDX-License-Identifier: MIT */
#include "node/cache.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <pthread.h>
#include <unistd.h>

enum { USUAL_BYTES = 32 << 20 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static hwloc_topology_t machine;

/* Caches only, of the whole machine, since other processes may run on cores that this one may not.  Component x86 would
 * bind the thread to each core in turn. */
static int choose_parts(hwloc_topology_t topology)
{
	hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L2CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
	return hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
}

static void load(void)
{
	if (hwloc_topology_init(&machine) != 0) {
		machine = NULL;
	} else if (choose_parts(machine) != 0 || hwloc_topology_load(machine) != 0) {
		hwloc_topology_destroy(machine);
		machine = NULL;
	}
}

struct hwloc_topology *cache_machine(void)
{
	pthread_once(&once, load);
	return machine;
}

static uint64_t bytes_of(hwloc_topology_t topology, hwloc_obj_type_t level)
{
	hwloc_obj_t cache = topology != NULL ? hwloc_get_obj_by_type(topology, level, 0) : NULL;

	return cache != NULL ? cache->attr->cache.size : 0;
}

uint64_t cache_shared_bytes(struct hwloc_topology *topology)
{
	uint64_t bytes = bytes_of(topology, HWLOC_OBJ_L3CACHE);
	long all = sysconf(_SC_LEVEL3_CACHE_SIZE);

	if (bytes == 0 && all > 0)
		bytes = (uint64_t)all;
	return bytes > 0 ? bytes : USUAL_BYTES;
}

uint64_t cache_core_bytes(struct hwloc_topology *topology)
{
	uint64_t bytes = bytes_of(topology, HWLOC_OBJ_L2CACHE);
	long core = sysconf(_SC_LEVEL2_CACHE_SIZE);

	return bytes == 0 && core > 0 ? (uint64_t)core : bytes;
}

bool cache_is_shared(struct hwloc_topology *topology, const cpu_set_t *cores)
{
	hwloc_bitmap_t set;
	bool shared;

	if (topology == NULL || hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE) == 0)
		return true;
	set = hwloc_bitmap_alloc();
	if (set == NULL)
		return true;
	shared = hwloc_cpuset_from_glibc_sched_affinity(topology, set, cores, sizeof *cores) != 0 ||
	         hwloc_bitmap_iszero(set) || hwloc_get_cache_covering_cpuset(topology, set) != NULL;
	hwloc_bitmap_free(set);
	return shared;
}
