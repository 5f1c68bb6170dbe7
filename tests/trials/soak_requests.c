/* SPDX-License-Identifier: MIT */
#include "trials/soak_requests.h"

#include <string.h>

bool soak_can_keep(const struct collective_row *what)
{
	switch (what - collectives) {
	case ALLREDUCE:
	case REDUCE_SCATTER:
	case ALLGATHER:
	case ALLTOALL:
	case BROADCAST:
	case REDUCE:
		return true;
	default:
		return false;
	}
}

static choir_status keep(const struct collective_args *a, const struct collective_row *what, const choir_call *call,
                         choir_request **request_p)
{
	switch (what - collectives) {
	case ALLREDUCE:
		return choir_allreduce_init(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, request_p);
	case REDUCE_SCATTER:
		return choir_reduce_scatter_init(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, request_p);
	case ALLGATHER:
		return choir_allgather_init(a->comm, a->send, a->recv, a->count, a->dtype, call, request_p);
	case ALLTOALL:
		return choir_alltoall_init(a->comm, a->send, a->recv, a->count, a->dtype, call, request_p);
	case BROADCAST:
		return choir_broadcast_init(a->comm, a->send, a->recv, a->count, a->dtype, a->root, call, request_p);
	default:
		return choir_reduce_init(a->comm, a->send, a->recv, a->count, a->dtype, a->op, a->root, call,
		                         request_p);
	}
}

static void start_once(struct dense_flight *flight, struct world *world, int rank, choir_request *request)
{
	memset(memory_payload(&flight->recv), SENTINEL, flight->recv.bytes);
	memory_push(&flight->recv);
	if (OK(choir_start(request, NULL, NULL)))
		flight_compare(flight, world);
}

void soak_run_kept(struct world *world, int rank, choir_comm *comm, const struct dense_call *call, int starts)
{
	choir_call kept = CHOIR_CALL_INIT;
	struct dense_flight flight;
	choir_request *request;

	flight_make(&flight, world, rank, call);
	kept.factor = values_factor(flight.data.op);
	flight.args.comm = comm;
	if (OK(keep(&flight.args, call->what, &kept, &request))) {
		for (int i = 0; i < starts && world->failure[0] == '\0'; i++)
			start_once(&flight, world, rank, request);
		choir_request_free(request);
	}
	flight_free(&flight);
}
