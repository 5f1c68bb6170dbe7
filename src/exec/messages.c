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

enum { MOST_LOOKS = 1000 };

/* Fails the comm with the transport's sentence, the rank and the oldest of its calls. */
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

/* Until two looks bring nothing: MPI may show only at the second what came in at the first. */
static void hear_all(struct choir_comm *comm)
{
	for (int looks = 0, idle = 0; looks < MOST_LOOKS && idle < 2 && !comm_has_failed(comm); looks++) {
		bool moved = false;

		if (messenger_drive(comm->messenger, &moved) != CHOIR_SUCCESS)
			return;
		idle = moved ? 0 : idle + 1;
	}
}

/* The news of an earlier failure may lie behind the message that differs; it counts first. */
static void fail_mismatch(struct choir_comm *comm, const struct inbox_mismatch *found)
{
	choir_status st;

	hear_all(comm);
	if (comm_has_failed(comm))
		return;
	st = record_mismatch(comm, found->key, found->name, &found->mine, found->src, &found->theirs);
	comm_fail(comm, st, error_text());
}

void messages_explain(struct run *run)
{
	struct choir_comm *comm = run->comm;
	choir_status st;

	if (run->status != CHOIR_PEER_DEAD || comm->messenger == NULL || comm_has_failed(comm))
		return;
	hear_all(comm);
	st = gone_refuse(run);
	if (st != CHOIR_SUCCESS)
		run_set_failure(run, st, error_text());
}

bool messages_drive(struct choir_comm *comm, bool always)
{
	const struct inbox *inbox = &comm->inbox;
	bool moved = false;
	choir_status st;

	if (comm->messenger == NULL ||
	    !(always || flight_uses_messages(&comm->engine.flight) || messenger_busy(comm->messenger)))
		return false;
	st = always ? messenger_drive(comm->messenger, &moved) : messenger_drive_until_short(comm->messenger, &moved);
	if (st != CHOIR_SUCCESS)
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
	bell_ring_mine();
}
