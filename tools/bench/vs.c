/* SPDX-License-Identifier: MIT */
#include "contender.h"

#include "job.h"
#include "world.h"

#include <string.h>

const struct vs_way vs_ways[] = {
	{ .name = "mpi", .about = "the MPI collective on host arrays", .open = vs_mpi_open },
	{ .name = "staged", .about = "read the cl_mem, MPI, write it back", .open = vs_staged_open },
	{ .name = "bound", .about = "the bare shared-memory loop", .open = vs_bound_open },
};
const int n_vs_ways = sizeof vs_ways / sizeof *vs_ways;

static const struct vs_way *find(const char *name)
{
	for (int i = 0; i < n_vs_ways; i++)
		if (strcmp(vs_ways[i].name, name) == 0)
			return &vs_ways[i];
	return NULL;
}

const char *vs_check_names(const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (find(names[i]) == NULL || n > VS_MAX)
			return names[i];
	return NULL;
}

void vs_open(const struct job *job, struct contender *out[VS_MAX], const char *why_not[VS_MAX])
{
	for (int i = 0; i < job->args->n_vs; i++) {
		why_not[i] = "no memory on another rank";
		out[i] = find(job->args->vs[i])->open(job, &why_not[i]);
		if (world_max_int(job->world, out[i] == NULL) == 0)
			continue;
		if (out[i] != NULL)
			out[i]->close(out[i]);
		out[i] = NULL;
	}
}
