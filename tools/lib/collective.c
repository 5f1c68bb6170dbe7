/* SPDX-License-Identifier: MIT */
#include "collective.h"

#include <string.h>

static choir_status allreduce(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_allreduce(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, event_p);
}

static choir_status reduce_scatter(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_reduce_scatter(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, event_p);
}

static choir_status reduce_scatter_padded(const struct collective_args *a, const choir_call *call,
                                          choir_event **event_p)
{
	return choir_reduce_scatter_padded(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, event_p);
}

static choir_status reduce_scatterv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_reduce_scatterv(a->comm, a->send, a->recv, a->recv_counts, a->dtype, a->op, call, event_p);
}

static choir_status allgather(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_allgather(a->comm, a->send, a->recv, a->count, a->dtype, call, event_p);
}

static choir_status allgather_padded(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_allgather_padded(a->comm, a->send, a->recv, a->count, a->dtype, call, event_p);
}

static choir_status allgatherv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_allgatherv(a->comm, a->send, a->count, a->recv, a->recv_counts, a->recv_offs, a->dtype, call,
	                        event_p);
}

static choir_status alltoall(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_alltoall(a->comm, a->send, a->recv, a->count, a->dtype, call, event_p);
}

static choir_status alltoallv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_alltoallv(a->comm, a->send, a->send_counts, a->send_offs, a->recv, a->recv_counts, a->recv_offs,
	                       a->dtype, call, event_p);
}

static choir_status broadcast(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_broadcast(a->comm, a->send, a->recv, a->count, a->dtype, a->root, call, event_p);
}

static choir_status reduce(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_reduce(a->comm, a->send, a->recv, a->count, a->dtype, a->op, a->root, call, event_p);
}

static choir_status gather(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_gather(a->comm, a->send, a->recv, a->count, a->dtype, a->root, call, event_p);
}

static choir_status gatherv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_gatherv(a->comm, a->send, a->count, a->recv, a->recv_counts, a->recv_offs, a->dtype, a->root, call,
	                     event_p);
}

static choir_status scatter(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_scatter(a->comm, a->send, a->recv, a->count, a->dtype, a->root, call, event_p);
}

static choir_status scatterv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_scatterv(a->comm, a->send, a->send_counts, a->send_offs, a->recv, a->count, a->dtype, a->root,
	                      call, event_p);
}

static choir_status scan(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_scan(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, event_p);
}

static choir_status exscan(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_exscan(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, event_p);
}

static choir_status barrier(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_barrier(a->comm, call, event_p);
}

static choir_status sendrecv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_sendrecv(a->comm, a->send, a->count, a->next, a->recv, a->count, a->previous, a->dtype, call,
	                      event_p);
}

static choir_status send_and_recv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	choir_event *sent = NULL;
	choir_status st = choir_send(a->comm, a->send, a->count, a->dtype, a->next, call, &sent);

	if (st == CHOIR_SUCCESS)
		st = choir_recv(a->comm, a->recv, a->count, a->dtype, a->previous, call, event_p);
	if (st == CHOIR_SUCCESS)
		st = choir_event_wait(sent, -1);
	choir_event_release(sent);
	return st;
}

const struct collective_row collectives[N_COLLECTIVE_ROWS] = {
	[ALLREDUCE] = { .name = "allreduce",
	                .about = "everyone gets the reduction",
	                .reduces = true,
	                .in_place = true,
	                .bus_rounds = 2,
	                .call = allreduce },
	[REDUCE_SCATTER] = { .name = "reduce_scatter",
	                     .about = "everyone gets a block of the reduction",
	                     .kind = SPREAD_SCATTER,
	                     .reduces = true,
	                     .in_place = true,
	                     .bus_rounds = 1,
	                     .call = reduce_scatter },
	[REDUCE_SCATTERV] = { .name = "reduce_scatterv",
	                      .about = "the same with uneven blocks",
	                      .kind = SPREAD_SCATTER,
	                      .reduces = true,
	                      .uneven = true,
	                      .in_place = true,
	                      .bus_rounds = 1,
	                      .call = reduce_scatterv },
	[ALLGATHER] = { .name = "allgather",
	                .about = "everyone gets everyone's block",
	                .kind = SPREAD_GATHER,
	                .in_place = true,
	                .bus_rounds = 1,
	                .call = allgather },
	[ALLGATHERV] = { .name = "allgatherv",
	                 .about = "the same with uneven blocks",
	                 .kind = SPREAD_GATHER,
	                 .uneven = true,
	                 .in_place = true,
	                 .bus_rounds = 1,
	                 .call = allgatherv },
	[ALLTOALL] = { .name = "alltoall",
	               .about = "everyone has a block for everyone",
	               .kind = SPREAD_EXCHANGE,
	               .in_place = true,
	               .bus_rounds = 1,
	               .call = alltoall },
	[ALLTOALLV] = { .name = "alltoallv",
	                .about = "the same with uneven blocks",
	                .kind = SPREAD_EXCHANGE,
	                .uneven = true,
	                .bus_rounds = 1,
	                .call = alltoallv },
	[BROADCAST] = { .name = "broadcast",
	                .about = "everyone gets what the root has",
	                .rooted = true,
	                .in_place = true,
	                .call = broadcast },
	[REDUCE] = { .name = "reduce",
	             .about = "the root gets the reduction",
	             .reduces = true,
	             .rooted = true,
	             .in_place = true,
	             .call = reduce },
	[GATHER] = { .name = "gather",
	             .about = "the root gets everyone's block",
	             .kind = SPREAD_GATHER,
	             .rooted = true,
	             .in_place = true,
	             .bus_rounds = 1,
	             .call = gather },
	[GATHERV] = { .name = "gatherv",
	              .about = "the same with uneven blocks",
	              .kind = SPREAD_GATHER,
	              .rooted = true,
	              .uneven = true,
	              .in_place = true,
	              .bus_rounds = 1,
	              .call = gatherv },
	[SCATTER] = { .name = "scatter",
	              .about = "everyone gets a block of the root's",
	              .kind = SPREAD_SCATTER,
	              .rooted = true,
	              .in_place = true,
	              .bus_rounds = 1,
	              .call = scatter },
	[SCATTERV] = { .name = "scatterv",
	               .about = "the same with uneven blocks",
	               .kind = SPREAD_SCATTER,
	               .rooted = true,
	               .uneven = true,
	               .in_place = true,
	               .bus_rounds = 1,
	               .call = scatterv },
	[SCAN] = { .name = "scan",
	           .about = "everyone gets the reduction up to it",
	           .reduces = true,
	           .prefix = true,
	           .in_place = true,
	           .call = scan },
	[EXSCAN] = { .name = "exscan",
	             .about = "everyone gets the reduction before it",
	             .reduces = true,
	             .prefix = true,
	             .exclusive = true,
	             .in_place = true,
	             .call = exscan },
	[SEND_AND_RECV] = { .name = "send", .waits = true, .call = send_and_recv },
	[SENDRECV] = { .name = "sendrecv",
	               .about = "to the next rank, from the one before",
	               .asks = "send",
	               .call = sendrecv },
	[BARRIER] = { .name = "barrier", .about = "no data", .kind = SPREAD_NOTHING, .call = barrier },
	[REDUCE_SCATTER_PADDED] = { .name = "reduce_scatter_padded",
	                            .about = "reduce_scatter of any count",
	                            .asks = "reduce_scatter",
	                            .kind = SPREAD_SCATTER,
	                            .reduces = true,
	                            .padded = true,
	                            .bus_rounds = 1,
	                            .call = reduce_scatter_padded },
	[ALLGATHER_PADDED] = { .name = "allgather_padded",
	                       .about = "its inverse",
	                       .asks = "allgather",
	                       .kind = SPREAD_GATHER,
	                       .padded = true,
	                       .bus_rounds = 1,
	                       .call = allgather_padded },
};

const struct collective_row *collective_find(const char *name)
{
	for (int i = 0; i < N_COLLECTIVE_ROWS; i++)
		if (strcmp(collectives[i].name, name) == 0)
			return &collectives[i];
	return NULL;
}
