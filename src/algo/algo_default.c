/* SPDX-License-Identifier: MIT */
/* The built-in rules: between nodes those of default_network.c; on one node the first algorithm of the table that may
 * run, but for the rows of default_node.  Nothing but bytes and layout decides, so all ranks take the same.
 *
 * Note [measured rules].  The limits on one node are measured, and stay where the cost model counts_differ: it knows
 * neither the second wait of the direct algorithms nor the price of a cache line that moves between cores. */
#include "algo/algo.h"
#include "algo/default_network.h"

#include <string.h>

/* One-shot reads n inputs on each rank where two-shot waits twice: the fewer ranks, the longer it wins. */
#define ONESHOT_TOTAL_BYTES (64 * 1024)
/* Below, a copy into a slot costs less than the second wait of the direct algorithms. */
#define DIRECT_BYTES (2 * 1024)
/* Above, reading everything on each of two ranks costs more than writing half of the result to the peer. */
#define DIRECT_ONESHOT_BYTES (8 * 1024)

/* On one node: the choices that depend on the bytes; NULL = the table's order. */
static const struct algorithm *default_node(const struct algo_in *in)
{
	bool is_short = in->bytes * (uint64_t)in->layout->n <= ONESHOT_TOTAL_BYTES && in->bytes <= in->slot_bytes;
	const char *long_name = in->collective == COLLECTIVE_REDUCE ? "slots" : "twoshot";

	if (in->shared && in->bytes >= DIRECT_BYTES) {
		bool alone =
		    in->collective == COLLECTIVE_ALLREDUCE && in->layout->n == 2 && in->bytes <= DIRECT_ONESHOT_BYTES;

		return algo_find(in->collective, alone ? "direct_oneshot" : "direct");
	}
	if (in->collective == COLLECTIVE_ALLREDUCE || in->collective == COLLECTIVE_REDUCE)
		return algo_find(in->collective, is_short ? "oneshot" : long_name);
	return NULL;
}

static bool may_run(const struct algorithm *algorithm, const struct algo_in *in)
{
	bool small = in->bytes < DIRECT_BYTES && strncmp(algorithm->name, "direct", 6) == 0;

	return algorithm->collective == in->collective && !small && !algorithm->unfit(in);
}

const struct algorithm *algo_default(const struct algo_in *in)
{
	const struct algorithm *wanted = NULL;

	if (in->layout->n_nodes > 1)
		wanted = default_network(in);
	else if (in->layout->n > 1)
		wanted = default_node(in);
	if (wanted && may_run(wanted, in))
		return wanted;
	/* Rows stand in order: one rank alone, shared memory, the node's, the network's. */
	for (size_t i = 0; i < n_algorithms; i++)
		if (may_run(&algorithms[i], in))
			return &algorithms[i];
	return NULL;
}
