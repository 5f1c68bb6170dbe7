/* SPDX-License-Identifier: MIT */
#include "tune_run.h"

#include "tune.h"
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int write_rules(const struct run *run)
{
	const char *path = run->args->tune_path;
	FILE *to = path != NULL ? fopen(path, "w") : stdout;
	char device[160] = "";
	struct tune_place place = { .ranks = run->world->size, .nodes = choir_comm_nodes(run->comm), .device = device,
				    .iterations = run->args->iterations };
	bool written = to != NULL;

	clGetDeviceInfo(choir_device_id(run->device), CL_DEVICE_NAME, sizeof device - 1, device, NULL);
	if (to != NULL) {
		tune_write(to, &run->results, &place);
		written = !ferror(to) && (to == stdout ? fflush(to) : fclose(to)) == 0;
	}
	if (written)
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: %s cannot be written: %s\n", path != NULL ? path : "standard output", strerror(errno));
	return EXIT_USAGE;
}

int tune_run(struct run *run)
{
	const struct args *given = run->args;
	struct args args = *given;
	bool one_node = choir_comm_nodes(run->comm) == 1;
	int status = EXIT_FINE;

	run->args = &args;
	args.memory = MEMORY_SYMMETRIC;
	if (one_node)
		status = run_all(run);
	args.memory = given->memory == MEMORY_SYMMETRIC ? MEMORY_HOST : given->memory;
	if (status == EXIT_FINE)
		status = run_all(run);
	run->args = given;
	if (status == EXIT_FINE && run->world->rank == 0)
		status = write_rules(run);
	return status;
}
