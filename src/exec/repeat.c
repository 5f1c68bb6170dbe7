/* SPDX-License-Identifier: MIT */
/* Note [what holds still].  Arguments that were right are right again: the buffers' addresses, handles and lengths are the same, and so are the contents of the lists of
 * counts.  What else could have changed is counted where it does: the memory that the ranks share, and cl_mems that die, whose handles may come back as others'.  What
 * other ranks call is compared as ever; where that, or where their buffers are, leads to another plan, the run no longer has the one that was noted. */
#include "exec/repeat.h"

#include "exec/engine.h"
#include "exec/express.h"
#include "exec/walk.h"

#include <string.h>

static uint64_t changes_of(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->symmetric_changes, memory_order_acquire);
}

/* False: there are too many. */
static bool keep_lists(struct repeat *repeat, const struct repeat_call *call, int n)
{
	for (int i = 0; i < REPEAT_LISTS; i++) {
		if (call->lists[i] == NULL)
			continue;
		if (n > REPEAT_RANKS)
			return false;
		memcpy(repeat->numbers[i], call->lists[i], (size_t)n * sizeof *call->lists[i]);
	}
	return true;
}

void repeat_note(struct run *run, const struct repeat_call *call)
{
	struct choir_comm *comm = run->comm;
	struct repeat *repeat = &comm->engine.repeats[call->kind];

	if (!walk_fits(run) || !keep_lists(repeat, call, comm->n))
		return;
	repeat->run = run;
	repeat->call = *call;
	repeat->plan = run->plan;
	repeat->changes = changes_of(comm);
	repeat->deaths = dev_deaths();
	repeat->tape.plan = NULL;
}

static bool same_buffer(choir_buffer a, choir_buffer b)
{
	return a.base == b.base && a.offset_bytes == b.offset_bytes && a.kind == b.kind;
}

static bool same_lists(const struct repeat *repeat, const struct repeat_call *call, int n)
{
	bool same = true;

	if (call->lists[0] == NULL && repeat->call.lists[0] == NULL) /* nor the others */
		return true;
	for (int i = 0; i < REPEAT_LISTS && same; i++) {
		const size_t *list = call->lists[i];

		same = (list == NULL) == (repeat->call.lists[i] == NULL);
		for (int rank = 0; list != NULL && rank < n && same; rank++)
			same = list[rank] == repeat->numbers[i][rank];
	}
	return same;
}

static bool stands_for(const struct repeat *repeat, const struct repeat_call *b, const struct choir_comm *comm)
{
	const struct repeat_call *a = &repeat->call;

	return repeat->run != NULL && a->name == b->name && same_buffer(a->send, b->send) && same_buffer(a->recv, b->recv) && a->count == b->count &&
	       a->collective == b->collective && a->dtype == b->dtype && a->op == b->op && a->root == b->root && a->deadline_ms == b->deadline_ms &&
	       same_lists(repeat, b, comm->n) && repeat->changes == changes_of(comm) && repeat->deaths == dev_deaths() &&
	       repeat->run->plan == repeat->plan;
}

bool repeat_begin(struct choir_comm *comm, const struct repeat_call *calls, int n, struct run **runs)
{
	bool same = true;

	if (!express_lock(comm))
		return false;
	for (int i = 0; i < n && same; i++) {
		const struct repeat *repeat = &comm->engine.repeats[calls[i].kind];

		same = stands_for(repeat, &calls[i], comm);
		runs[i] = repeat->run;
	}
	for (int i = 0; i < n && same; i++)
		runs[i]->bound.disagree_ctx = calls[i].disagree_ctx;
	if (!same)
		engine_leave(&comm->engine);
	return same;
}

choir_status repeat_end(struct run *const *runs, int n, choir_event **event_p)
{
	bool over = true;

	*event_p = NULL;
	if (!engine_number(runs, n))
		return express_end(runs, n, event_p);
	for (int i = 0; i < n && over; i++) {
		walk(runs[i]);
		over = runs[i]->state == RUN_ENDED && runs[i]->status == CHOIR_SUCCESS;
	}
	if (!over)
		return express_carry_out(runs, n, event_p);
	express_drop(runs, n);
	return CHOIR_SUCCESS;
}
