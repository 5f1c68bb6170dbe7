/* SPDX-License-Identifier: MIT */
/* Design notes.  A line goes to the caller's function, or if there is none to the file that CHOIR_LOG names.  It is
 * written there by one write(2), so that the lines of several processes do not mix. */
#include "base/log.h"

#include "base/fork_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024, LINE_BYTES = TEXT_BYTES + 64, NOTHING = -1 };

static const char *const level_names[] = {
	[LOG_ERROR] = "error", [LOG_WARNING] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"
};

FORK_LOCK(sink_lock)
static choir_log_fn sink;
static void *sink_ctx;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int own_level = NOTHING, own_fd = STDERR_FILENO;
_Atomic bool log_calls_wanted;

/* With the lock held, or from the only thread that can reach it. */
static void write_line(const char *level, const char *text)
{
	char line[LINE_BYTES];
	int bytes = snprintf(line, sizeof line, "choir %ld %s: %s\n", (long)getpid(), level, text);

	if (bytes > 0 && write(own_fd, line, (size_t)bytes < sizeof line ? (size_t)bytes : sizeof line - 1) < 0)
		return; /* an error of the log cannot be logged */
}

/* CHOIR_LOG is LEVEL or LEVEL:FILE. */
static void read_environment(void)
{
	const char *text = getenv("CHOIR_LOG"), *colon = text != NULL ? strchr(text, ':') : NULL;
	size_t bytes = colon != NULL ? (size_t)(colon - text) : text != NULL ? strlen(text) : 0;

	if (bytes == 0)
		return;
	for (int level = LOG_ERROR; level <= LOG_DEBUG; level++)
		if (strncmp(text, level_names[level], bytes) == 0 && strlen(level_names[level]) == bytes)
			own_level = level;
	if (own_level == NOTHING) {
		write_line("warn", "CHOIR_LOG is not error, warn, info or debug, with or without :FILE");
		return;
	}
	if (colon != NULL && colon[1] != '\0') {
		int fd = open(colon + 1, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

		if (fd >= 0)
			own_fd = fd;
		else
			write_line("warn", "the file of CHOIR_LOG cannot be opened; the log goes to standard error");
	}
	atomic_store(&log_calls_wanted, own_level == LOG_DEBUG);
}

void log_start(void)
{
	pthread_once(&once, read_environment);
}

void choir_set_log(choir_log_fn fn, void *ctx)
{
	log_start();
	pthread_mutex_lock(&sink_lock);
	sink = fn;
	sink_ctx = ctx;
	pthread_mutex_unlock(&sink_lock);
}

void log_text(enum log_level level, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	log_start();
	pthread_mutex_lock(&sink_lock);
	if (sink != NULL || (int)level <= own_level) {
		va_start(args, format);
		vsnprintf(text, sizeof text, format, args);
		va_end(args);
		if (sink != NULL)
			sink(sink_ctx, level, text); /* locked: no line comes after choir_set_log(NULL) returns */
		else
			write_line(level_names[level], text);
	}
	pthread_mutex_unlock(&sink_lock);
}
