/* SPDX-License-Identifier: MIT */
/* inline_bound: is the comm's run of that kind bound to a call whose steps the caller's thread goes through in their
 * order? */
#ifndef TESTS_INLINE_BOUND_H
#define TESTS_INLINE_BOUND_H

#include "exec/prepared.h"

static inline bool inline_bound(const struct choir_comm *comm, enum inline_kind kind)
{
	const struct run *run = comm->engine.inline_runs[kind];

	return run != NULL && run->part != NULL && run->part->in_order;
}

#endif
