/* SPDX-License-Identifier: MIT */
#include "exec/submit.h"

#include "base/log.h"
#include "base/wait.h"
#include "exec/comm_list.h"
#include "exec/keyed.h"
#include "exec/slot_ring.h"
#include "node/bell.h"

#include <stdlib.h>

choir_status submit_init(struct choir_comm *comm)
{
	struct submission *submission = &comm->submission;

	submission->sent = calloc((size_t)comm->n, sizeof *submission->sent);
	submission->received = calloc((size_t)comm->n, sizeof *submission->received);
	if (submission->sent == NULL || submission->received == NULL)
		return error_no_memory("call numbers", 2 * (size_t)comm->n * sizeof *submission->sent);
	if (pthread_mutex_init(&submission->lock, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for an engine");
	submission->incoming_end = &submission->incoming;
	return CHOIR_SUCCESS;
}

void submit_fini(struct choir_comm *comm)
{
	free(comm->submission.sent);
	free(comm->submission.received);
	tagged_fini(&comm->submission.tagged);
}

choir_status submit_counter(struct choir_comm *comm, int peer, uint32_t tag, bool sends, uint64_t **out_p)
{
	struct submission *submission = &comm->submission;
	struct tagged_counts *counts;
	choir_status st;

	if (tag == 0) {
		*out_p = sends ? &submission->sent[peer] : &submission->received[peer];
		return CHOIR_SUCCESS;
	}
	pthread_mutex_lock(&submission->lock);
	st = tagged_find(&submission->tagged, peer, tag, &counts);
	pthread_mutex_unlock(&submission->lock);
	if (st == CHOIR_SUCCESS)
		*out_p = sends ? &counts->sent : &counts->received;
	return st;
}

/* Under the lock. */
static void give_number(struct run *run)
{
	struct choir_comm *comm = run->comm;
	struct submission *submission = &comm->submission;

	run->log_start_ns = log_wants_calls() ? wait_now_ns() : 0;
	if (run->bound.pair) {
		run->number = run->bound.pair_key | (uint32_t)(*run->bound.pair_count)++;
		return;
	}
	if (run->bound.single_rank) {
		run->number = submission->lone_calls++;
		return;
	}
	run->seq = submission->next_seq++;
	run->number = run->seq;
	if (comm->layout.n_nodes > 1) /* ranks of one node see each other's records in the arena */
		inbox_expect(&comm->inbox, run->number, &run->bound.record, run_caller_name(run));
	run->lane = (int)(run->seq % COMM_LANES);
	slot_ring_take(run);
	atomic_store_explicit(&comm_control(comm, comm->local_rank)->submitted, run->seq + 1, memory_order_relaxed);
}

bool submit_number(struct run *const *runs, int n)
{
	struct choir_comm *comm = runs[0]->comm;
	struct submission *submission = &comm->submission;
	bool accepted;

	pthread_mutex_lock(&submission->lock);
	accepted = submission->incoming == NULL && !submission->closing && !comm_has_failed(comm);
	accepted &= submission->next_seq + (uint64_t)n <= ARENA_LAST_SEQ;
	for (int i = 0; i < n && accepted; i++)
		give_number(runs[i]);
	pthread_mutex_unlock(&submission->lock);
	return accepted;
}

static choir_status why_refused(struct run *const *parts, bool numbers_used_up)
{
	struct choir_comm *comm = parts[0]->comm;
	choir_status st = comm_failure(comm);

	if (st == CHOIR_SUCCESS && numbers_used_up)
		st = error_set(CHOIR_UNSUPPORTED, "%s: it has made 2^40 calls, as many as a comm can make", comm->name);
	else if (st == CHOIR_SUCCESS)
		st = error_set(CHOIR_ABORTED, "%s: rank %d: %s: the comm has been destroyed", comm->name, comm->rank,
		               run_name(parts[0]));
	return st;
}

/* Under the lock. */
static void hand_over(struct submission *submission, struct run *run)
{
	give_number(run);
	run->next = NULL;
	*submission->incoming_end = run;
	submission->incoming_end = &run->next;
	atomic_store_explicit(&submission->has_incoming, true, memory_order_release);
}

void submit_held(struct run *parts)
{
	struct submission *submission = &parts->comm->submission;

	pthread_mutex_lock(&submission->lock);
	for (struct run *run = parts, *next; run != NULL; run = next) {
		next = run->next;
		hand_over(submission, run);
	}
	pthread_mutex_unlock(&submission->lock);
}

void submit_drop(struct run *const *parts, size_t n, choir_status st, const char *text)
{
	struct choir_comm *comm = parts[0]->comm;

	comm_retain(comm); /* the event may hold the last reference */
	pthread_mutex_lock(&comm->submission.lock);
	parts[0]->event->run = NULL;
	pthread_mutex_unlock(&comm->submission.lock);
	for (size_t i = 0; i < n; i++)
		run_drop_script(parts[i]); /* whoever waited finds the state of its call free */
	for (size_t i = 0; i < n; i++) {
		event_complete(parts[i]->event, st, text);
		run_discard(parts[i]);
	}
	bell_ring_mine(); /* whoever waits for the event, or has a call that depends on it */
	comm_release(comm);
}

/* Parts that count as unfinished; choir_comm_destroy may wait for them. */
static choir_status refuse_parts(struct run *const *parts, size_t n, choir_status st)
{
	struct choir_comm *comm = parts[0]->comm;

	comm_retain(comm);
	submit_drop(parts, n, st, error_text());
	atomic_fetch_sub_explicit(&comm->submission.unfinished, (int)n, memory_order_acq_rel);
	bell_ring_mine();
	comm_release(comm);
	return st;
}

choir_status submit_parts(struct run *const *parts, size_t n)
{
	struct choir_comm *comm = parts[0]->comm;
	struct submission *submission = &comm->submission;
	bool numbers_used_up, keyed = comm->keyed != NULL && !parts[0]->bound.pair;
	choir_status st;

	/* First: once they are handed over they may end, and the comm with them. */
	atomic_fetch_add_explicit(&submission->unfinished, (int)n, memory_order_relaxed);
	comm_list_note_work(comm);
	pthread_mutex_lock(&submission->lock);
	numbers_used_up = !parts[0]->bound.pair && submission->next_seq + n > ARENA_LAST_SEQ;
	if (submission->closing || numbers_used_up || comm_has_failed(comm)) {
		pthread_mutex_unlock(&submission->lock);
		return refuse_parts(parts, n, why_refused(parts, numbers_used_up));
	}
	for (size_t i = 0; i < n && !keyed; i++)
		hand_over(submission, parts[i]);
	pthread_mutex_unlock(&submission->lock);
	st = keyed ? keyed_hold(parts, n) : CHOIR_SUCCESS;
	return st == CHOIR_SUCCESS ? st : refuse_parts(parts, n, st);
}

struct run *submit_take(struct choir_comm *comm)
{
	struct submission *submission = &comm->submission;
	struct run *list;

	if (!atomic_load_explicit(&submission->has_incoming, memory_order_acquire))
		return NULL;
	pthread_mutex_lock(&submission->lock);
	list = submission->incoming;
	submission->incoming = NULL;
	submission->incoming_end = &submission->incoming;
	atomic_store_explicit(&submission->has_incoming, false, memory_order_relaxed);
	pthread_mutex_unlock(&submission->lock);
	return list;
}

void submit_refuse(struct choir_comm *comm)
{
	pthread_mutex_lock(&comm->submission.lock);
	comm->submission.closing = true;
	pthread_mutex_unlock(&comm->submission.lock);
}
