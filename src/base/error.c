/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_text[ERROR_TEXT_BYTES];

choir_status error_set(choir_status status, const char *format, ...)
{
	char text[ERROR_TEXT_BYTES]; /* arguments may point into last_text */
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	memcpy(last_text, text, sizeof text);
	return status;
}

choir_status error_prefix(choir_status status, const char *format, ...)
{
	char prefix[ERROR_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(prefix, sizeof prefix, format, args);
	va_end(args);
	return error_set(status, "%s: %s", prefix, last_text);
}

/* Has the text that name in quotes, or no more than so many bytes of it? */
static bool names(const char *text, const char *name, int most)
{
	char quoted[ERROR_TEXT_BYTES];

	snprintf(quoted, sizeof quoted, "'%.*s'", most, name);
	return strstr(text, quoted) != NULL;
}

static bool lacks_name(const char *text, const char *name)
{
	return name != NULL && name[0] != '\0' && !names(text, name, CALL_NAME_BYTES - 1) &&
	       !names(text, name, ERROR_TEXT_BYTES);
}

const char *error_text_named(const char *text, const char *name, char out[ERROR_TEXT_BYTES])
{
	if (!lacks_name(text, name))
		return text;
	snprintf(out, ERROR_TEXT_BYTES, "'%s': %s", name, text);
	return out;
}

choir_status error_named(choir_status status, const char *name)
{
	if (status == CHOIR_SUCCESS || !lacks_name(last_text, name))
		return status;
	return error_prefix(status, "'%s'", name);
}

choir_status error_no_memory(const char *what, size_t bytes)
{
	return error_set(CHOIR_NO_MEMORY, "no memory for %s (%zu bytes)", what, bytes);
}

choir_status error_errno(choir_status status, const char *what)
{
	int saved = errno;
	char reason[128];

	/* %m is thread-safe, strerror is not. */
	errno = saved;
	snprintf(reason, sizeof reason, "%m");
	return error_set(status, "%s: %s", what, reason);
}

const char *error_text(void)
{
	return last_text;
}

const char *choir_last_error(void)
{
	return last_text;
}
