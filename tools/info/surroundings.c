/* SPDX-License-Identifier: MIT */
/* The environment. */
#include "info.h"

#include <stdio.h>
#include <string.h>

extern char **environ;

/* known: the library's own list, as choir_comm_json has it. */
static const char *about(const json_t *known, const char *name)
{
	const json_t *variable;
	size_t i;

	json_array_foreach((json_t *)known, i,
	                   variable) if (strcmp(json_string_value(json_object_get(variable, "name")), name) ==
	                                 0) return json_string_value(json_object_get(variable, "about"));
	if (strncmp(name, "CHOIR_TRAIN_", 12) == 0)
		return "choir-train's own";
	return "choir does not know this one: misspelt?";
}

json_t *info_environment(void)
{
	json_t *all = json_object(), *comm = info_comm_host();
	const json_t *known = json_object_get(comm, "environment");

	for (char **entry = environ; *entry != NULL; entry++) {
		const char *equals = strchr(*entry, '=');
		char name[128];

		if (strncmp(*entry, "CHOIR_", 6) != 0 || equals == NULL)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
		json_object_set_new(all, name,
		                    json_pack("{s:s, s:s}", "value", equals + 1, "about", about(known, name)));
	}
	json_decref(comm);
	return all;
}
