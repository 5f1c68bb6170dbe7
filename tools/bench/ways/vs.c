/* SPDX-License-Identifier: MIT */
#include "contender.h"

#include "bench/cases/job.h"
#include "bench/ranks/world.h"

#include <string.h>

static const struct vs_way *const ways[] = { &vs_mpi, &vs_staged, &vs_bound, &vs_dense, &vs_keyed, &vs_builtin };

const struct vs_way *vs_find(const char *name)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(ways[i]->name, name) == 0)
			return ways[i];
	return NULL;
}

const char *vs_check_names(const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (vs_find(names[i]) == NULL || n > VS_MAX)
			return names[i];
	return NULL;
}

struct contender *vs_open_one(const struct vs_way *way, const struct job *job, const char **why_not)
{
	struct contender *contender;

	*why_not = way->unfit(job);
	if (*why_not != NULL)
		return NULL;
	contender = way->open(job);
	if (world_max_int(job->world, contender == NULL) == 1) {
		*why_not = contender == NULL ? "no memory" : "no memory on another rank";
		if (contender != NULL)
			contender->close(contender);
		return NULL;
	}
	if (contender->n_manners > 1)
		contender_take_fastest(job->world, contender);
	return contender;
}

void vs_open(const struct job *job, struct contender *out[VS_MAX], const char *why_not[VS_MAX])
{
	for (int i = 0; i < job->args->n_vs; i++)
		out[i] = vs_open_one(vs_find(job->args->vs[i]), job, &why_not[i]);
}
