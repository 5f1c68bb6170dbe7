/* SPDX-License-Identifier: MIT */
/* Numbers in sentences. */
#ifndef BASE_PLURAL_H
#define BASE_PLURAL_H

#include <stdint.h>

/* plural: the end of a regular noun behind that number, as in "%d rank%s", n, plural(n): "" behind 1, else "s". */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
