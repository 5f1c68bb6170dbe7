/* SPDX-License-Identifier: MIT */
#include "exec/messages.h"

#include "base/wait.h"
#include "exec/flight.h"
#include "exec/gone.h"
#include "exec/keyed.h"
#include "exec/liveness.h"
#include "exec/record.h"

#include <stdio.h>
#include <string.h>

/* What the transport says, with the rank and the oldest of its calls. */
static void fail_transport(struct choir_comm *comm, const char *why)
{
	const struct run *oldest = comm->engine.flight.all;
	char text[ERROR_TEXT_BYTES], called[RUN_TEXT_BYTES] = "no call under way";

	if (comm_has_failed(comm))
		return;
	if (oldest != NULL)
		run_call_text(oldest, called, sizeof called);
	snprintf(text, sizeof text, "%s: rank %d: %s: %s", comm->name, comm->rank, called, why);
	comm_fail(comm, CHOIR_TRANSPORT, text);
}

static void fail_mismatch(struct choir_comm *comm, const struct inbox_mismatch *found)
{
	choir_status st = record_mismatch(comm, found->key, found->name, &found->mine, found->src, &found->theirs);

	comm_fail(comm, st, error_text());
}

/* A call first learns all that has arrived, so also that its comm has failed, then waits for one message at a time. */
static choir_status drive(struct choir_comm *comm, bool *moved)
{
	struct engine *engine = &comm->engine;

	if (engine->flight.all != NULL && engine->knows_arrivals)
		return messenger_drive_once(comm->messenger, moved);
	engine->knows_arrivals = true;
	return messenger_drive(comm->messenger, moved);
}

bool messages_drive(struct choir_comm *comm, bool always)
{
	const struct inbox *inbox = &comm->inbox;
	bool moved = false;

	if (comm->messenger == NULL ||
	    !(always || flight_uses_messages(&comm->engine.flight) || messenger_busy(comm->messenger)))
		return false;
	if (drive(comm, &moved) != CHOIR_SUCCESS)
		fail_transport(comm, error_text());
	if (atomic_load_explicit(&inbox->overflow, memory_order_relaxed))
		fail_transport(comm, "messages of more than 1 GiB came for calls that this rank has not made yet");
	if (atomic_load_explicit(&inbox->has_mismatch, memory_order_acquire) && !comm_has_failed(comm))
		fail_mismatch(comm, &inbox->mismatch);
	liveness_answer(comm);
	return moved; /* a failed comm too: the news of it must get out */
}

void messages_deliver(void *ctx, struct message *message)
{
	struct choir_comm *comm = ctx;

	if (message->header.kind == WIRE_FAIL) {
		char text[ERROR_TEXT_BYTES];
		size_t n = message->payload_bytes < sizeof text ? message->payload_bytes : sizeof text - 1;

		memcpy(text, message_payload(message), n);
		text[n] = '\0';
		comm_fail_from_peer(comm, (choir_status)message->header.key, text);
		message_give(message);
		return;
	}
	if (message->header.kind == WIRE_DATA) {
		inbox_put(&comm->inbox, message);
	} else {
		if (message->header.kind == WIRE_GONE)
			gone_deliver(comm, message);
		else if (message->header.kind == WIRE_KEY)
			keyed_deliver(comm, &message->header);
		else
			liveness_deliver(comm, &message->header, wait_now_ns());
		message_give(message);
	}
	bell_ring(bell_mine());
}
