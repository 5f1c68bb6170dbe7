/* SPDX-License-Identifier: MIT */
#include "net/sends.h"

#include "base/error.h"

#include <stdlib.h>

enum { TESTS_A_DRIVE = 64 };

choir_status sends_init(struct sends *sends, int n_endpoints)
{
	*sends = (struct sends){ .oldest = NULL };
	sends->end = &sends->oldest;
	sends->backlogs = calloc((size_t)n_endpoints, sizeof *sends->backlogs);
	if (sends->backlogs == NULL)
		return error_no_memory("the backlogs of a messenger", (size_t)n_endpoints * sizeof *sends->backlogs);
	return CHOIR_SUCCESS;
}

void sends_fini(struct sends *sends)
{
	free(sends->backlogs);
}

static void charge(struct sends *sends, const struct send *send)
{
	struct backlog *backlog = &sends->backlogs[send->endpoint];

	backlog->bytes += send->cost;
	if (backlog->bytes >= SENDS_ROOM)
		atomic_store_explicit(&backlog->full, true, memory_order_relaxed);
}

/* Wakes the waiters once there is room: a thread that waits for it may sleep while another thread drives the
 * messenger. */
static void discharge(struct sends *sends, const struct send *send)
{
	struct backlog *backlog = &sends->backlogs[send->endpoint];

	backlog->bytes -= send->cost;
	if (backlog->bytes > SENDS_ROOM / 2 || !atomic_load_explicit(&backlog->full, memory_order_relaxed))
		return;
	atomic_store_explicit(&backlog->full, false, memory_order_relaxed);
	choir_transport_wake();
}

/* Forgets a send that is done, or that was in flight when the transport failed. */
static void end_send(struct sends *sends, struct blocks *blocks, struct send *send)
{
	discharge(sends, send);
	if (send->in_flight != NULL)
		atomic_fetch_sub_explicit(send->in_flight, 1, memory_order_release);
	atomic_fetch_sub_explicit(&sends->n, 1, memory_order_release);
	blocks_give(blocks, send);
}

/* The transport keeps nothing of a send that ended so, and sends others. */
static bool is_refused(choir_status st)
{
	return st == CHOIR_NO_MEMORY || st == CHOIR_PEER_DEAD;
}

choir_status sends_start(struct sends *sends, choir_transport *transport, struct blocks *blocks, struct send *send,
                         size_t bytes)
{
	choir_status st;

	atomic_fetch_add_explicit(&sends->n, 1, memory_order_relaxed);
	if (send->in_flight != NULL)
		atomic_fetch_add_explicit(send->in_flight, 1, memory_order_relaxed);
	send->cost = bytes + SEND_COST;
	charge(sends, send);
	*sends->end = send;
	st = transport->ops->send(transport, send->endpoint, send->data, bytes, &send->request);
	if (st == CHOIR_SUCCESS ? send->request != NULL : !is_refused(st)) {
		sends->end = &send->next; /* after an error sends_sweep takes it with the others */
		return st;
	}
	*sends->end = NULL;
	blocks_give(blocks, send->data);
	end_send(sends, blocks, send);
	return st;
}

static void remove_oldest(struct sends *sends)
{
	sends->oldest = sends->oldest->next;
	if (sends->oldest == NULL)
		sends->end = &sends->oldest;
}

static void put_last(struct sends *sends, struct send *send)
{
	send->next = NULL;
	*sends->end = send;
	sends->end = &send->next;
}

choir_status sends_test(struct sends *sends, choir_transport *transport, struct blocks *blocks, bool *progress,
                        int *lost_p)
{
	int left = atomic_load_explicit(&sends->n, memory_order_relaxed);

	for (left = left < TESTS_A_DRIVE ? left : TESTS_A_DRIVE; left > 0; left--) {
		struct send *send = sends->oldest;
		choir_status st;
		int done = 0;

		st = transport->ops->test(transport, send->request, &done);
		if (st != CHOIR_SUCCESS && st != CHOIR_PEER_DEAD)
			return st;
		remove_oldest(sends);
		if (st == CHOIR_PEER_DEAD) {
			*lost_p = send->endpoint;
			blocks_quarantine(send->data);
			end_send(sends, blocks, send);
			return st;
		}
		if (!done) {
			put_last(sends, send); /* the others are tested before this one is tested again */
			continue;
		}
		blocks_give(blocks, send->data);
		end_send(sends, blocks, send);
		*progress = true;
	}
	return CHOIR_SUCCESS;
}

void sends_sweep(struct sends *sends, struct blocks *blocks)
{
	while (sends->oldest != NULL) {
		struct send *send = sends->oldest;

		sends->oldest = send->next;
		blocks_quarantine(send->data);
		end_send(sends, blocks, send);
	}
	sends->end = &sends->oldest;
}

bool sends_any(const struct sends *sends, uint64_t comm, int src)
{
	const struct send *send = sends->oldest;

	while (send != NULL && (send->comm != comm || send->src != src))
		send = send->next;
	return send != NULL;
}

void sends_uncount(struct sends *sends, uint64_t comm, int src)
{
	for (struct send *send = sends->oldest; send != NULL; send = send->next)
		if (send->comm == comm && send->src == src)
			send->in_flight = NULL;
}
