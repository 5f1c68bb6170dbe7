/* SPDX-License-Identifier: MIT */
/* MPI as this process finds it. */
#include "info.h"

#include <choir/mpi.h>
#include <string.h>

enum { DEADLINE_MS = 60000 };

static const char *level_name(int level)
{
	if (level == MPI_THREAD_SINGLE)
		return "MPI_THREAD_SINGLE";
	if (level == MPI_THREAD_FUNNELED)
		return "MPI_THREAD_FUNNELED";
	return level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_MULTIPLE";
}

json_t *info_mpi(void)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length, level;
	json_t *lines = json_array();

	MPI_Get_library_version(library, &length);
	for (char *rest = NULL, *line = strtok_r(library, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		for (char *c = line; *c != '\0'; c++)
			*c = *c == '\t' ? ' ' : *c;
		json_array_append_new(lines, json_string(line));
	}
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) {
		json_decref(lines);
		return json_pack("{s:s}", "error", "MPI_Init_thread failed");
	}
	return json_pack("{s:o, s:s}", "library", lines, "thread_level", level_name(level));
}

json_t *info_job(bool *speaks_p)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device;
	choir_comm *comm;
	choir_status st;
	char *text = NULL;
	json_t *object;

	config.deadline_ms = DEADLINE_MS;
	if (choir_device_create_host(&device) != CHOIR_SUCCESS)
		return info_object(CHOIR_NO_MEMORY, NULL);
	st = choir_comm_create_world(1, &device, &config, &comm);
	if (st == CHOIR_SUCCESS) {
		*speaks_p = choir_comm_rank(comm) == 0;
		st = choir_comm_json(comm, &text);
		object = info_object(st, text);
		choir_comm_destroy(comm);
	} else {
		object = info_object(st, NULL);
	}
	choir_device_destroy(device);
	return object;
}

void info_mpi_done(void)
{
	int is_up;

	MPI_Initialized(&is_up);
	if (is_up)
		MPI_Finalize();
}
