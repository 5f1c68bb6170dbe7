/* SPDX-License-Identifier: MIT */
/* The shell of a comm, which events and requests keep: references, users, doorbells, the sticky failure. */
#include "exec/comm.h"

#include "base/log.h"
#include "exec/layout.h"
#include "exec/relatives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(COMM_LANES <= ARENA_MOST_LANES, "arena_control.done has a place for each lane");

struct choir_comm *comm_retain(struct choir_comm *comm)
{
	atomic_fetch_add_explicit(&comm->uses.refs, 1, memory_order_relaxed);
	return comm;
}

void comm_release(struct choir_comm *comm)
{
	if (comm == NULL || atomic_fetch_sub_explicit(&comm->uses.refs, 1, memory_order_acq_rel) != 1)
		return;
	layout_free(&comm->layout);
	choir_device_destroy(comm->device); /* runs that a group held back gave their memory back to it */
	free(comm);
}

bool comm_enter(struct choir_comm *comm)
{
	atomic_fetch_add(&comm->uses.inside, 1);
	if (!atomic_load(&comm->engine.closed))
		return true;
	comm_leave(comm);
	return false;
}

void comm_leave(struct choir_comm *comm)
{
	atomic_fetch_sub(&comm->uses.inside, 1);
}

choir_status comm_send(struct choir_comm *comm, int rank, struct wire_header *header, const void *payload, size_t bytes)
{
	choir_status st;

	header->magic = WIRE_MAGIC;
	header->comm = comm->context;
	header->src = comm->rank;
	header->dst = rank;
	st = messenger_send(comm->messenger, comm->endpoint_of[rank], header, payload, bytes, NULL);
	return st == CHOIR_PEER_DEAD ? error_prefix(st, "rank %d is dead or cut off", rank) : st;
}

void comm_wake_node(struct choir_comm *comm)
{
	for (int i = 0; i < comm->n_near; i++)
		bell_ring(comm->processes[i].bell);
	if (comm->wake_mine)
		bell_ring_mine();
}

void comm_wake_step(struct choir_comm *comm)
{
	for (int i = 0; i < comm->n_near; i++)
		bell_ring_step(comm->processes[i].bell, comm->process);
	if (comm->wake_mine)
		bell_ring_mine();
}

void comm_wake_self(void *unused)
{
	(void)unused;
	bell_ring_mine();
}

void comm_take_poison(struct choir_comm *comm)
{
	char text[ERROR_TEXT_BYTES];
	choir_status st;

	if (comm_has_failed(comm))
		return;
	st = arena_poisoned(comm->arena, text, sizeof text);
	if (st != CHOIR_SUCCESS)
		comm_fail_from_peer(comm, st, text);
}

static choir_status failure(const struct choir_comm *comm)
{
	choir_status st = (choir_status)atomic_load_explicit(&comm->failure.status, memory_order_acquire);

	return st == CHOIR_SUCCESS ? st : error_set(st, "%s", comm->failure.text);
}

choir_status comm_failure(struct choir_comm *comm)
{
	if (comm_enter(comm)) {
		comm_see_poison(comm);
		comm_leave(comm);
	}
	return failure(comm);
}

choir_status comm_failure_inside(struct choir_comm *comm)
{
	comm_see_poison(comm);
	return failure(comm);
}

/* True for the first one, whose text it is. */
static bool set_failure(struct choir_comm *comm, choir_status status, const char *text)
{
	bool first;

	pthread_mutex_lock(&comm->failure.lock);
	first = !comm_has_failed(comm);
	if (first) {
		snprintf(comm->failure.text, sizeof comm->failure.text, "%s", text);
		relatives_tell(comm, status, text); /* before any call returns it */
		atomic_store_explicit(&comm->failure.status, status, memory_order_release);
	}
	pthread_mutex_unlock(&comm->failure.lock);
	if (first)
		bell_ring_mine();
	return first;
}

static void tell_network(struct choir_comm *comm, choir_status status)
{
	size_t bytes = strlen(comm->failure.text) + 1;
	struct wire_header header = { .kind = WIRE_FAIL, .key = status, .bytes_check = (uint32_t)bytes };

	for (int rank = 0; rank < comm->n; rank++) {
		if (rank == comm->rank || comm_is_near(comm, rank))
			continue;
		/* Whom it does not reach has its deadline. */
		(void)comm_send(comm, rank, &header, comm->failure.text, bytes);
	}
}

void comm_fail(struct choir_comm *comm, choir_status status, const char *text)
{
	if (!set_failure(comm, status, text))
		return;
	log_text(LOG_ERROR, "%s", comm->failure.text);
	arena_poison(comm->arena, status, comm->failure.text);
	comm_wake_node(comm);
	if (comm->messenger != NULL)
		tell_network(comm, status);
}

void comm_fail_from_peer(struct choir_comm *comm, choir_status status, const char *text)
{
	if (!set_failure(comm, status, text))
		return;
	/* a message came to one rank of the node: the others learn it here */
	arena_poison(comm->arena, status, comm->failure.text);
	comm_wake_node(comm);
}
