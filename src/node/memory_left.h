/* SPDX-License-Identifier: MIT */
/* How much memory this process could still take. */
#ifndef NODE_MEMORY_LEFT_H
#define NODE_MEMORY_LEFT_H

#include <stdbool.h>
#include <stdint.h>

struct memory_left {
	uint64_t bytes; /* UINT64_MAX = nobody says */
	bool of_cgroup; /* the limit of a control group, not the machine's memory */
};

/* memory_left: what the machine has without pushing others out, or less where a memory control group of this process
 * (v1 or v2), or one above it, has less.  root precedes every path: "" but in tests.  Reads files; any thread. */
struct memory_left memory_left(const char *root);

#endif
