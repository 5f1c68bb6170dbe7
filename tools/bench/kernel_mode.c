/* SPDX-License-Identifier: MIT */
#include "kernel_mode.h"

#include "bench/ranks/world.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "choir-bench-kernel"

bool kernel_mode_asked(const struct args *args)
{
	return args->n_collectives > 0 && strcmp(args->collectives[0], "kernel") == 0;
}

/* It lies beside this program. */
int kernel_mode_run(char **argv, bool says)
{
	char path[PATH_MAX + sizeof PROGRAM] = "";
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash = length > 0 ? strrchr(path, '/') : NULL;

	if (slash != NULL) {
		strcpy(slash + 1, PROGRAM);
		execv(path, argv);
	}
	if (says)
		fprintf(stderr, "choir-bench: %s cannot be run: %s\n", path, strerror(errno));
	return EXIT_USAGE;
}
