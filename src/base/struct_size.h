/* SPDX-License-Identifier: MIT */
/* The sizes by which callers say which version of a structure they were built with. */
#ifndef BASE_STRUCT_SIZE_H
#define BASE_STRUCT_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* struct_size_fits: can a version up to the one that this library knows be that long?  All versions end where a word
 * ends, so that none cuts a member of a word or less. */
static inline bool struct_size_fits(size_t size, size_t known)
{
	return size >= sizeof size && size <= known && size % sizeof size == 0;
}

#endif
