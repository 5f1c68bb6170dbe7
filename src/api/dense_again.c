/* SPDX-License-Identifier: MIT */
/* A blocking call that is the same as the one before it (exec/repeat.h). */
#include "api/dense.h"

#include "exec/express.h"

#include <string.h>

/* Memory whose address or handle says all: what is behind a pointer of a driver's may change. */
static bool is_plain(choir_buffer buffer)
{
	return buffer.kind == CHOIR_BUFFER_HOST || buffer.kind == CHOIR_BUFFER_MEM || buffer.kind == CHOIR_BUFFER_NONE;
}

/* Word by word: zeroing it first takes longer than all the rest. */
static void describe(const struct dense *d, const choir_call *given, struct repeat_call *out)
{
	out->kind = express_kind_of(d->collective);
	out->name = d->call;
	out->send = d->send;
	out->recv = d->recv;
	out->count = d->count;
	memcpy(out->lists, d->counts, sizeof out->lists);
	out->collective = (int)d->collective;
	out->dtype = d->dtype;
	out->op = d->op;
	out->root = d->root;
	out->deadline_ms = given != NULL ? given->deadline_ms : 0;
	out->disagree_ctx = d->disagree_ctx;
}

/* After repeat_begin. */
static choir_status carry_out(const char *call, struct choir_comm *comm, struct run *const *runs, int n)
{
	uint64_t seq = comm->engine.next_seq;
	bool pair = runs[0]->bound.pair;
	choir_event *event;
	choir_status st;

	if (comm->family != NULL) {
		st = call_may_block(call, comm, pair);
		if (st != CHOIR_SUCCESS) {
			express_drop(runs, n);
			return st;
		}
		atomic_store_explicit(&comm->last_user, this_thread(), memory_order_relaxed);
	}
	st = repeat_end(runs, n, &event);
	return event == NULL ? st : call_finish(call, comm, event, pair, seq);
}

bool dense_repeat(choir_comm *comm, const struct repeat_call *repeats, int n, const choir_call *given, choir_event **event_p, bool *may_p, choir_status *st_p)
{
	struct run *runs[2];

	*may_p = event_p == NULL && comm != NULL && call_says_nothing(given) && !group_is_open() && !in_callback();
	for (int i = 0; i < n && *may_p; i++)
		*may_p = is_plain(repeats[i].send) && is_plain(repeats[i].recv);
	if (!*may_p || call_check_comm(repeats->name, comm) != CHOIR_SUCCESS || !repeat_begin(comm, repeats, n, runs))
		return false;
	*st_p = carry_out(repeats->name, comm, runs, n);
	return true;
}

bool dense_again(struct dense *d, const choir_call *given, choir_event **event_p, struct repeat_call *repeat, choir_status *st_p)
{
	bool done, may;

	describe(d, given, repeat);
	done = dense_repeat(d->comm, repeat, 1, given, event_p, &may, st_p);
	d->repeat = may ? repeat : NULL;
	return done;
}
