/* SPDX-License-Identifier: MIT */
#include "algo/fit.h"

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

uint64_t fit_chunk_bytes(const struct algo_in *in)
{
	uint64_t cached = 256 * 1024, most = in->slot_bytes / 8, part = in->bytes / 16;

	if (in->chunk_bytes > 0)
		return in->chunk_bytes;
	if (most <= cached || part <= cached)
		return cached;
	return part < most ? part : most;
}
