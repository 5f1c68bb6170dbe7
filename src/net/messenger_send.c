/* SPDX-License-Identifier: MIT */
/* How a message leaves: by send_now, as a send in flight, or to its own endpoint. */
#include "net/messenger_state.h"
#include "net/packet.h"

static choir_status send_to_myself(struct messenger *messenger, void *data, size_t bytes)
{
	struct message *message = NULL;
	choir_status st = messenger_open(messenger, messenger_rank(messenger), data, bytes, &message);

	if (st != CHOIR_SUCCESS) {
		blocks_give(&messenger->blocks, data);
		return st;
	}
	message->owned = data;
	st = messenger_route(messenger, message);
	if (st == CHOIR_SUCCESS)
		return st;
	messenger_take_turn(messenger);
	st = messenger_fail(messenger, st);
	messenger_give_turn(messenger);
	return st;
}

/* In a turn: handles the status that the transport gave a send.  Note [messenger failure]. */
static choir_status sent(struct messenger *messenger, int endpoint, choir_status st)
{
	if (st == CHOIR_PEER_DEAD)
		messenger_lose(messenger, endpoint);
	else if (st != CHOIR_SUCCESS && st != CHOIR_NO_MEMORY)
		return messenger_fail(messenger, st);
	return st;
}

/* In a turn: takes ownership of send. */
static choir_status start_send(struct messenger *messenger, struct send *send, size_t bytes)
{
	int endpoint = send->endpoint;
	choir_status st = messenger_failure(messenger);

	if (st != CHOIR_SUCCESS) {
		blocks_give(&messenger->blocks, send->data);
		blocks_give(&messenger->blocks, send);
		return st;
	}
	st = sends_start(&messenger->sends, messenger->transport, &messenger->blocks, send, bytes);
	return sent(messenger, endpoint, st);
}

/* Sends without a copy of its own if the transport has send_now; *done_p stays 0 if it has not, or found no room. */
static choir_status send_now(struct messenger *messenger, int endpoint, const struct wire_header *header,
                             const void *payload, size_t payload_bytes, int *done_p)
{
	struct packet_prefix prefix;
	choir_status st;

	if (!messenger_has_op(messenger, END_OF_OP(send_now)) || messenger->transport->ops->send_now == NULL ||
	    endpoint == messenger_rank(messenger))
		return CHOIR_SUCCESS;
	prefix = packet_stamp(header, payload_bytes);
	messenger_take_turn(messenger);
	st = messenger_failure(messenger);
	if (st == CHOIR_SUCCESS)
		st = sent(messenger, endpoint,
		          messenger->transport->ops->send_now(messenger->transport, endpoint, &prefix, sizeof prefix,
		                                              payload, payload_bytes, done_p));
	messenger_give_turn(messenger);
	return st;
}

choir_status messenger_send(struct messenger *messenger, int endpoint, const struct wire_header *header,
                            const void *payload, size_t payload_bytes, _Atomic int *in_flight)
{
	struct send *send;
	void *data;
	choir_status st;
	int done = 0;

	TRY(messenger_failure(messenger));
	if (endpoint < 0 || endpoint >= messenger->transport->size)
		return error_set(CHOIR_ARGUMENT, "%s: there is no endpoint %d among %d", messenger_name(messenger),
		                 endpoint, messenger->transport->size);
	TRY(send_now(messenger, endpoint, header, payload, payload_bytes, &done));
	if (done)
		return CHOIR_SUCCESS;
	data = packet_pack(&messenger->blocks, header, payload, payload_bytes);
	if (data == NULL)
		return CHOIR_NO_MEMORY;
	if (endpoint == messenger_rank(messenger))
		return send_to_myself(messenger, data, WIRE_PREFIX_BYTES + payload_bytes);
	send = blocks_take(&messenger->blocks, sizeof *send);
	if (send == NULL) {
		blocks_give(&messenger->blocks, data);
		return CHOIR_NO_MEMORY;
	}
	*send = (struct send){
		.data = data, .in_flight = in_flight, .comm = header->comm, .src = header->src, .endpoint = endpoint
	};
	messenger_take_turn(messenger);
	st = start_send(messenger, send, WIRE_PREFIX_BYTES + payload_bytes);
	messenger_give_turn(messenger);
	return st;
}
