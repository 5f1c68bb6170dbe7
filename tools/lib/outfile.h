/* SPDX-License-Identifier: MIT */
/* The files that a tool writes at its end.  They are tried first: hours of measuring must not end in a path that cannot
 * be written. */
#ifndef LIB_OUTFILE_H
#define LIB_OUTFILE_H

#include <jansson.h>
#include <stdbool.h>

enum { OUTFILE_ERROR_BYTES = 512 };

/* outfile_ready: whether path can be written; what stands there stays.  NULL and "-" always can. outfile_ready_to_draw:
 * and ends in .svg or .png. false: the sentence is in error. */
bool outfile_ready(const char *path, char error[OUTFILE_ERROR_BYTES]);
bool outfile_ready_to_draw(const char *path, char error[OUTFILE_ERROR_BYTES]);

/* outfile_draw: a run's JSON as a picture, by choir-plot, which stands beside the program or in ../plot. */
bool outfile_draw(const char *path, const json_t *run, char error[OUTFILE_ERROR_BYTES]);

#endif
