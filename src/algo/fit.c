/* SPDX-License-Identifier: MIT */
#include "algo/fit.h"

#include "base/arithmetic.h"

const char *fit_single(const struct algo_in *in)
{
	return in->layout->n == 1 ? NULL : "is for one rank alone";
}

const char *fit_network(const struct algo_in *in)
{
	return in->layout->n > 1 ? NULL : "needs two ranks or more";
}

const char *fit_node(const struct algo_in *in)
{
	if (in->layout->n_nodes > 1)
		return "needs all ranks on one node";
	return fit_network(in);
}

const char *fit_nodes(const struct algo_in *in)
{
	return in->layout->n_nodes > 1 ? NULL : "needs two nodes or more";
}

const char *fit_any(const struct algo_in *in)
{
	(void)in;
	return NULL;
}

const char *fit_phases(uint64_t phases)
{
	return phases <= PLAN_LAST_PHASE ? NULL : "needs larger slots for so many bytes";
}

/* The whole number next to the square root, at least 1. */
static uint64_t root_of(uint64_t x)
{
	uint64_t root = 1;

	while (root * (root + 1) < x)
		root++;
	return root;
}

bool fit_by_commands(const struct algo_in *in)
{
	return !in->send_direct && in->command_bytes > 0;
}

uint64_t fit_chunk_bytes(const struct algo_in *in, uint64_t bytes, uint64_t commands)
{
	uint64_t cached = 256 * 1024, least = 32 * 1024, chunks;

	if (in->chunk_bytes > 0)
		return in->chunk_bytes;
	if (in->command_bytes == 0)
		return cached;
	chunks = root_of(bytes / (commands * in->command_bytes));
	bytes = (bytes + chunks - 1) / chunks;
	return bytes > least ? bytes : least;
}

uint64_t fit_moved_chunk_bytes(const struct algo_in *in, uint64_t bytes)
{
	uint64_t of_two = max_u64(64 * 1024, in->core_cache_bytes / 4), most = 8 * 1024 * 1024;
	uint64_t usual = fit_chunk_bytes(in, bytes, 1);
	bool shorter = in->layout->n == 2 && bytes <= most && in->chunk_bytes == 0 && in->command_bytes == 0;

	return shorter ? min_u64(of_two, usual) : usual;
}
