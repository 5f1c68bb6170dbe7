/* SPDX-License-Identifier: MIT */
#include "cores.h"

#include "lib/number.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct cores cores_mine(void)
{
	struct cores mine = { .host = "" };

	gethostname(mine.host, sizeof mine.host - 1);
	sched_getaffinity(0, sizeof mine.may, &mine.may);
	mine.online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	return mine;
}

/* The first hyperthread of each core; all cpus if hwloc cannot tell. */
static cpu_set_t first_siblings(void)
{
	hwloc_topology_t topology;
	hwloc_obj_t core = NULL;
	cpu_set_t first;

	memset(&first, 0xff, sizeof first);
	if (hwloc_topology_init(&topology) != 0)
		return first;
	hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (hwloc_topology_load(topology) == 0)
		while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL)
			for (int cpu = hwloc_bitmap_next(core->cpuset, hwloc_bitmap_first(core->cpuset)); cpu >= 0;
			     cpu = hwloc_bitmap_next(core->cpuset, cpu))
				CPU_CLR(cpu, &first);
	hwloc_topology_destroy(topology);
	return first;
}

void cores_pin(int rank, int n)
{
	struct cores mine = cores_mine();
	cpu_set_t first;
	int k = 0;

	if (CPU_COUNT(&mine.may) < n)
		return;
	first = first_siblings();
	for (int pass = 0; pass < 2; pass++)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &mine.may) && (CPU_ISSET(cpu, &first) != 0) == (pass == 0) && k++ == rank) {
				CPU_ZERO(&mine.may);
				CPU_SET(cpu, &mine.may);
				sched_setaffinity(0, sizeof mine.may, &mine.may);
				return;
			}
}

/* How many ranks run on rank's host, and on how many cores together. */
static void count_host(const struct cores *ranks, int n, int rank, int *n_ranks_p, int *n_cores_p)
{
	cpu_set_t all;

	CPU_ZERO(&all);
	*n_ranks_p = 0;
	for (int r = 0; r < n; r++)
		if (strcmp(ranks[r].host, ranks[rank].host) == 0) {
			CPU_OR(&all, &all, &ranks[r].may);
			++*n_ranks_p;
		}
	*n_cores_p = CPU_COUNT(&all);
}

static bool may_share(const struct cores *a, const struct cores *b)
{
	cpu_set_t both;

	CPU_AND(&both, &a->may, &b->may);
	return CPU_COUNT(&both) > 0 && strcmp(a->host, b->host) == 0;
}

/* n_ranks of a host's n_cores, which may be fewer than the host has: then binding is the cure. */
static void say_crowded(const char *host, int n_ranks, int n_cores, int most_cores, int n,
                        char text[CORES_WARNING_BYTES])
{
	int at =
	    snprintf(text, CORES_WARNING_BYTES, "%d ranks share %d core%s of %s: times include waiting for a core; ",
	             n_ranks, n_cores, number_plural(n_cores), host);

	if (most_cores >= n_ranks)
		snprintf(text + at, (size_t)(CORES_WARNING_BYTES - at), "bind them, mpiexec -bind-to core -n %d ...",
		         n);
	else
		snprintf(text + at, (size_t)(CORES_WARNING_BYTES - at), "start at most %d", most_cores);
}

bool cores_warning(const struct cores *ranks, int n, char text[CORES_WARNING_BYTES])
{
	int n_ranks, n_cores;

	for (int r = 0; r < n; r++)
		for (int s = r + 1; s < n; s++) {
			if (!may_share(&ranks[r], &ranks[s]))
				continue;
			count_host(ranks, n, r, &n_ranks, &n_cores);
			if (n_ranks > n_cores)
				say_crowded(ranks[r].host, n_ranks, n_cores,
				            ranks[r].online > n_cores ? ranks[r].online : n_cores, n, text);
			else
				snprintf(
				    text, CORES_WARNING_BYTES,
				    "ranks %d and %d may run on one core: bind them, mpiexec -bind-to core -n %d ...",
				    r, s, n);
			return true;
		}
	return false;
}
