/* SPDX-License-Identifier: MIT */
/* WordNet's glosses: https://wordnet.princeton.edu/documentation/wndb5wn, "Data File Format". */
#ifndef TRAIN_WORDNET_H
#define TRAIN_WORDNET_H

#include "fail.h"

/* file_read: the whole file, with a 0 after it; the caller frees. */
choir_status file_read(const char *path, char **bytes_p, size_t *n_p);

/* wordnet_read: the definitions of all glosses of the four data files of a folder, a line each; the caller frees. */
choir_status wordnet_read(const char *folder, char **bytes_p, size_t *n_p);

/* wordnet_definitions: rewrites one data file in place to its definitions, a line each, and returns the new length.  A
 * gloss stands after " | "; its examples, in double quotes, are left out; lines of the licence (they begin with a
 * space) too. */
size_t wordnet_definitions(char *bytes, size_t n);

#endif
