/* SPDX-License-Identifier: MIT */
/* What a long run says on standard error: on a terminal, and in a file with time that the test makes. */
#include "lib/progress.h"

#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool terminal;
static time_t second = 1000;

int __wrap_isatty(int file);
int __wrap_clock_gettime(clockid_t clock, struct timespec *at);

int __wrap_isatty(int file)
{
	assert_int_equal(file, STDERR_FILENO);
	return terminal;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *at)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*at = (struct timespec){ .tv_sec = second };
	return 0;
}

/* What fn wrote; the caller frees it. */
static char *said(void (*fn)(void))
{
	FILE *file = tmpfile();
	int kept = dup(STDERR_FILENO);
	char *text = calloc(1, 4096);

	assert_true(file != NULL && kept >= 0 && text != NULL);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	fn();
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(file);
	(void)!fread(text, 1, 4095, file);
	fclose(file);
	return text;
}

static void ten_seconds(void)
{
	for (int i = 0; i < 10; i++, second++)
		progress_show("%d of 10", i);
}

/* The first second begins the silence; a row that the program prints begins it anew. */
static void a_file_gets_a_line_after_some_silence(void **state)
{
	char *text;

	(void)state;
	terminal = false;
	text = said(ten_seconds);
	assert_string_equal(text, "3 of 10\n6 of 10\n9 of 10\n");
	free(text);
	second += 10;
	progress_clear();
	text = said(ten_seconds);
	assert_string_equal(text, "3 of 10\n6 of 10\n9 of 10\n");
	free(text);
}

static void a_long_text(void)
{
	progress_show("%s",
	              "12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789");
	progress_clear();
}

static void a_terminal_has_one_line(void **state)
{
	char *text;
	const char *line;

	(void)state;
	terminal = true;
	text = said(ten_seconds);
	assert_string_equal(text + strlen(text) - 10, "\033[K9 of 10");
	assert_null(strchr(text, '\n'));
	free(text);
	text = said(a_long_text);
	line = text + strlen("\r\033[K");
	assert_int_equal(strcspn(line, "\r"), PROGRESS_COLUMNS);
	assert_string_equal(strchr(line, '\r'), "\r\033[K");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_file_gets_a_line_after_some_silence),
		                            cmocka_unit_test(a_terminal_has_one_line) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
