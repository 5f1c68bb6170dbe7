/* SPDX-License-Identifier: MIT */
/* The collectives as choir calls them. */
#include "case_columns.h"

CASE_CALL(allreduce)
{
	return choir_allreduce(job->comm, send, recv, job->count, job->dtype, job->op, call, events);
}

CASE_CALL(reduce_scatter)
{
	return choir_reduce_scatter(job->comm, send, recv, job->count, job->dtype, job->op, call, events);
}

CASE_CALL(allgather)
{
	return choir_allgather(job->comm, send, recv, job->count, job->dtype, call, events);
}

CASE_CALL(allgatherv)
{
	return choir_allgatherv(job->comm, send, job->count, recv, job->recv_counts, NULL, job->dtype, call, events);
}

CASE_CALL(broadcast)
{
	return choir_broadcast(job->comm, send, recv, job->count, job->dtype, job->root, call, events);
}

CASE_CALL(reduce)
{
	return choir_reduce(job->comm, send, recv, job->count, job->dtype, job->op, job->root, call, events);
}

CASE_CALL(barrier)
{
	(void)send;
	(void)recv;
	return choir_barrier(job->comm, call, events);
}

/* As nccl-tests' sendrecv. */
CASE_CALL(sendrecv)
{
	choir_status first, second, st = choir_group_begin();

	if (st != CHOIR_SUCCESS)
		return st;
	first = choir_send(job->comm, send, job->count, job->dtype, next_rank(job), call, events);
	second = first != CHOIR_SUCCESS ? first :
		 choir_recv(job->comm, recv, job->count, job->dtype, previous_rank(job), call, events != NULL ? events + 1 : NULL);
	st = choir_group_end();
	return second != CHOIR_SUCCESS ? second : st;
}
