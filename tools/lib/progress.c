/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* When the program last said something; 0: not yet. */
static int64_t last_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void progress_show(const char *format, ...)
{
	char text[PROGRESS_COLUMNS + 1];
	int64_t now = now_ns();
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r\033[K%s", text);
		return;
	}
	if (last_ns == 0)
		last_ns = now;
	if (now - last_ns < PROGRESS_SILENT_S * INT64_C(1000000000))
		return;
	fprintf(stderr, "%s\n", text);
	last_ns = now;
}

void progress_clear(void)
{
	last_ns = now_ns();
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}
