/* SPDX-License-Identifier: MIT */
/* Numbers as people write them, K = 1024. */
#ifndef LIB_NUMBER_H
#define LIB_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* number_bytes: "8", "64K", "1.5M", "2G", an optional B or iB behind.  false, and *out unchanged, if the text is none
 * of it. */
bool number_bytes(const char *text, size_t *out);

/* number_share: "5%" or "0.05" to 0.05. */
bool number_share(const char *text, double *out);

/* number_print_bytes: "64K", exact or with one digit behind the point, into text (at least 16 bytes); returns text. */
char *number_print_bytes(size_t bytes, char *text);

/* number_plural: the end of a regular noun behind that number: "" behind 1, else "s". */
static inline const char *number_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
