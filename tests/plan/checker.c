/* SPDX-License-Identifier: MIT */
#include "plan/checker.h"

#include "algo/outcome.h"

#include <stdlib.h>

/* The ranks of the world as the checker takes them; the caller frees them. */
static struct plan_rank *ranks_of(const struct world *world)
{
	struct plan_rank *ranks = calloc((size_t)world->n, sizeof *ranks);

	for (int r = 0; r < world->n; r++)
		ranks[r] = outcome_rank(&world->ins[r], &world->plans[r]);
	return ranks;
}

static bool verdict(struct world *world, choir_status st)
{
	if (st != CHOIR_SUCCESS)
		snprintf(world->why, sizeof world->why, "%s/%s", collective_name(world->algorithm->collective),
		         choir_last_error());
	return st == CHOIR_SUCCESS;
}

static struct plan_team team_of(const struct world *world, const struct plan_rank *ranks)
{
	return (struct plan_team){ .n = world->n,
		                   .ranks = ranks,
		                   .slot_bytes = world->ins[0].slot_bytes,
		                   .message_bytes = world->ins[0].message_bytes };
}

bool checker_verify(struct world *world)
{
	struct plan_rank *ranks = ranks_of(world);
	struct plan_team team = team_of(world, ranks);
	bool ok = verdict(world, plan_check(&team));

	free(ranks);
	return ok;
}

bool checker_run(struct world *world, unsigned seed)
{
	enum plan_order order = world->algorithm->fold_order;

	if (world->ins[0].scaled && order == PLAN_ORDER_ONCE)
		order = PLAN_ORDER_RANKS; /* the products are rounded first */
	return checker_folds(world, order, seed);
}

bool checker_folds(struct world *world, enum plan_order order, unsigned seed)
{
	struct plan_rank *ranks = ranks_of(world);
	struct plan_team team = team_of(world, ranks);
	struct plan_wants wants = outcome_wants(world->ins, order);
	bool ok = verdict(world, plan_prove(&team, &wants, seed));

	free(ranks);
	return ok;
}
