/* SPDX-License-Identifier: MIT */
/* Letters without regard to case, whatever the program's locale: in a Turkish one tolower('I') is not 'i'. */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* ascii_begins: does the text begin with that?  ascii_equal: is it that? */
static inline bool ascii_begins(const char *text, const char *with)
{
	while (*with != '\0' && ascii_lower(*text) == ascii_lower(*with)) {
		text++;
		with++;
	}
	return *with == '\0';
}

static inline bool ascii_equal(const char *a, const char *b)
{
	while (*a != '\0' && ascii_lower(*a) == ascii_lower(*b)) {
		a++;
		b++;
	}
	return *a == *b;
}

#endif
