/* SPDX-License-Identifier: MIT */
/* Ranks as threads. */
#include "world.h"

#include "cores.h"
#include "meeting.h"

#include <pthread.h>
#include <stdlib.h>

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

	cores_pin(rank->world.rank, rank->world.size);
	rank->result = rank->fn(&rank->world, rank->ctx);
	return NULL;
}

int world_run_local(int n, int (*fn)(struct world *world, void *ctx), void *ctx)
{
	size_t room = (meeting_bytes(n) + 63) / 64 * 64;
	struct meeting *meeting = aligned_alloc(64, room);
	struct rank_thread *ranks = calloc((size_t)n, sizeof *ranks);
	int worst = EXIT_FINE;

	if (ranks == NULL || meeting == NULL)
		abort();
	meeting_init(meeting, n);
	for (int r = 0; r < n; r++) {
		ranks[r].world =
		    (struct world){ .rank = r, .size = n, .node_rank = r, .one_node = true, .meeting = meeting };
		ranks[r].fn = fn;
		ranks[r].ctx = ctx;
		if (pthread_create(&ranks[r].thread, NULL, rank_main, &ranks[r]) != 0)
			abort(); /* the others already wait for this one */
	}
	for (int r = 0; r < n; r++) {
		pthread_join(ranks[r].thread, NULL);
		worst = ranks[r].result > worst ? ranks[r].result : worst;
	}
	free(meeting);
	free(ranks);
	return worst;
}
