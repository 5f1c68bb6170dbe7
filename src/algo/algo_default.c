/* SPDX-License-Identifier: MIT */
/* The built-in rules: between nodes those of default_network.c; else for each collective its algorithms in order of preference: the first
 * that may run is taken.  Nothing but bytes and layout decides, so all ranks take the same. */
#include "algo/algo.h"
#include "algo/default_network.h"

#include <string.h>

/* One-shot reads n inputs on each rank where two-shot waits twice: the fewer ranks, the longer it wins. */
#define ONESHOT_TOTAL_BYTES (64 * 1024)
/* Below, a copy into a slot costs less than the second wait of the direct algorithms. */
#define DIRECT_BYTES (16 * 1024)

/* On one node. */
static const char *allreduce_name(const struct algo_in *in)
{
	if (in->shared && in->bytes >= DIRECT_BYTES)
		return "direct";
	return in->bytes * (uint64_t)in->layout->n <= ONESHOT_TOTAL_BYTES && in->bytes <= in->slot_bytes ? "oneshot" : "twoshot";
}

static bool may_run(const struct algorithm *algorithm, const struct algo_in *in)
{
	bool small = in->bytes < DIRECT_BYTES && strcmp(algorithm->name, "direct") == 0;

	return algorithm->collective == in->collective && !small && !algorithm->unfit(in);
}

const struct algorithm *algo_default(const struct algo_in *in)
{
	const struct algorithm *wanted = default_network(in);

	if (in->collective == COLLECTIVE_ALLREDUCE && in->layout->n > 1 && in->layout->n_nodes == 1)
		wanted = algo_find(in->collective, allreduce_name(in));
	if (wanted && may_run(wanted, in))
		return wanted;
	/* Rows stand in order: one rank alone, shared memory, the node's, the network's. */
	for (size_t i = 0; i < n_algorithms; i++)
		if (may_run(&algorithms[i], in))
			return &algorithms[i];
	return NULL;
}
