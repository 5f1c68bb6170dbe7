/* SPDX-License-Identifier: MIT */
/* Standard output, which may be a full disk. */
#ifndef LIB_OUTPUT_H
#define LIB_OUTPUT_H

#include <stdbool.h>

/* output_written: true if all that was printed is there; else it says so on standard error, for that program. */
bool output_written(const char *program);

#endif
