/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <choir/transport.h>
#include <stdarg.h>
#include <stdio.h>

choir_status choir_transport_error(choir_status status, const char *format, ...)
{
	char text[ERROR_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return error_set(status, "%s", text);
}
