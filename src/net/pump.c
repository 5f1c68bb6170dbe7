/* SPDX-License-Identifier: MIT */
/* Note [pump locks].  A transport takes one call at a time: a thread makes it with the lock `turn` held ("in a turn"),
 * which also guards the list of sends.  The routes have a lock of their own, taken in a turn when a message arrives,
 * and without a turn when a rank sends to itself.  pump_give pushes a message on a lock-free stack for the next turn,
 * so it may be called with any lock held.
 *
 * A thread that drives the pump in a loop could take the lock again before a waiting sender wakes up, and starve it; so
 * pump_drive does nothing while a thread waits for the lock.
 *
 * Note [pump failure].  The first error is final, except a send that found no memory: nothing was sent then.  The pump
 * keeps the sentence, aborts the transport and quarantines the data of unfinished sends (blocks.h), since the transport
 * may still read it.  It lowers their in_flight counters, so that a thread that waits for one finds the error. */
#include "net/pump.h"

#include "base/error.h"
#include "net/blocks.h"
#include "net/zero_copy.h"
#include "net/packet.h"
#include "net/routes.h"
#include "net/sends.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { POLLS_A_DRIVE = 64 };

struct pump {
	choir_transport *transport;
	_Atomic int refs;
	pthread_mutex_t turn;
	_Atomic int waiting;        /* threads that wait for turn */
	struct sends sends;         /* under turn, except its count */
	struct zero_copy zero_copy; /* under turn */
	choir_message unopened;     /* under turn: an arrival for which there was no memory yet */
	bool has_unopened;
	_Atomic(struct pump_message *) given; /* messages to give back to the transport */
	_Atomic int failed;                   /* a choir_status; once it is set fail_text does not change */
	char fail_text[ERROR_TEXT_BYTES];
	struct blocks blocks;
	struct routes routes;
};

choir_status pump_create(choir_transport *transport, struct pump **out_p)
{
	struct pump *pump = calloc(1, sizeof *pump);
	choir_status st;

	if (pump == NULL)
		return error_no_memory("a pump", sizeof *pump);
	pump->transport = transport;
	sends_init(&pump->sends);
	zero_copy_init(&pump->zero_copy);
	atomic_init(&pump->refs, 1);
	st = blocks_init(&pump->blocks);
	if (st != CHOIR_SUCCESS)
		goto free_pump;
	st = routes_init(&pump->routes);
	if (st != CHOIR_SUCCESS)
		goto fini_blocks;
	if (pthread_mutex_init(&pump->turn, NULL) != 0) {
		st = error_set(CHOIR_NO_MEMORY, "no mutex for a pump");
		goto fini_routes;
	}
	*out_p = pump;
	return CHOIR_SUCCESS;

fini_routes:
	routes_fini(&pump->routes);
fini_blocks:
	blocks_fini(&pump->blocks);
free_pump:
	free(pump);
	return st;
}

struct pump *pump_retain(struct pump *pump)
{
	atomic_fetch_add_explicit(&pump->refs, 1, memory_order_relaxed);
	return pump;
}

static void take_turn(struct pump *pump)
{
	atomic_fetch_add_explicit(&pump->waiting, 1, memory_order_relaxed);
	pthread_mutex_lock(&pump->turn);
	atomic_fetch_sub_explicit(&pump->waiting, 1, memory_order_relaxed);
}

static void give_turn(struct pump *pump)
{
	pthread_mutex_unlock(&pump->turn);
}

static choir_status failure(struct pump *pump)
{
	choir_status st = (choir_status)atomic_load_explicit(&pump->failed, memory_order_acquire);

	return st == CHOIR_SUCCESS ? st : error_set(st, "%s", pump->fail_text);
}

/* In a turn: makes this thread's last error final.  Note [pump failure]. */
static choir_status fail(struct pump *pump, choir_status status)
{
	if (atomic_load_explicit(&pump->failed, memory_order_relaxed) == CHOIR_SUCCESS) {
		memcpy(pump->fail_text, error_text(), sizeof pump->fail_text);
		pump->transport->ops->abort(pump->transport);
		atomic_store_explicit(&pump->failed, (int)status, memory_order_release);
	}
	sends_sweep(&pump->sends, &pump->blocks);
	return failure(pump);
}

const void *pump_payload(struct pump_message *message)
{
	zero_copy_hold(message);
	return message->at;
}

/* In a turn, or when no other user of the pump is left. */
static void take_back_given(struct pump *pump)
{
	struct pump_message *message;

	if (atomic_load_explicit(&pump->given, memory_order_relaxed) == NULL)
		return;
	message = atomic_exchange_explicit(&pump->given, NULL, memory_order_acquire);
	while (message != NULL) {
		struct pump_message *next = message->next;

		zero_copy_remove(&pump->zero_copy, message);
		pump->transport->ops->give(pump->transport, &message->raw);
		blocks_give(&pump->blocks, message);
		message = next;
	}
}

void pump_give(struct pump_message *message)
{
	struct pump *pump = message->pump;

	(void)pump_payload(message); /* from now on the pump does not move it */
	if (message->owned != NULL) {
		blocks_give(&pump->blocks, message->owned);
		blocks_give(&pump->blocks, message);
		return;
	}
	message->next = atomic_load_explicit(&pump->given, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&pump->given, &message->next, message, memory_order_release,
	                                              memory_order_relaxed))
		;
}

void pump_release(struct pump *pump)
{
	struct pump_message *kept;

	if (pump == NULL || atomic_fetch_sub_explicit(&pump->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (pump->sends.oldest != NULL)
		fail(pump,
		     error_set(CHOIR_ABORTED, "the %s transport was closed with sends in flight", pump_name(pump)));
	kept = routes_fini(&pump->routes);
	while (kept != NULL) {
		struct pump_message *next = kept->next;

		pump_give(kept);
		kept = next;
	}
	take_back_given(pump);
	if (pump->has_unopened)
		pump->transport->ops->give(pump->transport, &pump->unopened);
	pump->transport->ops->destroy(pump->transport);
	blocks_fini(&pump->blocks);
	pthread_mutex_destroy(&pump->turn);
	free(pump);
}

choir_status pump_attach(struct pump *pump, uint64_t comm, int rank, pump_deliver_fn fn, void *ctx)
{
	return routes_attach(&pump->routes, comm, rank, fn, ctx);
}

void pump_detach(struct pump *pump, uint64_t comm, int rank)
{
	routes_detach(&pump->routes, comm, rank);
	take_turn(pump);
	sends_uncount(&pump->sends, comm, rank);
	give_turn(pump);
}

/* Gives the message to its rank.  In a turn, but for a message of a rank to itself.  An error is final for the pump. */
static choir_status route_message(struct pump *pump, struct pump_message *message)
{
	enum route_outcome outcome = routes_deliver(&pump->routes, message);

	if (outcome == ROUTE_TAKEN)
		return CHOIR_SUCCESS;
	if (outcome == ROUTE_DROP) {
		pump_give(message);
		return CHOIR_SUCCESS;
	}
	error_set(CHOIR_TRANSPORT,
	          "%s: rank %d of comm %llx has not joined yet and too many messages wait for it (rank %d sent %zu "
	          "bytes more; at most %d messages, %llu bytes)",
	          pump_name(pump), message->header.dst, (unsigned long long)message->header.comm,
	          message->header.src, message->payload_bytes, PUMP_KEPT_MESSAGES, (unsigned long long)PUMP_KEPT_BYTES);
	pump_give(message);
	return CHOIR_TRANSPORT;
}

/* Makes a received packet a message of this pump. */
static choir_status open_packet(struct pump *pump, int peer, const void *data, size_t bytes,
                                struct pump_message **out_p)
{
	TRY(packet_open(pump_name(pump), &pump->blocks, peer, data, bytes, out_p));
	(*out_p)->pump = pump;
	return CHOIR_SUCCESS;
}

static choir_status send_to_myself(struct pump *pump, void *data, size_t bytes)
{
	struct pump_message *message = NULL;
	choir_status st = open_packet(pump, pump_rank(pump), data, bytes, &message);

	if (st != CHOIR_SUCCESS) {
		blocks_give(&pump->blocks, data);
		return st;
	}
	message->owned = data;
	st = route_message(pump, message);
	if (st == CHOIR_SUCCESS)
		return st;
	take_turn(pump);
	st = fail(pump, st);
	give_turn(pump);
	return st;
}

/* In a turn: takes ownership of send. */
static choir_status start_send(struct pump *pump, int endpoint, struct send *send, size_t bytes)
{
	choir_status st = failure(pump);

	if (st != CHOIR_SUCCESS) {
		blocks_give(&pump->blocks, send->data);
		blocks_give(&pump->blocks, send);
		return st;
	}
	st = sends_start(&pump->sends, pump->transport, &pump->blocks, endpoint, send, bytes);
	return st == CHOIR_SUCCESS || st == CHOIR_NO_MEMORY ? st : fail(pump, st);
}

static bool has_op(const struct pump *pump, size_t end_of_op)
{
	return pump->transport->ops->struct_size >= end_of_op;
}

#define END_OF_OP(op) (offsetof(choir_transport_ops, op) + sizeof(((choir_transport_ops *)NULL)->op))

/* Sends without a copy of its own if the transport has send_now; *done_p stays 0 if it has not, or found no room. */
static choir_status send_now(struct pump *pump, int endpoint, const struct wire_header *header, const void *payload,
                             size_t payload_bytes, int *done_p)
{
	struct packet_prefix prefix;
	choir_status st;

	if (!has_op(pump, END_OF_OP(send_now)) || pump->transport->ops->send_now == NULL || endpoint == pump_rank(pump))
		return CHOIR_SUCCESS;
	prefix = packet_stamp(header, payload_bytes);
	take_turn(pump);
	st = failure(pump);
	if (st == CHOIR_SUCCESS) {
		st = pump->transport->ops->send_now(pump->transport, endpoint, &prefix, sizeof prefix, payload,
		                                    payload_bytes, done_p);
		if (st != CHOIR_SUCCESS)
			st = fail(pump, st);
	}
	give_turn(pump);
	return st;
}

choir_status pump_send(struct pump *pump, int endpoint, const struct wire_header *header, const void *payload,
                       size_t payload_bytes, _Atomic int *in_flight)
{
	struct send *send;
	void *data;
	choir_status st;
	int done = 0;

	TRY(failure(pump));
	if (endpoint < 0 || endpoint >= pump->transport->size)
		return error_set(CHOIR_ARGUMENT, "%s: there is no endpoint %d among %d", pump_name(pump), endpoint,
		                 pump->transport->size);
	TRY(send_now(pump, endpoint, header, payload, payload_bytes, &done));
	if (done)
		return CHOIR_SUCCESS;
	data = packet_pack(&pump->blocks, header, payload, payload_bytes);
	if (data == NULL)
		return CHOIR_NO_MEMORY;
	if (endpoint == pump_rank(pump))
		return send_to_myself(pump, data, WIRE_PREFIX_BYTES + payload_bytes);
	send = blocks_take(&pump->blocks, sizeof *send);
	if (send == NULL) {
		blocks_give(&pump->blocks, data);
		return CHOIR_NO_MEMORY;
	}
	*send = (struct send){ .data = data, .in_flight = in_flight, .comm = header->comm, .src = header->src };
	take_turn(pump);
	st = start_send(pump, endpoint, send, WIRE_PREFIX_BYTES + payload_bytes);
	give_turn(pump);
	return st;
}

/* Without this op the pump never moves messages that the transport lends. */
static bool has_overdue(const struct pump *pump)
{
	return has_op(pump, END_OF_OP(overdue)) && pump->transport->ops->overdue != NULL;
}

static choir_status poll_arrivals(struct pump *pump, bool *progress)
{
	for (int i = 0; i < POLLS_A_DRIVE; i++) {
		struct pump_message *message = NULL;
		choir_message raw = pump->unopened;
		int arrived = pump->has_unopened;
		choir_status st;

		if (!arrived)
			TRY(pump->transport->ops->poll(pump->transport, &raw, &arrived));
		if (!arrived)
			return CHOIR_SUCCESS;
		*progress = true;
		st = open_packet(pump, raw.peer, raw.data, raw.bytes, &message);
		pump->has_unopened = st == CHOIR_NO_MEMORY;
		pump->unopened = pump->has_unopened ? raw : (choir_message){ 0 };
		if (pump->has_unopened)
			return CHOIR_SUCCESS; /* the next drive tries again, until the call's deadline */
		if (st != CHOIR_SUCCESS) {
			pump->transport->ops->give(pump->transport, &raw);
			return st;
		}
		message->raw = raw;
		if (raw.lent && has_overdue(pump))
			zero_copy_add(&pump->zero_copy, message);
		TRY(route_message(pump, message));
	}
	return CHOIR_SUCCESS;
}

choir_status pump_drive(struct pump *pump, bool *progress)
{
	choir_status st;

	*progress = false;
	TRY(failure(pump));
	if (atomic_load_explicit(&pump->waiting, memory_order_relaxed) > 0 || pthread_mutex_trylock(&pump->turn) != 0)
		return CHOIR_SUCCESS;
	st = failure(pump);
	if (st == CHOIR_SUCCESS) {
		take_back_given(pump);
		st = zero_copy_move_overdue(&pump->zero_copy, pump->transport, &pump->blocks);
		if (st == CHOIR_SUCCESS)
			st = sends_test(&pump->sends, pump->transport, &pump->blocks, progress);
		if (st == CHOIR_SUCCESS)
			st = poll_arrivals(pump, progress);
		if (st != CHOIR_SUCCESS)
			st = fail(pump, st);
	}
	give_turn(pump);
	return st;
}

void pump_abort(struct pump *pump)
{
	take_turn(pump);
	if (atomic_load_explicit(&pump->failed, memory_order_relaxed) == CHOIR_SUCCESS)
		fail(pump, error_set(CHOIR_ABORTED, "the %s transport was aborted", pump_name(pump)));
	give_turn(pump);
}

bool pump_busy(struct pump *pump)
{
	return atomic_load_explicit(&pump->sends.n, memory_order_acquire) > 0;
}

bool pump_sends(struct pump *pump, uint64_t comm, int rank)
{
	bool any;

	if (!pump_busy(pump))
		return false;
	take_turn(pump);
	any = sends_any(&pump->sends, comm, rank);
	give_turn(pump);
	return any;
}

bool pump_polled(const struct pump *pump)
{
	return pump->transport->ops->polled != 0;
}

uint64_t pump_message_bytes(const struct pump *pump, uint64_t usual)
{
	return has_op(pump, END_OF_OP(message_bytes)) && pump->transport->ops->message_bytes > 0
	           ? pump->transport->ops->message_bytes
	           : usual;
}

const char *pump_name(const struct pump *pump)
{
	return pump->transport->ops->name;
}

int pump_rank(const struct pump *pump)
{
	return pump->transport->rank;
}

choir_transport *pump_transport(const struct pump *pump)
{
	return pump->transport;
}
