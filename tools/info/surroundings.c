/* SPDX-License-Identifier: MIT */
/* The environment. */
#include "info.h"

#include <stdio.h>
#include <string.h>

extern char **environ;

static const struct { const char *name, *about;
} variables[] = {
	{ "CHOIR_DEVICE", "the device that choir_device_create_default takes: P:D, or a part of a platform's name" },
	{ "CHOIR_CLASS", "how the host reaches cl_mems, instead of what the probe found: direct, map or stage" },
	{ "CHOIR_REDUCE", "where reductions run, instead of the measured choice: host or kernel" },
	{ "CHOIR_LOG", "error, warn, info or debug: what is logged to standard error, or to a file by LEVEL:FILE" },
	{ "CHOIR_RULES", "which algorithm runs when (\"allreduce: 0-16k oneshot; 16k- twoshot\"), or @FILE as "
	                 "choir-bench --tune writes it" },
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
