/* SPDX-License-Identifier: MIT */
/* A rank answers when its engine is driven: one that is in no call, or dead, does not, and that is what is to be learnt.  Questions and answers may be lost; the next
 * question is asked at twice the time. */
#include "exec/roll_call.h"

#include <stdlib.h>

choir_status roll_init(struct choir_comm *comm)
{
	comm->roll.heard = calloc((size_t)comm->n, sizeof *comm->roll.heard);
	comm->roll.asked = calloc((size_t)comm->n, sizeof *comm->roll.asked);
	if (comm->roll.heard == NULL || comm->roll.asked == NULL)
		return error_no_memory("a roll call", (size_t)comm->n * sizeof *comm->roll.heard);
	return CHOIR_SUCCESS;
}

void roll_fini(struct choir_comm *comm)
{
	free(comm->roll.heard);
	free(comm->roll.asked);
}

void roll_deliver(struct choir_comm *comm, const struct wire_header *header)
{
	if (header->src < 0 || header->src >= comm->n)
		return;
	if (header->kind == WIRE_ASK) {
		inbox_compare(&comm->inbox, header);
		atomic_store(&comm->roll.asked[header->src], true);
		atomic_store(&comm->roll.any_asked, true);
	} else if (header->key > atomic_load(&comm->roll.heard[header->src])) {
		atomic_store(&comm->roll.heard[header->src], header->key); /* only the pump's driver writes */
	}
}

uint64_t roll_heard(const struct choir_comm *comm, int rank)
{
	return atomic_load(&comm->roll.heard[rank]);
}

static void send_note(struct choir_comm *comm, int rank, struct wire_header *header)
{
	header->magic = WIRE_MAGIC;
	header->comm = comm->context;
	header->src = comm->rank;
	header->dst = rank;
	(void)pump_send(comm->pump, comm->endpoint_of[rank], header, NULL, 0, NULL); /* a transport that fails says so when it is driven */
}

void roll_ask(struct run *run)
{
	struct choir_comm *comm = run->comm;
	struct wire_header header = { .kind = WIRE_ASK, .key = run->key, .record = run->bound.record };

	for (int rank = 0; rank < comm->n && !run->bound.pair; rank++)
		if (comm->layout.node_of[rank] != comm->layout.node_of[comm->rank])
			send_note(comm, rank, &header);
}

/* All calls below it have started here. */
static uint64_t started(struct choir_comm *comm)
{
	uint64_t first = comm->engine.next_seq;

	for (const struct run *run = comm->engine.active; run != NULL; run = run->next)
		if (!run->bound.pair && run->state == RUN_DEPS && run->seq < first)
			first = run->seq;
	return first;
}

void roll_answer(struct choir_comm *comm)
{
	struct wire_header header = { .kind = WIRE_HERE };

	if (!atomic_load_explicit(&comm->roll.any_asked, memory_order_relaxed) || !atomic_exchange(&comm->roll.any_asked, false))
		return;
	header.key = started(comm);
	for (int rank = 0; rank < comm->n; rank++)
		if (atomic_exchange(&comm->roll.asked[rank], false))
			send_note(comm, rank, &header);
}
