/* SPDX-License-Identifier: MIT */
#include "collective.h"

choir_status collective_allreduce(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_allreduce(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, event_p);
}

choir_status collective_reduce_scatter(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_reduce_scatter(a->comm, a->send, a->recv, a->count, a->dtype, a->op, call, event_p);
}

choir_status collective_reduce_scatterv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_reduce_scatterv(a->comm, a->send, a->recv, a->recv_counts, a->dtype, a->op, call, event_p);
}

choir_status collective_allgather(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_allgather(a->comm, a->send, a->recv, a->count, a->dtype, call, event_p);
}

choir_status collective_allgatherv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_allgatherv(a->comm, a->send, a->count, a->recv, a->recv_counts, a->recv_offs, a->dtype, call,
	                        event_p);
}

choir_status collective_alltoall(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_alltoall(a->comm, a->send, a->recv, a->count, a->dtype, call, event_p);
}

choir_status collective_alltoallv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_alltoallv(a->comm, a->send, a->send_counts, a->send_offs, a->recv, a->recv_counts, a->recv_offs,
	                       a->dtype, call, event_p);
}

choir_status collective_broadcast(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_broadcast(a->comm, a->send, a->recv, a->count, a->dtype, a->root, call, event_p);
}

choir_status collective_reduce(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_reduce(a->comm, a->send, a->recv, a->count, a->dtype, a->op, a->root, call, event_p);
}

choir_status collective_barrier(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	return choir_barrier(a->comm, call, event_p);
}

choir_status collective_sendrecv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	int n = choir_comm_size(a->comm), me = choir_comm_rank(a->comm);

	return choir_sendrecv(a->comm, a->send, a->count, (me + 1) % n, a->recv, a->count, (me + n - 1) % n, a->dtype,
	                      call, event_p);
}
