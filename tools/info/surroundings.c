/* SPDX-License-Identifier: MIT */
/* The environment. */
#include "info.h"

#include <stdio.h>
#include <string.h>

extern char **environ;

/* Its entry in the library's own list, as choir_comm_json has it; NULL: it has none. */
static const json_t *find(const json_t *known, const char *name)
{
	const json_t *variable;
	size_t i;

	json_array_foreach((json_t *)known, i,
	                   variable) if (strcmp(json_string_value(json_object_get(variable, "name")), name) ==
	                                 0) return variable;
	return NULL;
}

/* The library's list says what may be shown. */
static json_t *entry_of(const json_t *known, const char *name, const char *value)
{
	const json_t *variable = find(known, name);
	const char *about = known != NULL ? "choir does not know this one: misspelt?" : "the list of them is not here";
	json_t *shown;

	if (variable != NULL && json_is_string(json_object_get(variable, "value")))
		return json_pack("{s:O, s:O}", "value", json_object_get(variable, "value"), "about",
		                 json_object_get(variable, "about"));
	if (variable != NULL)
		about = json_string_value(json_object_get(variable, "about"));
	shown = json_string(strcmp(name, "CHOIR_SECRET") == 0 ? "(set)" : value);
	return json_pack("{s:o, s:s}", "value", shown != NULL ? shown : json_string("(no UTF-8)"), "about", about);
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
		json_object_set_new(all, name, entry_of(known, name, equals + 1));
	}
	json_decref(comm);
	return all;
}
