/* SPDX-License-Identifier: MIT */
#include "api/start.h"

#include "api/tensor_list.h"
#include "base/arithmetic.h"
#include "base/fork.h"
#include "base/wait.h"
#include "exec/call_cache.h"
#include "exec/commit.h"
#include "exec/engine.h"
#include "exec/inline.h"
#include "exec/thread.h"

#include <stddef.h>
#include <stdlib.h>

static bool is_pair(const struct prepared *prepared)
{
	return prepared->parts[0].bound.pair;
}

/* --- as ordinary runs --- */

static choir_status make_run(choir_comm *comm, struct prepared *prepared, struct part *part, const choir_call *call,
                             bool keeps, struct run **out_p)
{
	struct run *run;
	choir_status st;

	TRY(run_create(comm, &run));
	prepared_bind(run, prepared, part);
	st = run_set_call(run, call, prepared->key.form->name);
	if (st == CHOIR_SUCCESS && keeps)
		st = run_keep(run, part->send);
	if (st == CHOIR_SUCCESS && keeps)
		st = run_keep(run, part->recv);
	if (st != CHOIR_SUCCESS) {
		run_discard(run);
		return st;
	}
	*out_p = run;
	return CHOIR_SUCCESS;
}

static choir_status make_runs(choir_comm *comm, struct prepared *prepared, size_t first, const choir_call *call,
                              bool keeps, struct run **runs)
{
	for (size_t i = first; i < prepared->n_parts; i++) {
		choir_status st = make_run(comm, prepared, &prepared->parts[i], call, keeps, &runs[i - first]);

		if (st == CHOIR_SUCCESS)
			continue;
		while (i-- > first)
			run_discard(runs[i - first]);
		return st;
	}
	return CHOIR_SUCCESS;
}

/* All parts from the first one on, under one event: the engine does of each what can be done.  *taken_p: the call's
 * commit, which the event gives back; NULL once it has it. */
static choir_status submit_runs(choir_comm *comm, struct prepared *prepared, size_t first, const choir_call *call,
                                choir_event **event_p, struct segments_owner *hold, struct commit **taken_p)
{
	enum { FEW = 2 };
	const char *name = prepared->key.form->name;
	bool keeps = !call_blocks(event_p) && prepared->key.tensors == NULL;
	size_t n = prepared->n_parts - first;
	struct run *few[FEW], **runs = n <= FEW ? few : calloc(n, sizeof *runs);
	choir_status st;

	if (runs == NULL)
		return error_no_memory("the parts of a call", n * sizeof *runs);
	st = make_runs(comm, prepared, first, call, keeps, runs);
	for (size_t i = 0; i < n && st == CHOIR_SUCCESS; i++)
		runs[i]->list_owner = segments_retain(hold);
	for (size_t i = 1; i < n && st == CHOIR_SUCCESS; i++)
		run_share_event(runs[0], runs[i]);
	if (st == CHOIR_SUCCESS) {
		runs[0]->event->commit = *taken_p;
		*taken_p = NULL;
		st = call_start_all(name, runs, n, event_p);
	}
	if (runs != few)
		free(runs);
	return st;
}

/* --- by the caller's thread --- */

/* After inline_enter: so many parts, from that one on.  After them the call may be gone.  caller_name: NULL = none; a
 * failure has it. */
static choir_status execute_parts(choir_comm *comm, struct prepared *prepared, size_t first, size_t n,
                                  int64_t deadline_ms, const char *caller_name)
{
	const char *name = prepared->key.form->name;
	bool pair = is_pair(prepared);
	uint64_t seq = comm->submission.next_seq;
	choir_event *event;
	choir_status st = inline_execute(comm, prepared, first, n, deadline_ms, caller_name, &event);

	return event == NULL ? st : error_named(call_finish(name, caller_name, comm, event, pair, seq), caller_name);
}

/* One, if the time is over: the part then says what it waits for. */
static int64_t left_ms(int64_t end_ns)
{
	return max_i64(1, (end_ns - wait_now_ns()) / 1000000);
}

/* The first part is done, and peers are in the next: the list cannot be made again.  Where this rank's comm is being
 * destroyed they learn it by its farewell. */
static void fail_broken_list(choir_comm *comm, const char *name, choir_status st)
{
	char text[ERROR_TEXT_BYTES];

	if (comm_has_failed(comm) || atomic_load(&comm->submission.closing))
		return;
	snprintf(text, sizeof text, "%s: rank %d: %s: %s", comm->name, comm->rank, name, error_text());
	comm_fail(comm, st, text);
}

/* After inline_enter: one part after the other, each of which enters anew; where something else is under way by then,
 * the others are submitted. */
static choir_status execute_list(choir_comm *comm, struct prepared *prepared, int64_t deadline_ms,
                                 const char *caller_name)
{
	choir_call call = CHOIR_CALL_INIT;
	struct commit *none = NULL;
	size_t begun = 0;
	int64_t end_ns = wait_end_ns(deadline_ms > 0 ? deadline_ms : comm->deadline_ms);
	choir_status st;

	call.name = caller_name;
	prepared_retain(prepared);
	(void)comm_enter(comm); /* with the right to drive; between the parts somebody may destroy the comm */
	do
		st = execute_parts(comm, prepared, begun++, 1, left_ms(end_ns), caller_name);
	while (st == CHOIR_SUCCESS && begun < prepared->n_parts && inline_enter(comm));
	call.deadline_ms = left_ms(end_ns);
	if (st == CHOIR_SUCCESS && begun < prepared->n_parts)
		st = submit_runs(comm, prepared, begun++, &call, NULL, NULL, &none);
	if (st != CHOIR_SUCCESS && begun > 1)
		fail_broken_list(comm, prepared->key.form->name, st);
	prepared_release(prepared);
	comm_leave(comm);
	return error_named(st, caller_name);
}

/* After inline_enter.  caller_name NULL: the call is named after its function. */
static choir_status execute_inline(choir_comm *comm, struct prepared *prepared, int64_t deadline_ms,
                                   const char *caller_name)
{
	if (comm->family != NULL)
		call_note_user(comm);
	if (prepared->n_parts == 1 || is_pair(prepared))
		return execute_parts(comm, prepared, 0, prepared->n_parts, deadline_ms, caller_name);
	return execute_list(comm, prepared, deadline_ms, caller_name);
}

/* Of the version that this library knows, or one that ended before `key` or `tag`. */
static bool has_no_key(const choir_call *call)
{
	return call->struct_size == offsetof(choir_call, key) ||
	       ((call->struct_size == sizeof *call || call->struct_size == offsetof(choir_call, tag)) &&
	        call->key == NULL);
}

static bool has_no_deps(const choir_call *call)
{
	return call == NULL || (has_no_key(call) && call->after == NULL && call->n_cl_deps == 0 && call->n_deps == 0 &&
	                        call->deadline_ms >= 0);
}

/* True if that is a blocking call without deps that was made before, and it has been executed: *st_p is its outcome. */
static bool start_again(choir_comm *comm, struct call_key *key, const choir_call *given, choir_event **event_p,
                        choir_status *st_p)
{
	struct prepared *prepared;

	key->options = NULL;
	key->factor = 1;
	key->tag = 0;
	if (comm == NULL || comm->generation != fork_generation() || event_p != NULL || !has_no_deps(given) ||
	    in_callback_or_group())
		return false;
	if (given != NULL) {
		key->options = given->options;
		key->factor = given->factor;
		key->tag = given->struct_size == sizeof *given ? given->tag : 0;
	}
	if (!inline_enter(comm)) /* with the right to drive nobody destroys the comm */
		return false;
	comm_see_poison(comm);
	prepared = call_cache_find(comm, key);
	if (prepared == NULL || !prepared->may_inline || comm_has_failed(comm)) {
		inline_leave(comm);
		return false;
	}
	/* A comm that is one of several of this process might block its own thread. */
	*st_p = comm->family != NULL ? call_may_block(key->form->name, comm, is_pair(prepared)) : CHOIR_SUCCESS;
	if (*st_p == CHOIR_SUCCESS) {
		*st_p = execute_inline(comm, prepared, given != NULL ? given->deadline_ms : 0,
		                       given != NULL ? given->name : NULL);
	} else {
		inline_leave(comm);
		*st_p = call_named(*st_p, given);
	}
	return true;
}

/* --- any call --- */

/* A reference, or NULL; also where somebody else drives just now.  *moved_p: it serves the call at other addresses;
 * NULL = that is of no use. */
static struct prepared *find(choir_comm *comm, const struct call_key *key, bool *moved_p)
{
	struct prepared *prepared = NULL;

	if (!engine_enter(&comm->engine))
		return NULL;
	if (!comm->engine.closed) {
		prepared = call_cache_find(comm, key);
		if (prepared == NULL && moved_p != NULL) {
			prepared = call_cache_serving(comm, key);
			*moved_p = prepared != NULL;
		}
		prepared_retain(prepared);
	}
	engine_leave(&comm->engine);
	return prepared;
}

choir_status start_prepare(choir_comm *comm, const struct call_key *key, const choir_call *call,
                           struct prepared **out_p)
{
	call_builds_begin(comm, call);
	return call_builds_end(comm, key->form->prepare(comm, key, call, out_p));
}

bool start_takes(struct prepared *prepared)
{
	bool taken;

	return commit_take(prepared->commit, &taken) == CHOIR_SUCCESS && taken;
}

void start_keep(choir_comm *comm, struct prepared *prepared)
{
	if (!prepared->reusable || !engine_enter(&comm->engine))
		return;
	if (!comm->engine.closed)
		call_cache_keep(comm, prepared);
	engine_leave(&comm->engine);
}

/* The caller's name of the call; NULL: it gave none, and call_read filled in the function's. */
static const char *caller_name(const struct prepared *prepared, const choir_call *call)
{
	return call->name != prepared->key.form->name ? call->name : NULL;
}

static choir_status start_taken(choir_comm *comm, struct prepared *prepared, const choir_call *call,
                                choir_event **event_p, struct segments_owner *hold, struct commit **taken_p)
{
	struct segments_owner *made = NULL;
	choir_status st;

	if (call_blocks(event_p)) {
		TRY(call_may_block(prepared->key.form->name, comm, is_pair(prepared)));
		if (prepared->may_inline && has_no_deps(call) && inline_enter(comm))
			return execute_inline(comm, prepared, call->deadline_ms, caller_name(prepared, call));
		return submit_runs(comm, prepared, 0, call, NULL, NULL, taken_p);
	}
	if (hold == NULL && prepared->key.tensors != NULL) {
		TRY(tensor_list_hold((struct tensor_list *)prepared->owner, &made));
		hold = made;
	}
	st = submit_runs(comm, prepared, 0, call, event_p, hold, taken_p);
	segments_release(made);
	return st;
}

choir_status start_prepared(choir_comm *comm, struct prepared *prepared, const choir_call *call, choir_event **event_p,
                            struct segments_owner *hold)
{
	struct commit *taken = prepared->commit;
	choir_status st = start_taken(comm, prepared, call, event_p, hold, &taken);

	commit_give(taken);
	return st;
}

/* Of host memory, which no cl_mem has to keep. */
static choir_status start_moved(choir_comm *comm, struct prepared *prepared, const struct call_key *key,
                                const choir_call *call, choir_event **event_p)
{
	struct run *run;

	TRY(make_run(comm, prepared, &prepared->parts[0], call, false, &run));
	prepared_move(run, key);
	return call_start_all(key->form->name, &run, 1, event_p);
}

/* A call that start_takes has allowed; a reference.  moved_p: as of find. */
static choir_status find_or_prepare(choir_comm *comm, const struct call_key *key, const choir_call *call, bool *moved_p,
                                    struct prepared **out_p)
{
	struct prepared *prepared = find(comm, key, moved_p);
	choir_status st;

	if (prepared == NULL || !start_takes(prepared)) {
		prepared_release(prepared);
		TRY(start_prepare(comm, key, call, &prepared));
		if (!start_takes(prepared)) {
			st = error_prefix(CHOIR_OPENCL, "%s", key->form->name);
			prepared_release(prepared);
			return st;
		}
		start_keep(comm, prepared);
	}
	*out_p = prepared;
	return CHOIR_SUCCESS;
}

static choir_status call_anew(choir_comm *comm, struct call_key *key, const choir_call *given, choir_event **event_p)
{
	const struct call_form *form = key->form;
	struct prepared *prepared = NULL;
	bool moved = false;
	choir_status st;
	choir_call call;

	TRY(call_check_comm(form->name, comm));
	TRY(call_read(form->name, given, call_takes(key), &call));
	key->options = call.options;
	key->factor = call.factor;
	key->tag = call.tag;
	if (form->start != NULL)
		return form->start(comm, key, &call, event_p);
	TRY(find_or_prepare(comm, key, &call, call_blocks(event_p) ? NULL : &moved, &prepared));
	st = moved ? start_moved(comm, prepared, key, &call, event_p)
	           : start_prepared(comm, prepared, &call, event_p, NULL);
	prepared_release(prepared);
	return st;
}

choir_status start_call(choir_comm *comm, struct call_key *key, const choir_call *given, choir_event **event_p)
{
	choir_status st;

	if (start_again(comm, key, given, event_p, &st))
		return st;
	st = call_enter(key->form->name, comm);
	if (st == CHOIR_SUCCESS) {
		st = call_anew(comm, key, given, event_p);
		comm_leave(comm);
	}
	return call_named(st, given);
}
