/* SPDX-License-Identifier: MIT */
#include "world/option_calls.h"

#include <stdlib.h>
#include <string.h>

choir_call with_options(const char *options)
{
	choir_call call = CHOIR_CALL_INIT;

	call.options = options;
	return call;
}

const char *run_one(struct world *world, int rank, choir_comm *comm, int which, size_t count, const char *options)
{
	size_t n = (size_t)choir_comm_size(comm), sent = which == 1 ? n * count : count,
	       got = which == 2 ? n * count : count;
	int32_t *send = calloc(sent + 1, sizeof *send), *recv = calloc(got + 1, sizeof *recv);
	choir_call call = with_options(options);
	choir_event *event = NULL;
	const char *name = "";
	choir_status st;

	for (size_t i = 0; i < sent; i++)
		send[i] = (int32_t)(i % 1000) + rank;
	if (which == 0)
		st = choir_allreduce(comm, choir_host(send), choir_host(recv), count, CHOIR_I32, CHOIR_OP_SUM, &call,
		                     &event);
	else if (which == 1)
		st = choir_reduce_scatter(comm, choir_host(send), choir_host(recv), count, CHOIR_I32, CHOIR_OP_SUM,
		                          &call, &event);
	else
		st = choir_allgather(comm, choir_host(send), choir_host(recv), count, CHOIR_I32, &call, &event);
	if (OK(st) && OK(choir_event_wait(event, -1)))
		name = choir_event_algorithm(event);
	for (size_t i = 0; i < got; i++) {
		size_t at = which == 1 ? (size_t)rank * count + i : i % count;
		int32_t one = (int32_t)(at % 1000), wanted = which == 2 ? one + (int32_t)(i / count)
		                                                        : (int32_t)n * one + (int32_t)(n * (n - 1) / 2);

		if (recv[i] != wanted) {
			world_fail(world, rank, "%s: element %zu is %d, not %d", options, i, recv[i], wanted);
			break;
		}
	}
	choir_event_release(event);
	free(send);
	free(recv);
	return name;
}

bool same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}
