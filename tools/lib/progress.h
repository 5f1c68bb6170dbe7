/* SPDX-License-Identifier: MIT */
/* Where a long run is, on standard error: on a terminal one line, else, as under mpiexec, a line when the program has
 * said nothing for some seconds. */
#ifndef LIB_PROGRESS_H
#define LIB_PROGRESS_H

enum { PROGRESS_COLUMNS = 79, PROGRESS_SILENT_S = 3 };

/* progress_show: longer texts are cut at PROGRESS_COLUMNS. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* progress_clear: before the program prints something of its own. */
void progress_clear(void);

#endif
