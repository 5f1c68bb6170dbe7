/* SPDX-License-Identifier: MIT */
/* Note [eras].  A flush waits for the calls that were made before it, and not for those that other threads go on
 * making.  Runs are counted by the era, even or odd, in which they were submitted, and a new era begins only when no
 * run of the one before the present one is left.  So when two eras have begun since a flush began, all runs of its own
 * era and of the one before have ended.  Flushes share the eras: each begins one where no other thread has.
 *
 * A call that is executed inline is not counted.  Its thread has the right to drive until the call has ended or is
 * counted as a run, so the flush takes that right once before it looks at the era. */
#include "exec/drain.h"

#include "exec/engine.h"
#include "exec/progress.h"
#include "exec/submit.h"

/* Is a thread in a call, or a call under way?  In this order, since a thread has counted its call before it leaves. */
static bool in_calls(struct choir_comm *comm, void *unused)
{
	(void)unused;
	return atomic_load(&comm->uses.inside) > 0 || !engine_idle(comm);
}

static bool in_calls_or_sending(struct choir_comm *comm, void *unused)
{
	return in_calls(comm, unused) || messenger_sends(comm->messenger, comm->context, comm->rank, UINT64_MAX);
}

bool drain_all(struct choir_comm *comm, int64_t timeout_ms)
{
	return progress_while(in_calls_or_sending, comm, NULL, timeout_ms);
}

void drain_calls(struct choir_comm *comm)
{
	(void)progress_while(in_calls, comm, NULL, -1);
}

struct flush {
	enum { FLUSH_INLINE, FLUSH_RUNS, FLUSH_MESSAGES } awaits;
	unsigned era;  /* begins when the runs have ended */
	uint64_t sent; /* messages when they had */
};

static bool runs_have_ended(struct choir_comm *comm, unsigned until)
{
	unsigned present;

	while ((int)(until - (present = atomic_load(&comm->submission.era))) > 0)
		if (!submit_begin_era(comm, present))
			return false;
	return true;
}

/* A thread that destroys the comm keeps the right to drive once all calls are over, and waits for this one to leave. */
static bool flush_waits(struct choir_comm *comm, void *arg)
{
	struct flush *flush = arg;

	if (atomic_load(&comm->engine.closed))
		return false;
	if (flush->awaits == FLUSH_INLINE) {
		if (!engine_enter(&comm->engine))
			return true;
		engine_leave(&comm->engine);
		flush->era = atomic_load(&comm->submission.era) + 2;
		flush->awaits = FLUSH_RUNS;
	}
	if (flush->awaits == FLUSH_RUNS) {
		if (!runs_have_ended(comm, flush->era))
			return true;
		flush->sent = messenger_sent(comm->messenger);
		flush->awaits = FLUSH_MESSAGES;
	}
	return !comm_has_failed(comm) && messenger_sends(comm->messenger, comm->context, comm->rank, flush->sent);
}

bool drain_flush(struct choir_comm *comm, int64_t timeout_ms)
{
	struct flush flush = { .awaits = FLUSH_INLINE };

	return progress_while(flush_waits, comm, &flush, timeout_ms);
}
