/* SPDX-License-Identifier: MIT */
/* bench-schema docs/bench.md COMMAND...: runs the command, whose standard output must be a JSON as documented.  Its
 * exit status, or 1. */
#include "schema.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	struct schema *schema = argc > 2 ? schema_load(argv[1]) : NULL;
	char command[4096] = "";
	json_error_t error;
	FILE *output;
	json_t *run;
	int wrong, status;

	if (schema == NULL)
		return 2;
	for (int i = 2; i < argc; i++) {
		strncat(command, argv[i], sizeof command - strlen(command) - 2);
		strcat(command, " ");
	}
	output = popen(command, "r");
	run = output != NULL ? json_loadf(output, 0, &error) : NULL;
	status = output != NULL ? pclose(output) : -1;
	if (run == NULL || !WIFEXITED(status)) {
		fprintf(stderr, "%s: no JSON, wait status %d\n", command, status);
		json_decref(run);
		schema_destroy(schema);
		return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
	}
	wrong = schema_check(schema, run);
	if (json_array_size(json_object_get(run, "results")) == 0)
		wrong++;
	json_decref(run);
	schema_destroy(schema);
	return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : wrong != 0;
}
