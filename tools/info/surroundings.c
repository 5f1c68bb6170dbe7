/* SPDX-License-Identifier: MIT */
/* MPI and the environment. */
#include "info.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

extern char **environ;

static const struct { const char *name, *about; } variables[] = {
	{ "CHOIR_DEVICE", "the device that choir_device_create_default takes: P:D, or a part of a platform's name" },
	{ "CHOIR_CLASS", "how the host reaches cl_mems, instead of what the probe found: direct, map or stage" },
	{ "CHOIR_REDUCE", "where reductions run, instead of the measured choice: host or kernel" },
	{ "CHOIR_RULES", "which algorithm runs when (\"allreduce: 0-16k oneshot; 16k- twoshot\"), or @FILE as choir-bench --tune writes it" },
	{ "CHOIR_DEADLINE_MS", "how long a collective waits for late ranks before it fails" },
	{ "CHOIR_WARN_MS", "after how long the log names a late rank" },
	{ "CHOIR_DETERMINISTIC", "1: the same bits whatever the size, the algorithm or the layout of ranks" },
	{ "CHOIR_CHECK", "full: ranks agree on every call before anything is written" },
};

static const char *about(const char *name)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		if (strcmp(variables[i].name, name) == 0)
			return variables[i].about;
	if (strncmp(name, "CHOIR_TRAIN_", 12) == 0)
		return "choir-train's own";
	return "choir-info does not know this one: misspelt?";
}

json_t *info_environment(void)
{
	json_t *all = json_object();

	for (char **entry = environ; *entry != NULL; entry++) {
		const char *equals = strchr(*entry, '=');
		char name[128];

		if (strncmp(*entry, "CHOIR_", 6) != 0 || equals == NULL)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
		json_object_set_new(all, name, json_pack("{s:s, s:s}", "value", equals + 1, "about", about(name)));
	}
	return all;
}

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
	for (char *rest = NULL, *line = strtok_r(library, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
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

void info_mpi_done(void)
{
	int is_up;

	MPI_Initialized(&is_up);
	if (is_up)
		MPI_Finalize();
}
