/* SPDX-License-Identifier: MIT */
/* Reads the text of rules, word by word.  Each function moves *at past the text that it read, and not at all if it read
 * nothing. */
#ifndef ALGO_SCAN_H
#define ALGO_SCAN_H

#include <choir/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* scan_blanks: skips blanks and comments, but no line end. */
void scan_blanks(const char **at);

/* scan_word: reads letters, digits and '_', at most room - 1 of them; returns their number. */
size_t scan_word(const char **at, char *word, size_t room);

/* scan_size: reads a whole number, k m g = 2^10, 2^20, 2^30; false if there is none. */
bool scan_size(const char **at, uint64_t *out);

/* scan_decimal: reads "60000" or "8.5", without sign or exponent, with a point in every locale; false if there is
 * none. */
bool scan_decimal(const char **at, double *out);

/* scan_line: the number of the line that `at` is on. */
int scan_line(const char *text, const char *at);

/* scan_expected: ARGUMENT with the line, the expected text, and the word that stands there instead. */
choir_status scan_expected(const char *text, const char *at, const char *what);

#endif
