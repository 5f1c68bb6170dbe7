/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool output_written(const char *program)
{
	bool failed_before = ferror(stdout) != 0;

	if (fflush(stdout) == 0 && !failed_before)
		return true;
	fprintf(stderr, "%s: standard output cannot be written: %s\n", program, strerror(errno));
	return false;
}
