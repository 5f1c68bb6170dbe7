/* SPDX-License-Identifier: MIT */
#include "world_local.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct world_local {
	int size;
	_Atomic int arrived;
	_Atomic unsigned generation;
	const void **offers; /* [size] what each rank gathers */
};

struct rank_thread {
	struct world world;
	int (*fn)(struct world *world, void *ctx);
	void *ctx;
	int result;
	pthread_t thread;
};

static void *rank_main(void *arg)
{
	struct rank_thread *rank = arg;

	rank->result = rank->fn(&rank->world, rank->ctx);
	return NULL;
}

/* The last one to come opens the next generation.  Spinning keeps the ranks within a microsecond of each other; with more ranks than cores
 * yielding lets the late ones come. */
void world_local_barrier(struct world *world)
{
	struct world_local *local = world->local;
	unsigned mine = atomic_load_explicit(&local->generation, memory_order_relaxed);

	if (atomic_fetch_add(&local->arrived, 1) == local->size - 1) {
		atomic_store_explicit(&local->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&local->generation, mine + 1, memory_order_release);
		return;
	}
	for (unsigned spins = 0; atomic_load_explicit(&local->generation, memory_order_acquire) == mine; spins++)
		if (spins > 2000)
			sched_yield();
}

void world_local_gather(struct world *world, const void *mine, size_t bytes, void *all)
{
	struct world_local *local = world->local;

	local->offers[world->rank] = mine;
	world_local_barrier(world);
	for (int r = 0; r < local->size; r++)
		memcpy((char *)all + (size_t)r * bytes, local->offers[r], bytes);
	world_local_barrier(world);
}

int world_run_local(int n, int (*fn)(struct world *world, void *ctx), void *ctx)
{
	struct world_local local = { .size = n };
	struct rank_thread *ranks = calloc((size_t)n, sizeof *ranks);
	int worst = EXIT_FINE;

	local.offers = calloc((size_t)n, sizeof *local.offers);
	if (ranks == NULL || local.offers == NULL)
		abort();
	for (int r = 0; r < n; r++) {
		ranks[r].world = (struct world){ .rank = r, .size = n, .node_rank = r, .one_node = true, .local = &local };
		ranks[r].fn = fn;
		ranks[r].ctx = ctx;
		if (pthread_create(&ranks[r].thread, NULL, rank_main, &ranks[r]) != 0)
			abort(); /* the others already wait for this one */
	}
	for (int r = 0; r < n; r++) {
		pthread_join(ranks[r].thread, NULL);
		worst = ranks[r].result > worst ? ranks[r].result : worst;
	}
	free(local.offers);
	free(ranks);
	return worst;
}
