/* SPDX-License-Identifier: MIT */
/* Note [one thread, several ranks].  A thread that blocks on one local rank while only itself would make the matching
 * call on another one waits for ever.  Each comm remembers the thread that used it last: if that is this thread, and
 * the sibling has not been given its matching call yet, the call is refused with WOULD_DEADLOCK before anything is
 * submitted.  A sibling that nobody has used at all may belong to a thread that is still starting: of that the log
 * speaks at the warning time, and the deadline ends the call.  So it does of callbacks of several ranks that block on
 * too few threads of an executor: each counts as a thread of its own. */
#include "api/call.h"

#include "base/log.h"
#include "exec/submit.h"
#include "base/fork.h"
#include "base/struct_size.h"
#include "exec/progress.h"
#include "exec/thread.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static choir_status check_handle(const char *call, const choir_comm *comm)
{
	if (comm == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null comm", call);
	if (comm->generation != fork_generation())
		return error_set(CHOIR_ARGUMENT, "%s: the comm belongs to the process before fork", call);
	return CHOIR_SUCCESS;
}

choir_status call_check_comm(const char *call, choir_comm *comm)
{
	TRY(check_handle(call, comm));
	return comm_failure(comm);
}

choir_status call_enter(const char *call, choir_comm *comm)
{
	TRY(check_handle(call, comm));
	return comm_enter(comm) ? CHOIR_SUCCESS : error_set(CHOIR_ARGUMENT, "%s: the comm has been destroyed", call);
}

choir_status call_enter_all(const char *call, int n, choir_comm *const *comms)
{
	for (int i = 0; i < n; i++) {
		choir_status st = call_enter(call, comms[i]);

		if (st != CHOIR_SUCCESS) {
			call_leave_all(i, comms);
			return st;
		}
	}
	return CHOIR_SUCCESS;
}

void call_leave_all(int n, choir_comm *const *comms)
{
	for (int i = 0; i < n; i++)
		comm_leave(comms[i]);
}

/* A rank that is there twice would wait for another one that is not. */
static choir_status check_distinct(const char *call, int n, choir_comm *const *comms)
{
	bool *seen = n > 1 ? calloc((size_t)comms[0]->n, sizeof *seen) : NULL;
	choir_status st = CHOIR_SUCCESS;

	if (n > 1 && seen == NULL)
		return error_no_memory("ranks of a call", (size_t)comms[0]->n);
	for (int i = 0; i < n && n > 1 && st == CHOIR_SUCCESS; i++) {
		if (seen[comms[i]->rank])
			st = error_set(CHOIR_ARGUMENT, "%s: comms[%d] is rank %d, which is there twice", call, i,
			               comms[i]->rank);
		seen[comms[i]->rank] = true;
	}
	free(seen);
	return st;
}

choir_status call_check_outside(const char *call)
{
	if (in_callback())
		return error_set(CHOIR_WOULD_DEADLOCK, "%s inside a callback of the library's", call);
	return group_is_open() ? error_set(CHOIR_ARGUMENT, "%s inside a group", call) : CHOIR_SUCCESS;
}

choir_status call_check_comms(const char *call, int n, choir_comm *const *comms)
{
	TRY(call_check_outside(call));
	for (int i = 0; i < n; i++) {
		TRY(call_check_comm(call, comms[i]));
		if (comms[i]->context != comms[0]->context)
			return error_set(CHOIR_ARGUMENT, "%s: comms[%d] is of another comm than comms[0]", call, i);
	}
	return check_distinct(call, n, comms);
}

choir_status call_named(choir_status st, const choir_call *given)
{
	size_t end = offsetof(choir_call, name) + sizeof given->name;

	if (st == CHOIR_SUCCESS || given == NULL || given->struct_size < end || given->struct_size > sizeof *given)
		return st;
	return error_named(st, given->name);
}

choir_status call_check_struct(const char *call, const char *what, const char *init, const void *given, size_t known)
{
	size_t size;

	if (given == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null %s", call, what);
	memcpy(&size, given, sizeof size);
	if (!struct_size_fits(size, known))
		return error_set(CHOIR_ARGUMENT, "%s: %s->struct_size is %zu; this library knows %zu (use %s)", call,
		                 what, size, known, init);
	return CHOIR_SUCCESS;
}

choir_status call_read_struct(const char *call, const char *what, const char *init, const void *given, void *out,
                              size_t known)
{
	size_t size;

	TRY(call_check_struct(call, what, init, given, known));
	memcpy(&size, given, sizeof size);
	memcpy(out, given, size);
	return CHOIR_SUCCESS;
}

static choir_status check_tag(const char *call, int64_t tag, unsigned takes)
{
	if (tag != 0 && !(takes & CALL_TAKES_TAG))
		return error_set(CHOIR_ARGUMENT, "%s: tag is %lld, which is for send, recv and sendrecv only", call,
		                 (long long)tag);
	if (tag < 0)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: tag is %lld: there is no wildcard, a recv names the tag of its message", call,
		                 (long long)tag);
	if (tag >= CALL_SPLIT_TAG && !(takes & CALL_TAKES_SPLIT_TAG))
		return error_set(CHOIR_ARGUMENT, "%s: tag is %lld; the largest is 2147483646", call, (long long)tag);
	return CHOIR_SUCCESS;
}

choir_status call_read(const char *call, const choir_call *given, unsigned takes, choir_call *out)
{
	choir_call read = CHOIR_CALL_INIT;

	if (given != NULL)
		TRY(call_read_struct(call, "call", "CHOIR_CALL_INIT", given, &read, sizeof read));
	if ((read.n_cl_deps > 0 && read.cl_deps == NULL) || (read.n_deps > 0 && read.deps == NULL))
		return error_set(CHOIR_ARGUMENT, "%s: deps are null, but their number is not 0", call);
	if (read.deadline_ms < 0)
		return error_set(CHOIR_ARGUMENT, "%s: deadline_ms is %lld", call, (long long)read.deadline_ms);
	if (!isfinite(read.factor))
		return error_set(CHOIR_ARGUMENT, "%s: factor is %g", call, read.factor);
	if (read.factor != 1 && !(takes & CALL_TAKES_FACTOR))
		return error_set(CHOIR_ARGUMENT, "%s: factor is %g, which is for the operator premul_sum only", call,
		                 read.factor);
	if (read.key != NULL && read.key[0] == '\0')
		return error_set(CHOIR_ARGUMENT, "%s: an empty key", call);
	TRY(check_tag(call, read.tag, takes));
	if (read.name == NULL)
		read.name = call;
	*out = read;
	return CHOIR_SUCCESS;
}

void call_builds_begin(const choir_comm *comm, const choir_call *call)
{
	dev_build_deadline(wait_end_ns(call->deadline_ms > 0 ? call->deadline_ms : comm->deadline_ms));
}

choir_status call_builds_end(const choir_comm *comm, choir_status st)
{
	dev_build_deadline(0);
	return st == CHOIR_TIMEOUT ? error_prefix(st, "%s: rank %d", comm->name, comm->rank) : st;
}

choir_status call_takes_no_options(const char *call, const choir_call *read)
{
	if (read->options == NULL || read->options[0] == '\0')
		return CHOIR_SUCCESS;
	return error_set(CHOIR_ARGUMENT, "%s: takes no options, and was given '%s'", call, read->options);
}

/* Was the sibling used last by that thread (0: by none yet), and does it lack the call that would match comm's? */
static bool lacks_call(struct choir_comm *comm, struct choir_comm *sibling, uint64_t user, uint64_t seq)
{
	bool behind;

	if (sibling == comm || atomic_load_explicit(&sibling->uses.last_thread, memory_order_relaxed) != user)
		return false;
	pthread_mutex_lock(&sibling->submission.lock);
	behind = sibling->submission.next_seq <= seq;
	pthread_mutex_unlock(&sibling->submission.lock);
	return behind;
}

/* The rank of the first such sibling, -1 if there is none. */
static int sibling_behind(struct choir_comm *comm, uint64_t user, uint64_t seq)
{
	struct comm_family *family = comm->family;
	int rank = -1;

	if (family == NULL)
		return -1;
	pthread_mutex_lock(&family->lock);
	for (int i = 0; i < family->n && rank < 0; i++)
		if (family->members[i] != NULL && lacks_call(comm, family->members[i], user, seq))
			rank = family->members[i]->rank;
	pthread_mutex_unlock(&family->lock);
	return rank;
}

void call_note_user(choir_comm *comm)
{
	atomic_store_explicit(&comm->uses.last_thread, this_thread(), memory_order_relaxed);
}

bool call_blocks(choir_event **event_p)
{
	return event_p == NULL && !group_is_open();
}

choir_status call_may_block(const char *call, choir_comm *comm, bool pair)
{
	return call_may_block_behind(call, comm, pair, 0);
}

choir_status call_may_block_behind(const char *call, choir_comm *comm, bool pair, uint64_t before)
{
	int other;

	if (in_callback())
		return error_set(CHOIR_WOULD_DEADLOCK, "%s: a blocking call inside a callback of the library's", call);
	other =
	    pair || comm->keyed != NULL ? -1 : sibling_behind(comm, this_thread(), comm->submission.next_seq + before);
	if (other < 0)
		return CHOIR_SUCCESS;
	return error_set(CHOIR_WOULD_DEADLOCK,
	                 "%s: rank %d would block for rank %d, which this thread drives too: put the calls of both "
	                 "between choir_group_begin and choir_group_end, or take events",
	                 call, comm->rank, other);
}

choir_status call_may_start(const char *call, choir_comm *comm, choir_event **event_p)
{
	return call_blocks(event_p) ? call_may_block(call, comm, false) : CHOIR_SUCCESS;
}

/* Waits for a blocking call; name: the caller's of it; NULL or "": none.  A sibling that nobody has used may be this
 * thread's own, or that of a thread that is late: at the warning time the first is named, since nothing else would say
 * it; the deadline ends both. */
static choir_status wait_for(const char *call, const char *name, struct choir_comm *comm, choir_event *event, bool pair,
                             uint64_t seq)
{
	bool named = name != NULL && name[0] != '\0';
	int other = -1;

	if (comm->family != NULL && !pair && !progress_wait(event, comm->warn_ms))
		other = sibling_behind(comm, 0, seq);
	if (other >= 0)
		log_text(LOG_WARNING,
		         "%s: %s%s%s%s: rank %d waits for rank %d, which no thread has called for yet: if this thread "
		         "drives both, put their calls between choir_group_begin and choir_group_end, or take events",
		         comm->name, call, named ? " '" : "", named ? name : "", named ? "'" : "", comm->rank, other);
	return choir_event_wait(event, -1);
}

choir_status call_start(const char *call, struct run *run, choir_status filled, choir_event **event_p)
{
	if (filled != CHOIR_SUCCESS) {
		run_discard(run);
		return filled;
	}
	return call_start_all(call, &run, 1, event_p);
}

/* In a group: what it submits later it also waits for, if the caller did not take the event. */
static void add_to_group(struct run *const *runs, size_t n, choir_event *event, choir_event **event_p)
{
	group_add(runs, n, event_p == NULL);
	if (event_p != NULL)
		*event_p = event;
	else
		choir_event_release(event); /* the group has the run's */
}

choir_status call_start_all(const char *call, struct run *const *runs, size_t n, choir_event **event_p)
{
	struct choir_comm *comm = runs[0]->comm;
	choir_event *event = choir_event_retain(runs[0]->event);
	bool pair = runs[0]->bound.pair;
	uint64_t seq = comm->submission.next_seq + n - 1; /* of the last */
	char name[CALL_NAME_BYTES];
	choir_status st;

	call_note_user(comm);
	if (group_is_open()) {
		add_to_group(runs, n, event, event_p);
		return CHOIR_SUCCESS;
	}
	snprintf(name, sizeof name, "%s", event_p == NULL ? run_caller_name(runs[0]) : ""); /* the run may end soon */
	st = submit_parts(runs, n);
	if (st != CHOIR_SUCCESS) {
		choir_event_release(event);
		return st;
	}
	if (event_p != NULL) {
		*event_p = event;
		(void)progress_kick(); /* without a background thread the call progresses while somebody waits */
		return CHOIR_SUCCESS;
	}
	return call_finish(call, name, comm, event, pair, seq);
}

choir_status call_finish(const char *call, const char *name, struct choir_comm *comm, choir_event *event, bool pair,
                         uint64_t seq)
{
	bool inside = comm_enter(comm);
	choir_status st = inside ? wait_for(call, name, comm, event, pair, seq) : choir_event_wait(event, -1);

	if (inside)
		comm_leave(comm);
	choir_event_release(event);
	return st;
}
