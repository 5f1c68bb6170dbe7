/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static choir_log_fn sink;
static void *sink_ctx;

void choir_set_log(choir_log_fn fn, void *ctx)
{
	pthread_mutex_lock(&sink_lock);
	sink = fn;
	sink_ctx = ctx;
	pthread_mutex_unlock(&sink_lock);
}

void log_text(enum log_level level, const char *format, ...)
{
	char text[1024];
	va_list args;

	pthread_mutex_lock(&sink_lock);
	if (sink != NULL) {
		va_start(args, format);
		vsnprintf(text, sizeof text, format, args);
		va_end(args);
		sink(sink_ctx, level, text); /* under the lock, so that no line comes after choir_set_log(NULL) returned */
	}
	pthread_mutex_unlock(&sink_lock);
}
