/* SPDX-License-Identifier: MIT */
/* "trace=1": the last commands that moved bytes or computed, a line each at the end of the process. */
#include "model.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 1 << 14 };

static struct {
	const char *what;
	size_t bytes;
	cl_ulong times[4]; /* enqueued, flushed, start, end */
	int64_t shown_ns;
} kept[KEPT];
static size_t n;

void trace_add(const struct command *command)
{
	size_t i = n++ % KEPT;

	kept[i].what = command->what;
	kept[i].bytes = command->bytes;
	memcpy(kept[i].times, command->event->times, sizeof kept[i].times);
	kept[i].shown_ns = now_ns();
}

static double us_of(cl_ulong ns)
{
	return (double)ns / 1000;
}

void trace_print(void)
{
	for (size_t i = n > KEPT ? n - KEPT : 0; i < n; i++)
		fprintf(stderr, "gpu model: trace: process %ld: %s of %zu bytes: %.1f %.1f %.1f %.1f %.1f us\n",
		        (long)getpid(), kept[i % KEPT].what, kept[i % KEPT].bytes, us_of(kept[i % KEPT].times[0]),
		        us_of(kept[i % KEPT].times[1]), us_of(kept[i % KEPT].times[2]), us_of(kept[i % KEPT].times[3]),
		        us_of((cl_ulong)kept[i % KEPT].shown_ns));
}
