/* SPDX-License-Identifier: MIT */
#include "world/chained.h"

#include <stdlib.h>

enum { COUNT = 500, STARTS = 5 };

/* The sum is scattered, gathered again and broadcast: each call reads what the one before it wrote. */
void chained(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int n = world->n;
	size_t all = COUNT * (size_t)n;
	int32_t *mine = calloc(all, sizeof *mine), *block = calloc(COUNT, sizeof *block),
		*whole = calloc(all, sizeof *whole);
	choir_request *requests[3];
	choir_sequence *sequence = NULL;
	choir_event *event = NULL;

	(void)unused;
	OK(choir_reduce_scatter_init(comm, choir_host(mine), choir_host(block), COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL,
	                             &requests[0]));
	OK(choir_allgather_init(comm, choir_host(block), choir_host(whole), COUNT, CHOIR_I32, NULL, &requests[1]));
	OK(choir_allreduce_init(comm, choir_host(whole), choir_host(mine), all, CHOIR_I32, CHOIR_OP_MAX, NULL,
	                        &requests[2]));
	OK(choir_sequence_create(requests, 3, &sequence));
	for (int start = 0; start < STARTS; start++) {
		for (size_t i = 0; i < all; i++)
			mine[i] = (int32_t)i + rank + start;
		if (start % 2 == 0) {
			OK(choir_sequence_start(sequence, NULL, NULL));
		} else {
			OK(choir_sequence_start(sequence, NULL, &event));
			OK(choir_event_wait(event, -1));
			choir_event_release(event);
		}
		for (size_t i = 0; i < all; i++)
			if (mine[i] != n * ((int32_t)i + start) + n * (n - 1) / 2) {
				world_fail(world, rank, "start %d: element %zu is %d", start, i, mine[i]);
				break;
			}
	}
	choir_sequence_free(sequence);
	for (int i = 0; i < 3; i++)
		choir_request_free(requests[i]);
	free(mine);
	free(block);
	free(whole);
}
