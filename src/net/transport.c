/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "net/messenger_state.h"

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

uint64_t transport_message_bytes(const choir_transport *transport)
{
	const choir_transport_ops *ops = transport != NULL ? transport->ops : NULL;

	return ops != NULL && ops->struct_size >= END_OF_OP(message_bytes) ? ops->message_bytes : 0;
}
