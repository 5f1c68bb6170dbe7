/* SPDX-License-Identifier: MIT */
/* Ranks as threads. */
#include "world.h"

#include "cores.h"
#include "lib/ranks.h"

struct job_of_all {
	int (*fn)(struct world *world, void *ctx);
	void *ctx;
};

static int rank_main(const struct rank *me, void *ctx)
{
	struct job_of_all *job = ctx;
	struct world world = {
		.rank = me->rank, .size = me->n, .node_rank = me->rank, .one_node = true, .meeting = me->meeting
	};

	cores_pin(me->rank, me->n);
	return job->fn(&world, job->ctx);
}

int world_run_local(int n, int (*fn)(struct world *world, void *ctx), void *ctx)
{
	struct job_of_all job = { fn, ctx };

	return ranks_as_threads(n, rank_main, &job);
}
