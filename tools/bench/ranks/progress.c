/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include "clock.h"

#include <stdio.h>
#include <unistd.h>

#define LINE_AFTER_US 5e6

/* When rank 0 last printed something, a row or a line of progress. */
static double last_us;

void progress_show(const struct world *world, const char *label, int done, int all)
{
	if (world->rank != 0)
		return;
	if (last_us == 0)
		last_us = clock_us();
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r\033[K%s: %d of %d", label, done, all);
	} else if (clock_us() - last_us > LINE_AFTER_US) {
		fprintf(stderr, "%s: %d of %d\n", label, done, all);
		last_us = clock_us();
	}
}

void progress_clear(const struct world *world)
{
	if (world->rank != 0)
		return;
	last_us = clock_us();
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}
