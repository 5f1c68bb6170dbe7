/* SPDX-License-Identifier: MIT */
/* The collectives as choir calls them. */
#include "case_columns.h"

CASE_CALL(allreduce)
{
	return choir_allreduce(job->comm, send, recv, job->count, job->dtype, job->op, call, event_p);
}

CASE_CALL(reduce_scatter)
{
	return choir_reduce_scatter(job->comm, send, recv, job->count, job->dtype, job->op, call, event_p);
}

CASE_CALL(reduce_scatterv)
{
	return choir_reduce_scatterv(job->comm, send, recv, job->recv_counts, job->dtype, job->op, call, event_p);
}

CASE_CALL(allgather)
{
	return choir_allgather(job->comm, send, recv, job->count, job->dtype, call, event_p);
}

CASE_CALL(allgatherv)
{
	return choir_allgatherv(job->comm, send, job->count, recv, job->recv_counts, NULL, job->dtype, call, event_p);
}

CASE_CALL(alltoall)
{
	return choir_alltoall(job->comm, send, recv, job->count, job->dtype, call, event_p);
}

CASE_CALL(alltoallv)
{
	return choir_alltoallv(job->comm, send, job->send_counts, NULL, recv, job->recv_counts, NULL, job->dtype, call, event_p);
}

CASE_CALL(broadcast)
{
	return choir_broadcast(job->comm, send, recv, job->count, job->dtype, job->root, call, event_p);
}

CASE_CALL(reduce)
{
	return choir_reduce(job->comm, send, recv, job->count, job->dtype, job->op, job->root, call, event_p);
}

CASE_CALL(barrier)
{
	(void)send;
	(void)recv;
	return choir_barrier(job->comm, call, event_p);
}

/* As nccl-tests' sendrecv. */
CASE_CALL(sendrecv)
{
	return choir_sendrecv(job->comm, send, job->count, next_rank(job), recv, job->count, previous_rank(job), job->dtype, call, event_p);
}
