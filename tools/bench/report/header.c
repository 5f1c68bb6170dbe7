/* SPDX-License-Identifier: MIT */
#include "header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { NAME_BYTES = 160 };

static const char *level_name(int level)
{
	switch (level) {
	case MPI_THREAD_SINGLE:
		return "MPI_THREAD_SINGLE";
	case MPI_THREAD_FUNNELED:
		return "MPI_THREAD_FUNNELED";
	case MPI_THREAD_SERIALIZED:
		return "MPI_THREAD_SERIALIZED";
	default:
		return "MPI_THREAD_MULTIPLE";
	}
}

/* MPICH tells its whole configuration over many lines: the first names it. */
static json_t *mpi_of(const struct world *world)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length, level = MPI_THREAD_SINGLE;

	if (!world->has_mpi)
		return json_null();
	MPI_Get_library_version(library, &length);
	MPI_Query_thread(&level);
	library[strcspn(library, "\n")] = '\0';
	for (char *c = library; *c != '\0'; c++)
		if (*c == '\t')
			*c = ' ';
	return json_pack("{s:s, s:s}", "library", library, "thread_level", level_name(level));
}

static json_t *environment(void)
{
	json_t *all = json_object();

	for (char **entry = environ; *entry != NULL; entry++) {
		const char *equals = strchr(*entry, '=');
		char name[NAME_BYTES];

		if (strncmp(*entry, "CHOIR_", 6) != 0 || equals == NULL)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
		json_object_set_new(all, name, json_string(equals + 1));
	}
	return all;
}

static void device_text(choir_device *device, cl_device_info what, char text[NAME_BYTES])
{
	char full[1024] = "";

	clGetDeviceInfo(choir_device_id(device), what, sizeof full - 1, full, NULL);
	snprintf(text, NAME_BYTES, "%s", full);
}

static void driver_text(choir_device *device, char text[NAME_BYTES])
{
	char platform_name[64] = "", driver[NAME_BYTES];
	cl_platform_id platform = NULL;

	device_text(device, CL_DRIVER_VERSION, driver);
	clGetDeviceInfo(choir_device_id(device), CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
	clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL);
	snprintf(text, NAME_BYTES, "%s, driver %.80s", platform_name, driver);
}

json_t *header_info_of(choir_status st, char *text)
{
	json_t *info = st == CHOIR_SUCCESS ? json_loads(text, 0, NULL) : NULL;

	if (st == CHOIR_SUCCESS)
		free(text);
	return info != NULL ? info : json_object();
}

static json_t *device_info(choir_device *device)
{
	char *text = NULL;
	choir_status st = choir_device_json(device, &text);

	return header_info_of(st, text);
}

/* Every rank's device with its platform, since a world may mix them. */
static json_t *devices_of(struct world *world, choir_device *device)
{
	char mine[2 * NAME_BYTES + 4], name[NAME_BYTES], driver[NAME_BYTES],
	    *all = malloc((size_t)world->size * sizeof mine);
	json_t *list = json_array();

	if (all == NULL)
		world_fail(world, EXIT_WRONG);
	memset(mine, 0, sizeof mine);
	device_text(device, CL_DEVICE_NAME, name);
	driver_text(device, driver);
	snprintf(mine, sizeof mine, "%s (%s)", name, driver);
	world_gather(world, mine, sizeof mine, all);
	for (int r = 0; r < world->size; r++)
		json_array_append_new(list, json_string(all + (size_t)r * sizeof mine));
	free(all);
	return list;
}

json_t *header_make(struct world *world, choir_device *device)
{
	json_t *header = json_object();
	char text[NAME_BYTES];

	json_object_set_new(header, "choir", json_string(choir_version()));
	json_object_set_new(header, "ranks", json_integer(world->size));
	device_text(device, CL_DEVICE_NAME, text);
	json_object_set_new(header, "device", json_string(text));
	driver_text(device, text);
	json_object_set_new(header, "driver", json_string(text));
	json_object_set_new(header, "buffer_class", json_string(choir_memory_class_name(choir_device_class(device))));
	json_object_set_new(header, "devices", devices_of(world, device));
	json_object_set_new(header, "mpi", mpi_of(world));
	json_object_set_new(header, "environment", environment());
	json_object_set_new(header, "device_info", device_info(device));
	if (world->rank == 0)
		return header;
	json_decref(header);
	return NULL;
}
