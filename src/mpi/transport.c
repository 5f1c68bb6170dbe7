/* SPDX-License-Identifier: MIT */
/* Note [MPI transport].  No call waits: a send is MPI_Isend, an arrival is MPI_Improbe and MPI_Imrecv into memory of
 * the library, and each request is looked at until it is complete.  Up to ARRIVALS messages are received at once, so
 * that a large one does not delay small ones of other peers, and more where none is complete: those of a peer that
 * has stopped never are.  The messages of one peer are delivered in the order in which they were matched.  A
 * send's request is MPI's handle, stored in a pointer.
 *
 * Over TCP most calls of MPI look at the network first, a system call, also MPI_Test of a request that is complete, as
 * those of short messages are at once.  MPI_Request_get_status and MPI_Wait do not: test_request.
 *
 * message_bytes stays below the size from which UCX over TCP uses a rendezvous: 64 KB between two processes whose MPI
 * this library has started and asked for that (Note [eager messages] in mpi/eager.c), else 16 KB.
 *
 * A send that fails tells that its peer is lost where each peer has a connection of its own, which UCX's do; MPI goes
 * on for the others.  Over libfabric any call may bring the failure of any peer, which is final.
 *
 * After the first final failure or abort no MPI call follows.  Memory that MPI was receiving into is quarantined then,
 * since a late peer may still write to it. */
#include "mpi/transport.h"

#include "mpi/begin.h"
#include "mpi/buffers.h"
#include "mpi/eager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRIVALS = 16, TAG = 1, MESSAGE_BYTES = 16 * 1024, LONG_MESSAGE_BYTES = 64 * 1024, SHORT_BYTES = 8 * 1024 };

_Static_assert(sizeof(MPI_Request) <= sizeof(void *), "a request handle fits into a pointer");

struct arrival {
	MPI_Message message; /* while there is no memory for it */
	MPI_Request request;
	bool done;
	int peer;
	size_t bytes;
	void *data;
};

struct mpi_transport {
	choir_transport base;
	choir_transport_ops ops;
	struct mpi_link *link;
	bool stopped;
	bool by_ucx;
	struct arrival *arrivals; /* in the order of matching */
	int n_arrivals, room;
	struct buffers buffers;
};

static struct mpi_transport *self(choir_transport *transport)
{
	return (struct mpi_transport *)transport;
}

static void *request_pack(MPI_Request request)
{
	void *packed = NULL;

	memcpy(&packed, &request, sizeof request);
	return packed;
}

static MPI_Request request_unpack(void *packed)
{
	MPI_Request request;

	memcpy(&request, &packed, sizeof request);
	return request;
}

static choir_status enter(const struct mpi_transport *me)
{
	if (me->stopped)
		return choir_transport_error(CHOIR_ABORTED, "the MPI transport was aborted");
	return mpi_enter() ? CHOIR_SUCCESS : mpi_gone("the MPI transport");
}

/* In MPI: a send has failed. */
static choir_status send_failed(struct mpi_transport *me, const char *call, int rc)
{
	int class = MPI_ERR_OTHER;

	mpi_error(call, rc);
	MPI_Error_class(rc, &class);
	atomic_store(&me->link->failed, true);
	return me->by_ucx && class == MPI_ERR_OTHER ? CHOIR_PEER_DEAD : CHOIR_TRANSPORT;
}

/* MPI_Test; over UCX it looks at the network only for a request that is not complete.  (Over libfabric
 * MPI_Request_get_status may report a request's failure to a handler that ends the process.) */
static int test_request(const struct mpi_transport *me, MPI_Request *request, int *done_p)
{
	int rc;

	if (!me->by_ucx)
		return MPI_Test(request, done_p, MPI_STATUS_IGNORE);
	rc = MPI_Request_get_status(*request, done_p, MPI_STATUS_IGNORE);
	return rc == MPI_SUCCESS && *done_p ? MPI_Wait(request, MPI_STATUS_IGNORE) : rc;
}

static choir_status mpi_send(choir_transport *transport, int peer, const void *data, size_t bytes, void **request_p)
{
	struct mpi_transport *me = self(transport);
	MPI_Request request = MPI_REQUEST_NULL;
	choir_status st = CHOIR_SUCCESS;
	int count = 0, done = 0, rc;

	TRY(mpi_narrow("a message", bytes, &count));
	TRY(enter(me));
	rc = MPI_Isend(data, count, MPI_BYTE, peer, TAG, me->link->comm, &request);
	if (rc != MPI_SUCCESS) {
		char call[48];

		snprintf(call, sizeof call, "MPI_Isend to process %d", peer);
		st = send_failed(me, call, rc);
	} else if (me->by_ucx && bytes < SHORT_BYTES) {
		rc = test_request(me, &request, &done);
		if (rc != MPI_SUCCESS)
			st = send_failed(me, "a test of a send", rc);
	}
	mpi_leave();
	if (st == CHOIR_SUCCESS)
		*request_p = done ? NULL : request_pack(request);
	return st;
}

static choir_status mpi_test(choir_transport *transport, void *packed, int *done_p)
{
	struct mpi_transport *me = self(transport);
	MPI_Request request = request_unpack(packed);
	choir_status st = CHOIR_SUCCESS;
	int rc;

	TRY(enter(me));
	*done_p = 0;
	rc = test_request(me, &request, done_p);
	if (rc != MPI_SUCCESS)
		st = send_failed(me, "a test of a send", rc);
	mpi_leave();
	return st;
}

/* Inside MPI: begins to receive what was matched; NO_MEMORY: another look tries again. */
static choir_status receive(struct mpi_transport *me, struct arrival *arrival)
{
	int count = 0, rc;

	TRY(mpi_narrow("a message", arrival->bytes, &count));
	arrival->data = buffers_take(&me->buffers, arrival->bytes);
	if (arrival->data == NULL)
		return choir_transport_error(CHOIR_NO_MEMORY, "no memory for a message of %d bytes from process %d",
		                             count, arrival->peer);
	rc = MPI_Imrecv(arrival->data, count, MPI_BYTE, &arrival->message, &arrival->request);
	return rc == MPI_SUCCESS ? CHOIR_SUCCESS : mpi_error("MPI_Imrecv", rc);
}

/* Inside MPI: matches one more message if there is one. */
static choir_status match_next(struct mpi_transport *me, int *found_p)
{
	struct arrival *arrival = &me->arrivals[me->n_arrivals];
	MPI_Message message = MPI_MESSAGE_NULL;
	MPI_Status status;
	int count = 0, rc;

	rc = MPI_Improbe(MPI_ANY_SOURCE, TAG, me->link->comm, found_p, &message, &status);
	if (rc != MPI_SUCCESS)
		return mpi_error("MPI_Improbe", rc);
	if (!*found_p)
		return CHOIR_SUCCESS;
	rc = MPI_Get_count(&status, MPI_BYTE, &count);
	if (rc != MPI_SUCCESS || count == MPI_UNDEFINED || count < 0)
		return choir_transport_error(
		    CHOIR_TRANSPORT, "a message from process %d has a length that MPI cannot count", status.MPI_SOURCE);
	*arrival = (struct arrival){
		.message = message, .request = MPI_REQUEST_NULL, .peer = status.MPI_SOURCE, .bytes = (size_t)count
	};
	me->n_arrivals++; /* counted before it is received: if that fails the memory is quarantined */
	return receive(me, arrival);
}

static choir_status test_arrival(struct mpi_transport *me, struct arrival *arrival)
{
	int done = 0, rc;

	if (arrival->done)
		return CHOIR_SUCCESS;
	if (arrival->data == NULL)
		TRY(receive(me, arrival));
	rc = test_request(me, &arrival->request, &done);
	if (rc != MPI_SUCCESS)
		return mpi_error("a test of an arrival", rc);
	arrival->done = done != 0;
	return CHOIR_SUCCESS;
}

static bool overtakes(const struct mpi_transport *me, int i)
{
	for (int earlier = 0; earlier < i; earlier++)
		if (me->arrivals[earlier].peer == me->arrivals[i].peer)
			return true;
	return false;
}

/* The first arrival that is complete and has no earlier one of its peer before it, or -1. */
static int find_complete(const struct mpi_transport *me)
{
	for (int i = 0; i < me->n_arrivals; i++)
		if (me->arrivals[i].done && !overtakes(me, i))
			return i;
	return -1;
}

/* Of a long message more is coming: the looks for it are not in vain. */
static bool is_enough(const struct mpi_transport *me)
{
	return find_complete(me) >= 0 && me->arrivals[me->n_arrivals - 1].bytes < SHORT_BYTES;
}

/* False without memory too: the next look tries again. */
static bool has_room(struct mpi_transport *me)
{
	struct arrival *more;

	if (me->n_arrivals < ARRIVALS)
		return true;
	if (find_complete(me) >= 0)
		return false;
	if (me->n_arrivals < me->room)
		return true;
	more = realloc(me->arrivals, 2 * (size_t)me->room * sizeof *more);
	if (more == NULL)
		return false;
	me->arrivals = more;
	me->room *= 2;
	return true;
}

/* Until one can be delivered and the last is short, or no more can be matched. */
static choir_status look_for_arrivals(struct mpi_transport *me)
{
	int found = 1;

	for (int i = 0; i < me->n_arrivals; i++) {
		choir_status st = test_arrival(me, &me->arrivals[i]);

		if (st != CHOIR_SUCCESS && st != CHOIR_NO_MEMORY)
			return st;
	}
	while (found && has_room(me) && !is_enough(me)) {
		TRY(match_next(me, &found));
		if (found)
			TRY(test_arrival(me, &me->arrivals[me->n_arrivals - 1]));
	}
	return CHOIR_SUCCESS;
}

/* False if none can be delivered. */
static bool take_arrival(struct mpi_transport *me, choir_message *message_p)
{
	int i = find_complete(me);
	const struct arrival *arrival;

	if (i < 0)
		return false;
	arrival = &me->arrivals[i];
	*message_p = (choir_message){ .peer = arrival->peer, .bytes = arrival->bytes, .data = arrival->data };
	me->n_arrivals--;
	memmove(&me->arrivals[i], &me->arrivals[i + 1], (size_t)(me->n_arrivals - i) * sizeof *arrival);
	return true;
}

static choir_status mpi_poll(choir_transport *transport, choir_message *message_p, int *arrived_p)
{
	struct mpi_transport *me = self(transport);
	choir_status st;

	*arrived_p = 0;
	if (!me->stopped && take_arrival(me, message_p)) {
		*arrived_p = 1;
		return CHOIR_SUCCESS;
	}
	TRY(enter(me));
	st = look_for_arrivals(me);
	mpi_leave();
	if (st == CHOIR_SUCCESS || st == CHOIR_NO_MEMORY)
		*arrived_p = take_arrival(me, message_p);
	else
		atomic_store(&me->link->failed, true);
	return *arrived_p ? CHOIR_SUCCESS : st;
}

static void mpi_give(choir_transport *transport, choir_message *message)
{
	buffers_give(&self(transport)->buffers, message->data);
}

static void mpi_abort(choir_transport *transport)
{
	struct mpi_transport *me = self(transport);

	me->stopped = true;
	atomic_store(&me->link->broken, true);
}

/* Finishes the matched messages.  Their senders have sent all of them, so this takes little time or is hopeless. */
static void drain(struct mpi_transport *me)
{
	enum { DRAIN_MS = 1000 };

	for (int i = 0; i < me->n_arrivals && !me->stopped; i++) {
		struct arrival *arrival = &me->arrivals[i];

		if (arrival->data == NULL ||
		    (!arrival->done &&
		     mpi_wait_done(&arrival->request, DRAIN_MS, "receiving the last messages") != CHOIR_SUCCESS))
			mpi_abort(&me->base);
		else
			arrival->done = true;
	}
}

static void mpi_destroy(choir_transport *transport)
{
	struct mpi_transport *me = self(transport);

	drain(me);
	for (int i = 0; i < me->n_arrivals; i++) {
		struct arrival *arrival = &me->arrivals[i];

		if (arrival->done)
			buffers_give(&me->buffers, arrival->data);
		else if (arrival->data != NULL)
			mpi_quarantine(buffers_memory(arrival->data));
	}
	buffers_fini(&me->buffers);
	mpi_link_release(me->link);
	free(me->arrivals);
	free(me);
}

static const choir_transport_ops mpi_ops = {
	.struct_size = sizeof(choir_transport_ops),
	.name = "MPI",
	.polled = 1,
	.send = mpi_send,
	.test = mpi_test,
	.poll = mpi_poll,
	.give = mpi_give,
	.abort = mpi_abort,
	.destroy = mpi_destroy,
	.message_bytes = MESSAGE_BYTES,
};

choir_status mpi_transport_over(struct mpi_link *link, choir_transport **out_p)
{
	struct mpi_transport *me;

	if (mpi_level() < MPI_THREAD_SERIALIZED)
		return choir_transport_error(
		    CHOIR_UNSUPPORTED,
		    "a transport over MPI needs MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE, MPI runs with %s",
		    mpi_level_name(mpi_level()));
	me = calloc(1, sizeof *me);
	if (me != NULL)
		me->arrivals = malloc(ARRIVALS * sizeof *me->arrivals);
	if (me == NULL || me->arrivals == NULL) {
		free(me);
		return choir_transport_error(CHOIR_NO_MEMORY, "no memory for an MPI transport");
	}
	me->room = ARRIVALS;
	me->ops = mpi_ops;
	me->by_ucx = mpi_uses_ucx();
	if (eager_is_long())
		me->ops.message_bytes = LONG_MESSAGE_BYTES;
	me->base = (choir_transport){ .ops = &me->ops, .rank = link->rank, .size = link->size };
	me->link = mpi_link_retain(link);
	*out_p = &me->base;
	return CHOIR_SUCCESS;
}

choir_status mpi_transport_create(MPI_Comm parent, int64_t deadline_ms, choir_transport **out_p)
{
	struct mpi_link *link = NULL;
	choir_status st;

	TRY(mpi_begin("an MPI transport"));
	TRY(mpi_link_create(parent, deadline_ms, &link));
	st = mpi_transport_over(link, out_p);
	mpi_link_release(link);
	return st;
}
