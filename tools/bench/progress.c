/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

static bool shown(const struct world *world)
{
	return world->rank == 0 && isatty(STDERR_FILENO);
}

void progress_show(const struct world *world, const char *label, int done, int all)
{
	if (shown(world))
		fprintf(stderr, "\r\033[K%s: %d of %d", label, done, all);
}

void progress_clear(const struct world *world)
{
	if (shown(world))
		fputs("\r\033[K", stderr);
}
