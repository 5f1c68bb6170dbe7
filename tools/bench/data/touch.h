/* SPDX-License-Identifier: MIT */
/* What a program does with its data between two calls, as the caches see it: lines it wrote are its core's alone, lines
 * it read are there. */
#ifndef BENCH_TOUCH_H
#define BENCH_TOUCH_H

#include <stddef.h>

enum { TOUCH_LINE = 64 };

/* touch_written: every line is written, and holds what it held. */
static inline void touch_written(void *at, size_t bytes)
{
	for (volatile char *p = at, *end = p + bytes; p < end; p += TOUCH_LINE)
		*p = *p;
}

static inline void touch_read(const void *at, size_t bytes)
{
	for (const volatile char *p = at, *end = p + bytes; p < end; p += TOUCH_LINE)
		(void)*p;
}

#endif
