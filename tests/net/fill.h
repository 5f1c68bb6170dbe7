/* SPDX-License-Identifier: MIT */
/* Memory filled so that misplaced bytes show. */
#ifndef TESTS_NET_FILL_H
#define TESTS_NET_FILL_H

#include "seeded.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void fill(unsigned char *data, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)((unsigned char)(seed >> (i % 8 * 8)) ^ (unsigned char)(i * 7));
}

static inline bool is_filled(const unsigned char *data, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		if (data[i] != (unsigned char)((unsigned char)(seed >> (i % 8 * 8)) ^ (unsigned char)(i * 7)))
			return false;
	return true;
}

#endif
