/* SPDX-License-Identifier: MIT */
#include "contender.h"

#include "clock.h"
#include "job.h"
#include "world.h"

#include <string.h>

enum { TRIALS = 4 };

static const struct vs_way *const ways[] = { &vs_mpi, &vs_staged, &vs_bound, &vs_dense };

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

double contender_trial_us(struct world *world, struct contender *contender)
{
	double best = 1e30;

	for (int i = 0; i <= TRIALS; i++) {
		double start, us;

		world_barrier(world);
		start = clock_us();
		contender->once(contender);
		us = clock_us() - start;
		world_max(world, &us, 1);
		if (i > 0 && us < best)
			best = us;
	}
	return best;
}

void contender_take_fastest(struct world *world, struct contender *contender)
{
	double best_us = 1e30;
	int best = 0;

	for (int i = 0; i < contender->n_manners; i++) {
		double us;

		contender->use(contender, i);
		us = contender_trial_us(world, contender);
		if (us < best_us)
			best = i;
		best_us = us < best_us ? us : best_us;
	}
	contender->use(contender, best);
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
