/* SPDX-License-Identifier: MIT */
#include "exec/drain.h"

#include "exec/engine.h"
#include "exec/progress.h"

/* Is a thread in a call, or a call under way?  In this order, since a thread has counted its call before it leaves. */
static bool in_calls(struct choir_comm *comm)
{
	return atomic_load(&comm->uses.inside) > 0 || !engine_idle(comm);
}

static bool is_sending(struct choir_comm *comm)
{
	return messenger_sends(comm->messenger, comm->context, comm->rank);
}

static bool in_calls_or_sending(struct choir_comm *comm)
{
	return in_calls(comm) || is_sending(comm);
}

/* A thread that destroys the comm has ended all calls, and waits for this one. */
static bool keeps_flush(struct choir_comm *comm)
{
	bool busy = in_calls(comm) || (!comm_has_failed(comm) && is_sending(comm));

	return busy && !atomic_load(&comm->engine.closed);
}

bool drain_all(struct choir_comm *comm, int64_t timeout_ms)
{
	return progress_while(in_calls_or_sending, comm, timeout_ms);
}

bool drain_flush(struct choir_comm *comm, int64_t timeout_ms)
{
	return progress_while(keeps_flush, comm, timeout_ms);
}

void drain_calls(struct choir_comm *comm)
{
	(void)progress_while(in_calls, comm, -1);
}
