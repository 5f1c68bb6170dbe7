/* SPDX-License-Identifier: MIT */
#include "exec/repeat.h"

#include "exec/engine.h"
#include "exec/express.h"
#include "exec/mail.h"
#include "exec/relax.h"

enum { WAIT_ROUNDS = 64 }; /* then the transport is asked too */

void repeat_note(struct choir_comm *comm, const struct repeat_call *call)
{
	comm->engine.repeat.call = *call;
}

/* One step each: memory that steps can use, in one piece. */
static bool is_simple(const struct run *run)
{
	return run->plan->n_steps == 1 && run->in.bytes <= ARENA_ITEM_BYTES;
}

void repeat_keep(struct run *const *runs)
{
	struct repeat *last = &runs[0]->comm->engine.repeat;

	last->ready = last->call.send != NULL && last->call.recv != NULL && is_simple(runs[0]) && is_simple(runs[1]);
	for (int i = 0; i < 2; i++) {
		last->runs[i] = runs[i];
		last->records[i] = runs[i]->record;
	}
}

static bool is_same(const struct repeat_call *a, const struct repeat_call *b)
{
	return a->send == b->send && a->recv == b->recv && a->send_count == b->send_count && a->recv_count == b->recv_count && a->dest == b->dest &&
	       a->source == b->source && a->dtype == b->dtype && a->deadline_ms == b->deadline_ms;
}

bool repeat_begin(struct choir_comm *comm, const struct repeat_call *call)
{
	const struct repeat *last = &comm->engine.repeat;

	if (!express_lock(comm))
		return false;
	if (last->ready && is_same(&last->call, call))
		return true;
	pthread_mutex_unlock(&comm->engine.drive);
	return false;
}

/* The piece of a recv, if it comes soon.  What is wrong with it is seen again by the run. */
static bool take_soon(struct run *run)
{
	int rounds = run->comm->crowded ? 1 : WAIT_ROUNDS;
	bool done = false;

	for (int i = 0; i < rounds; i++) {
		if (mail_take(run, &run->plan->steps[0], &done) != CHOIR_SUCCESS || done)
			break;
		relax();
	}
	return done;
}

choir_status repeat_end(struct choir_comm *comm, choir_event **event_p)
{
	struct engine *engine = &comm->engine;
	struct run *runs[] = { engine->repeat.runs[0], engine->repeat.runs[1] };

	*event_p = NULL;
	for (int i = 0; i < 2; i++)
		runs[i]->record = engine->repeat.records[i];
	if (!engine_number(runs, 2))
		return express_end(runs, 2, event_p);
	if (!mail_put(runs[0], &runs[0]->plan->steps[0]))
		return express_carry_out(runs, 2, event_p);
	if (!take_soon(runs[1])) {
		runs[0]->state = RUN_ENDED;
		return express_carry_out(runs, 2, event_p);
	}
	pthread_mutex_unlock(&engine->drive);
	return CHOIR_SUCCESS;
}
