/* SPDX-License-Identifier: MIT */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local int my_rank = -1;

void fail_rank(int rank)
{
	my_rank = rank;
}

choir_status failure(choir_status status, const char *format, ...)
{
	char text[1024], who[32] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (my_rank >= 0)
		snprintf(who, sizeof who, "rank %d: ", my_rank);
	/* one call, so that the lines of several ranks do not mix */
	fprintf(stderr, "choir-train: %s%s\n", who, text);
	return status;
}

choir_status fail_cl(const char *call, int rc)
{
	return failure(CHOIR_OPENCL, "%s returned %d", call, rc);
}

choir_status fail_memory(const char *what, size_t bytes)
{
	return failure(CHOIR_NO_MEMORY, "no memory for %s (%zu bytes)", what, bytes);
}

choir_status fail_choir(const char *call, choir_status status)
{
	return failure(status, "%s: %s: %s", call, choir_status_name(status), choir_last_error());
}
