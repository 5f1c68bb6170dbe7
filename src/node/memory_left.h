/* SPDX-License-Identifier: MIT */
/* The memory that this process can still allocate. */
#ifndef NODE_MEMORY_LEFT_H
#define NODE_MEMORY_LEFT_H

#include <stdbool.h>
#include <stdint.h>

struct memory_left {
	uint64_t bytes; /* UINT64_MAX = unknown */
	bool of_cgroup; /* true if a control group sets the limit, not the machine's memory */
};

/* memory_left: the machine's available memory, or what a memory control group of this process (v1 or v2), or one above
 * it, has left if that is less.  root: prefix of every path, "" but in tests.  Reads files.  Any thread. */
struct memory_left memory_left(const char *root);

#endif
