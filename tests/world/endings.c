/* SPDX-License-Identifier: MIT */
#include "world/endings.h"

#include "exec/comm.h"
#include "world/inline_bound.h"
#include "base/wait.h"
#include "exec/progress.h"
#include "exec/run.h"
#include "world/gate.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SENTINEL = -77,
	TIMES = 9 /* too much for the line of a flag */,
	TRIES = 300,
	CROWDED_TRIES = 1,
	IN_A_ROW = 10 /* after a barrier ranks come too late for each other */
};

/* What the sentence calls it, before and behind its number. */
static const char *const names[][2] = {
	[ENDS_SUM] = { "allreduce", "(3 x i32, sum" },
	[ENDS_SHARED_SUM] = { "allreduce", "(515 x i32, sum" },
	[ENDS_BROADCAST] = { "broadcast", "(515 x i32" },
	[ENDS_ALLGATHERV] = { "allgatherv", "x i32" },
	[ENDS_REDUCE_SCATTERV] = { "reduce_scatterv", "x i32, sum" },
	[ENDS_ALLTOALLV] = { "alltoallv", "x i32" },
	[ENDS_SENDRECV] = { "send/recv", "(515 x i32)" },
};

static size_t count_of(int from, int to)
{
	return TIMES * (size_t)(1 + (from + 2 * to) % 3);
}

static void lay_out(const size_t *counts, size_t *at, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++) {
		at[i] = sum;
		sum += counts[i];
	}
}

choir_status ending_call(struct ending *e)
{
	int n = choir_comm_size(e->comm), me = choir_comm_rank(e->comm);
	choir_buffer in = choir_host(e->in), out = choir_host(e->out);
	size_t sends[ENDING_RANKS], send_at[ENDING_RANKS];

	for (int i = 0; i < n; i++) {
		e->counts[i] = e->kind == ENDS_ALLTOALLV ? count_of(i, me) : count_of(i, 1);
		sends[i] = count_of(me, i);
	}
	lay_out(e->counts, e->at, n);
	lay_out(sends, send_at, n);
	switch (e->kind) {
	case ENDS_SUM:
		return choir_allreduce(e->comm, in, out, 3, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL);
	case ENDS_SHARED_SUM:
		return choir_allreduce(e->comm, in, out, ENDING_COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL);
	case ENDS_BROADCAST:
		return choir_broadcast(e->comm, in, out, ENDING_COUNT, CHOIR_I32, e->who, NULL, NULL);
	case ENDS_ALLGATHERV:
		return choir_allgatherv(e->comm, in, e->counts[me], out, e->counts, e->at, CHOIR_I32, NULL, NULL);
	case ENDS_REDUCE_SCATTERV:
		return choir_reduce_scatterv(e->comm, in, out, e->counts, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL);
	case ENDS_ALLTOALLV:
		return choir_alltoallv(e->comm, in, sends, send_at, out, e->counts, e->at, CHOIR_I32, NULL, NULL);
	default:
		return choir_sendrecv(e->comm, in, ENDING_COUNT, (me + 1) % n, out, ENDING_COUNT, (me + n - 1) % n,
		                      CHOIR_I32, NULL, NULL);
	}
}

static bool stands(const struct ending *e)
{
	if (e->kind == ENDS_SENDRECV)
		return inline_bound(e->comm, INLINE_SEND) && inline_bound(e->comm, INLINE_RECV);
	return inline_bound(e->comm, INLINE_COLLECTIVE);
}

static bool take_memory(struct ending *e)
{
	size_t bytes = ENDING_ROOM * sizeof *e->in;
	void *memory = e->in;

	if (memory == NULL && e->kind != ENDS_SHARED_SUM)
		memory = malloc(2 * bytes);
	else if (memory == NULL && choir_mem_alloc(e->comm, 2 * bytes, &memory, NULL) != CHOIR_SUCCESS)
		return false;
	e->in = memory;
	e->out = e->in + ENDING_ROOM;
	for (int i = 0; i < ENDING_ROOM; i++)
		e->in[i] = 1000 * choir_comm_rank(e->comm) + i;
	return true;
}

bool ending_begin(struct ending *e)
{
	int tries = e->comm->crowded ? CROWDED_TRIES : TRIES;
	bool all = false;

	if (!take_memory(e))
		return false;
	for (int i = 0; i < tries && !all; i++) {
		for (int k = 0; k < IN_A_ROW; k++)
			if (ending_call(e) != CHOIR_SUCCESS)
				return false;
		all = e->all(e, stands(e));
	}
	return true;
}

void ending_free(struct ending *e)
{
	if (e->kind == ENDS_SHARED_SUM)
		(void)choir_mem_free(e->comm, e->in);
	else
		free(e->in);
}

/* Whose message has come is in its sendrecv. */
bool ending_wait_inside(struct ending *e)
{
	struct choir_comm *comm = e->comm;
	int left = (comm->rank + comm->n - 1) % comm->n;

	if (e->kind == ENDS_SENDRECV)
		return choir_recv(comm, choir_host(e->out), ENDING_COUNT, CHOIR_I32, left, NULL, NULL) == CHOIR_SUCCESS;
	for (int rank = 0; rank < comm->n; rank++)
		while (rank != comm->rank && rank != e->who &&
		       atomic_load(&arena_control(comm->arena, comm->layout.local_rank_of[rank])->submitted) <=
		           comm->submission.next_seq)
			sched_yield();
	return true;
}

void ending_shorten(struct ending *e, int64_t deadline_ms)
{
	e->comm->deadline_ms = deadline_ms;
}

static uint64_t number_of_next(const struct ending *e)
{
	const struct choir_comm *comm = e->comm;

	return e->kind == ENDS_SENDRECV ? comm->submission.received[(comm->rank + comm->n - 1) % comm->n]
	                                : comm->submission.next_seq;
}

static bool is_untouched(const struct ending *e)
{
	for (int i = 0; i < ENDING_ROOM; i++)
		if (e->out[i] != SENTINEL)
			return false;
	return true;
}

/* The failure stays: the same call again says it at once, in the same words, and does nothing. */
static const char *check_left(struct ending *e, choir_status wanted, const char *said)
{
	int64_t start = wait_now_ns();

	for (int i = 0; i < ENDING_ROOM; i++)
		e->out[i] = SENTINEL;
	if (choir_comm_status(e->comm) != wanted || strcmp(choir_last_error(), said) != 0)
		return "the comm has another failure";
	if (ending_call(e) != wanted || strcmp(choir_last_error(), said) != 0)
		return "the next call fails otherwise";
	if (wait_now_ns() - start > INT64_C(15000000000))
		return "the next call fails late";
	return is_untouched(e) ? NULL : "the next call writes";
}

const char *ending_check(struct ending *e, choir_status wanted, const char *words, int64_t least_ms, int64_t most_ms)
{
	char text[sizeof e->wrong / 2], number[32];
	int64_t start = wait_now_ns(), ms;
	choir_status st = CHOIR_SUCCESS;
	const char *wrong;

	snprintf(number, sizeof number, "%s #%llu ", names[e->kind][0], (unsigned long long)number_of_next(e));
	for (int i = 0; i < 3 && st == CHOIR_SUCCESS;
	     i++) /* who wants nothing of the one that went learns of it later */
		st = ending_call(e);
	ms = (wait_now_ns() - start) / 1000000;
	snprintf(text, sizeof text, "%s", choir_last_error());
	wrong =
	    st != wanted ? "status"
	    : !says(text, words) || (wanted != CHOIR_ABORTED && !(says(text, number) && says(text, names[e->kind][1])))
		? "words"
	    : ms < least_ms || ms > most_ms ? "time"
					    : check_left(e, wanted, text);
	if (wrong == NULL)
		return NULL;
	snprintf(e->wrong, sizeof e->wrong, "kind %d: %s: %s after %lld ms: \"%s\" (of %s)", (int)e->kind, wrong,
	         choir_status_name(st), (long long)ms, text, number);
	return e->wrong;
}
