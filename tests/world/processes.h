/* SPDX-License-Identifier: MIT */
/* choir_comm_create: processes of one machine, forked before anything of OpenCL is touched, that meet through shared
 * memory of their own (lib/ranks.h). */
#ifndef TESTS_PROCESSES_H
#define TESTS_PROCESSES_H

#include "lib/ranks.h"
#include "world/gate.h"

#include <stdio.h>
#include <unistd.h>

#define MUST(cond)                                                                                                     \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "%s:%d: process %d: %s (%s)\n", __FILE__, __LINE__, me->rank, #cond,           \
			        choir_last_error());                                                                   \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

typedef void process_fn(const struct rank *me, int what); /* mostly: so many ranks a node */

/* processes_run: fn on n processes, all of which must end well, but for one that is killed (-1 = nobody). */
void processes_run(int n, int what, process_fn *fn, int killed);

/* processes_create: the comms of this process. */
void processes_create(const struct rank *me, int n_local, int per_node, int64_t deadline_ms, choir_comm **comms);

/* processes_all: do all say yes?  For a struct ending whose ctx is the rank. */
struct ending;
bool processes_all(struct ending *ending, bool yes);

#endif
