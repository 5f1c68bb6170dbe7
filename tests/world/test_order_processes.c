/* SPDX-License-Identifier: MIT */
/* order=ranks between processes, which read each other's memory through the arena and, in symmetric memory, directly:
 * random cases (order_case.h) on 8 processes as 1, 2 and 8 nodes. */
#include "lib/ranks.h"
#include "quick.h"
#include "world/memory.h"
#include "world/order_case.h"
#include "world/order_trial.h"

#include <stdio.h>
#include <stdlib.h>

enum { RANKS = ORDER_RANKS, CASES = 30, FEW_CASES = 8, DEADLINE_MS = 120000, END_MS = 240000, SHARE = 4 << 20 };

static void run_trials(struct world *world, int rank, choir_comm *comm)
{
	struct order_trial trial = { .first = order_trial_seed(), .n = quick_wanted() ? FEW_CASES : CASES };
	void *share;
	cl_mem mem;

	order_trial_run(world, rank, comm, &trial);
	CHECK(rank > 0 || trial.done > 0);
	if (!OK(choir_mem_alloc(comm, SHARE, &share, &mem)))
		return;
	memory_use(share, mem, SHARE, 16 * (2 * (size_t)rank + 1));
	order_trial_run(world, rank, comm, &trial);
	memory_use(NULL, NULL, 0, 0);
	OK(choir_mem_free(comm, share));
}

static int run_process(const struct rank *me, void *per_node)
{
	struct world the_world = { .n = me->n, .device = world_device() }, *world = &the_world;
	choir_bootstrap bootstrap = rank_bootstrap(me);
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *comm = NULL;
	int rank = me->rank;

	config.ranks_per_node = *(const int *)per_node;
	config.deadline_ms = DEADLINE_MS;
	if (OK(choir_comm_create(&bootstrap, 1, &world->device, &config, &comm)))
		run_trials(world, rank, comm);
	OK(choir_comm_destroy(comm));
	world_device_drop();
	if (world->failure[0] != '\0')
		fprintf(stderr, "%s\n", world->failure);
	return world->failure[0] != '\0';
}

int main(void)
{
	static int layouts[] = { 8, 4, 1 };
	bool good = true;

	for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
		char why[RANKS_WHY_BYTES];
		struct ranks ranks;

		ranks_fork(&ranks, RANKS, RANKS, run_process, &layouts[l]);
		ranks_join(&ranks, END_MS);
		if (!ranks_are_good(&ranks, -1, why)) {
			fprintf(stderr, "%d ranks a node: %s\n", layouts[l], why);
			good = false;
		}
	}
	return good ? 0 : 1;
}
