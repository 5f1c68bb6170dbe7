/* SPDX-License-Identifier: MIT */
#include "exec/repeat_coll.h"

#include "exec/engine.h"
#include "exec/express.h"
#include "exec/walk.h"

static uint64_t changes_of(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->symmetric_changes, memory_order_acquire);
}

void repeat_coll_note(struct run *run, const struct coll_call *call)
{
	struct choir_comm *comm = run->comm;

	comm->engine.repeat_coll = (struct repeat_coll){ .call = *call, .run = walk_fits(run) ? run : NULL, .changes = changes_of(comm) };
}

static bool is_same(const struct coll_call *a, const struct coll_call *b)
{
	return a->send == b->send && a->recv == b->recv && a->count == b->count && a->collective == b->collective && a->dtype == b->dtype && a->op == b->op &&
	       a->root == b->root && a->deadline_ms == b->deadline_ms;
}

bool repeat_coll_begin(struct choir_comm *comm, const struct coll_call *call)
{
	const struct repeat_coll *last = &comm->engine.repeat_coll;

	if (!express_lock(comm))
		return false;
	if (last->run != NULL && is_same(&last->call, call) && last->changes == changes_of(comm))
		return true;
	pthread_mutex_unlock(&comm->engine.drive);
	return false;
}

choir_status repeat_coll_end(struct choir_comm *comm, choir_event **event_p)
{
	struct run *run = comm->engine.repeat_coll.run;

	*event_p = NULL;
	if (!engine_number(&run, 1))
		return express_end(&run, 1, event_p);
	walk(run);
	if (run->state != RUN_ENDED || run->status != CHOIR_SUCCESS)
		return express_carry_out(&run, 1, event_p);
	express_drop(&run, 1);
	return CHOIR_SUCCESS;
}

void repeat_coll_drop(struct choir_comm *comm)
{
	express_drop(&comm->engine.repeat_coll.run, 1);
}
