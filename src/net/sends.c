/* SPDX-License-Identifier: MIT */
#include "net/sends.h"

#include "base/error.h"

void sends_init(struct sends *sends)
{
	*sends = (struct sends){ .oldest = NULL };
	sends->end = &sends->oldest;
}

/* Forgets a send that is done, or will never be known to be. */
static void end_send(struct sends *sends, struct blocks *blocks, struct send *send)
{
	if (send->in_flight != NULL)
		atomic_fetch_sub_explicit(send->in_flight, 1, memory_order_release);
	atomic_fetch_sub_explicit(&sends->n, 1, memory_order_release);
	blocks_give(blocks, send);
}

choir_status sends_start(struct sends *sends, choir_transport *transport, struct blocks *blocks, int endpoint, struct send *send, size_t bytes)
{
	choir_status st;

	atomic_fetch_add_explicit(&sends->n, 1, memory_order_relaxed);
	if (send->in_flight != NULL)
		atomic_fetch_add_explicit(send->in_flight, 1, memory_order_relaxed);
	*sends->end = send;
	st = transport->ops->send(transport, endpoint, send->data, bytes, &send->request);
	if (st != CHOIR_SUCCESS) {
		sends->end = &send->next; /* to be swept away with the others */
		return st;
	}
	if (send->request != NULL) {
		sends->end = &send->next;
		return CHOIR_SUCCESS;
	}
	*sends->end = NULL;
	blocks_give(blocks, send->data);
	end_send(sends, blocks, send);
	return CHOIR_SUCCESS;
}

choir_status sends_test(struct sends *sends, choir_transport *transport, struct blocks *blocks, bool *progress)
{
	struct send **at = &sends->oldest;

	while (*at != NULL) {
		struct send *send = *at;
		int done = 0;

		TRY(transport->ops->test(transport, send->request, &done));
		if (!done) {
			at = &send->next;
			continue;
		}
		*at = send->next;
		if (*at == NULL)
			sends->end = at;
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

void sends_uncount(struct sends *sends, uint64_t comm, int src)
{
	for (struct send *send = sends->oldest; send != NULL; send = send->next)
		if (send->comm == comm && send->src == src)
			send->in_flight = NULL;
}
