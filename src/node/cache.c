/* SPDX-License-Identifier: MIT */
#include "node/cache.h"

#include <stdio.h>
#include <unistd.h>

enum { USUAL_BYTES = 32 << 20 };

/* The size of core 0's cache of that level by sysfs; 0 if unknown.  hwloc would say the same, but it looks at the whole
 * machine first, which takes every process that loads the library longer than all else in making a comm. */
static uint64_t sysfs_bytes(int level)
{
	unsigned long long kib = 0;
	char path[80];
	FILE *file;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%lluK", &kib) != 1 || kib > UINT64_MAX >> 10)
		kib = 0;
	fclose(file);
	return (uint64_t)kib << 10;
}

uint64_t cache_shared_bytes(void)
{
	long all = sysconf(_SC_LEVEL3_CACHE_SIZE);
	uint64_t bytes = all > 0 ? (uint64_t)all : 0, system = sysfs_bytes(3);

	if (system > 0 && (bytes == 0 || system < bytes))
		bytes = system;
	return bytes > 0 ? bytes : USUAL_BYTES;
}

uint64_t cache_core_bytes(void)
{
	long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);

	return bytes > 0 ? (uint64_t)bytes : sysfs_bytes(2);
}

static bool has_core(const unsigned char *cores, size_t bytes, size_t core)
{
	return core / 8 < bytes && (cores[core / 8] >> core % 8 & 1) != 0;
}

static size_t next_core(const unsigned char *cores, size_t bytes, size_t core)
{
	while (core < 8 * bytes && !has_core(cores, bytes, core))
		core++;
	return core;
}

/* True if the kernel's list of cores, such as 0-3,8, contains all cores of the set; also if the list is empty. */
static bool covers(FILE *list, const unsigned char *cores, size_t bytes)
{
	size_t core = next_core(cores, bytes, 0), first, last;
	int separator = ',';

	for (bool any = false; core < 8 * bytes; any = true) {
		if (separator != ',' || fscanf(list, "%zu", &first) != 1)
			return !any;
		last = first;
		separator = fgetc(list);
		if (separator == '-') {
			if (fscanf(list, "%zu", &last) != 1)
				return true;
			separator = fgetc(list);
		}
		while (core >= first && core <= last)
			core = next_core(cores, bytes, core + 1);
		if (core < first)
			return false;
	}
	return true;
}

bool cache_is_shared(const unsigned char *cores, size_t bytes)
{
	char path[80];
	bool shared = true;
	FILE *list;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/cache/index3/shared_cpu_list",
	         next_core(cores, bytes, 0));
	list = fopen(path, "re");
	if (list != NULL) {
		shared = covers(list, cores, bytes);
		fclose(list);
	}
	return shared;
}
