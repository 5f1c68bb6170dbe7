/* SPDX-License-Identifier: MIT */
/* Note [messenger locks].  A transport takes one call at a time: a thread makes it with the lock `turn` held ("in a
 * turn"), which also guards the list of sends.  The routes have a lock of their own, taken in a turn when a message
 * arrives, and without a turn when a rank sends to itself.  message_give pushes a message on a lock-free stack for the
 * next turn, so it may be called with any lock held.
 *
 * A thread that drives the messenger in a loop could take the lock again before a waiting sender wakes up, and starve
 * it; so messenger_drive does nothing while a thread waits for the lock.
 *
 * Note [messenger failure].  The first error is final, except a send that found no memory or whose endpoint is lost:
 * nothing was sent then, and others get what is for them.  The messenger keeps the sentence, aborts the transport and
 * quarantines the data of unfinished sends (blocks.h), since the transport may still read it.  It lowers their
 * in_flight counters, so that a thread that waits for one finds the error. */
#include "net/messenger.h"

#include "net/messenger_state.h"
#include "net/packet.h"

#include <stdlib.h>
#include <string.h>

enum { ARRIVALS_A_DRIVE = 64, SHORT_BYTES = 8 * 1024 };

choir_status messenger_create(choir_transport *transport, struct messenger **out_p)
{
	struct messenger *messenger = calloc(1, sizeof *messenger);
	choir_status st;

	if (messenger == NULL)
		return error_no_memory("a messenger", sizeof *messenger);
	messenger->transport = transport;
	messenger->lost = calloc((size_t)transport->size, sizeof *messenger->lost);
	if (messenger->lost == NULL) {
		st = error_no_memory("a messenger", (size_t)transport->size * sizeof *messenger->lost);
		goto free_messenger;
	}
	st = sends_init(&messenger->sends, transport->size);
	if (st != CHOIR_SUCCESS)
		goto free_messenger;
	zero_copy_init(&messenger->zero_copy);
	atomic_init(&messenger->refs, 1);
	st = blocks_init(&messenger->blocks);
	if (st != CHOIR_SUCCESS)
		goto free_messenger;
	st = routes_init(&messenger->routes);
	if (st != CHOIR_SUCCESS)
		goto fini_blocks;
	if (pthread_mutex_init(&messenger->turn, NULL) != 0) {
		st = error_set(CHOIR_NO_MEMORY, "no mutex for a messenger");
		goto fini_routes;
	}
	*out_p = messenger;
	return CHOIR_SUCCESS;

fini_routes:
	routes_fini(&messenger->routes);
fini_blocks:
	blocks_fini(&messenger->blocks);
free_messenger:
	sends_fini(&messenger->sends);
	free(messenger->lost);
	free(messenger);
	return st;
}

struct messenger *messenger_retain(struct messenger *messenger)
{
	atomic_fetch_add_explicit(&messenger->refs, 1, memory_order_relaxed);
	return messenger;
}

void messenger_take_turn(struct messenger *messenger)
{
	atomic_fetch_add_explicit(&messenger->waiting, 1, memory_order_relaxed);
	pthread_mutex_lock(&messenger->turn);
	atomic_fetch_sub_explicit(&messenger->waiting, 1, memory_order_relaxed);
}

void messenger_give_turn(struct messenger *messenger)
{
	pthread_mutex_unlock(&messenger->turn);
}

bool messenger_is_free(struct messenger *messenger)
{
	if (pthread_mutex_trylock(&messenger->turn) != 0)
		return false;
	pthread_mutex_unlock(&messenger->turn);
	return true;
}

choir_status messenger_failure(struct messenger *messenger)
{
	choir_status st = (choir_status)atomic_load_explicit(&messenger->failed, memory_order_acquire);

	return st == CHOIR_SUCCESS ? st : error_set(st, "%s", messenger->fail_text);
}

/* In a turn: makes this thread's last error final.  Note [messenger failure]. */
choir_status messenger_fail(struct messenger *messenger, choir_status status)
{
	if (atomic_load_explicit(&messenger->failed, memory_order_relaxed) == CHOIR_SUCCESS) {
		memcpy(messenger->fail_text, error_text(), sizeof messenger->fail_text);
		messenger->transport->ops->abort(messenger->transport);
		atomic_store_explicit(&messenger->failed, (int)status, memory_order_release);
	}
	sends_sweep(&messenger->sends, &messenger->blocks);
	return messenger_failure(messenger);
}

void messenger_lose(struct messenger *messenger, int endpoint)
{
	atomic_store_explicit(&messenger->lost[endpoint], true, memory_order_relaxed);
	atomic_store_explicit(&messenger->any_lost, true, memory_order_release);
}

bool messenger_any_lost(const struct messenger *messenger)
{
	return atomic_load_explicit(&messenger->any_lost, memory_order_acquire);
}

bool messenger_lost(const struct messenger *messenger, int endpoint)
{
	return messenger_any_lost(messenger) && atomic_load_explicit(&messenger->lost[endpoint], memory_order_relaxed);
}

const void *message_payload(struct message *message)
{
	zero_copy_hold(message);
	return message->at;
}

/* In a turn, or when no other user of the messenger is left. */
static void take_back_given(struct messenger *messenger)
{
	struct message *message;

	if (atomic_load_explicit(&messenger->given, memory_order_relaxed) == NULL)
		return;
	message = atomic_exchange_explicit(&messenger->given, NULL, memory_order_acquire);
	while (message != NULL) {
		struct message *next = message->next;

		zero_copy_remove(&messenger->zero_copy, message);
		messenger->transport->ops->give(messenger->transport, &message->raw);
		blocks_give(&messenger->blocks, message);
		message = next;
	}
}

void message_give(struct message *message)
{
	struct messenger *messenger = message->messenger;

	(void)message_payload(message); /* from now on the messenger does not move it */
	if (message->owned != NULL) {
		blocks_give(&messenger->blocks, message->owned);
		blocks_give(&messenger->blocks, message);
		return;
	}
	message->next = atomic_load_explicit(&messenger->given, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&messenger->given, &message->next, message, memory_order_release,
	                                              memory_order_relaxed))
		;
}

void messenger_release(struct messenger *messenger)
{
	struct message *kept;

	if (messenger == NULL || atomic_fetch_sub_explicit(&messenger->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (messenger->sends.oldest != NULL)
		messenger_fail(messenger, error_set(CHOIR_ABORTED, "the %s transport was closed with sends in flight",
		                                    messenger_name(messenger)));
	kept = routes_fini(&messenger->routes);
	while (kept != NULL) {
		struct message *next = kept->next;

		message_give(kept);
		kept = next;
	}
	take_back_given(messenger);
	if (messenger->has_unopened)
		messenger->transport->ops->give(messenger->transport, &messenger->unopened);
	messenger->transport->ops->destroy(messenger->transport);
	blocks_fini(&messenger->blocks);
	sends_fini(&messenger->sends);
	pthread_mutex_destroy(&messenger->turn);
	free(messenger->lost);
	free(messenger);
}

choir_status messenger_attach(struct messenger *messenger, uint64_t comm, int rank, messenger_deliver_fn fn, void *ctx)
{
	return routes_attach(&messenger->routes, comm, rank, fn, ctx);
}

void messenger_detach(struct messenger *messenger, uint64_t comm, int rank)
{
	routes_detach(&messenger->routes, comm, rank);
	messenger_take_turn(messenger);
	sends_uncount(&messenger->sends, comm, rank);
	messenger_give_turn(messenger);
}

/* Gives the message to its rank.  In a turn, but for a message of a rank to itself.  An error is final for the
 * messenger. */
choir_status messenger_route(struct messenger *messenger, struct message *message)
{
	enum route_outcome outcome = routes_deliver(&messenger->routes, message);

	if (outcome == ROUTE_TAKEN)
		return CHOIR_SUCCESS;
	if (outcome == ROUTE_DROP) {
		message_give(message);
		return CHOIR_SUCCESS;
	}
	error_set(CHOIR_TRANSPORT,
	          "%s: rank %d of comm %llx has not joined yet and too many messages wait for it (rank %d sent %zu "
	          "bytes more; at most %d messages, %llu bytes)",
	          messenger_name(messenger), message->header.dst, (unsigned long long)message->header.comm,
	          message->header.src, message->payload_bytes, MESSENGER_KEPT_MESSAGES,
	          (unsigned long long)MESSENGER_KEPT_BYTES);
	message_give(message);
	return CHOIR_TRANSPORT;
}

/* Makes a received packet a message of this messenger. */
choir_status messenger_open(struct messenger *messenger, int peer, const void *data, size_t bytes,
                            struct message **out_p)
{
	TRY(packet_open(messenger_name(messenger), &messenger->blocks, peer, data, bytes, out_p));
	(*out_p)->messenger = messenger;
	return CHOIR_SUCCESS;
}

/* Without this op the messenger never moves a message out of the transport's channel. */
static bool has_overdue(const struct messenger *messenger)
{
	return messenger_has_op(messenger, END_OF_OP(overdue)) && messenger->transport->ops->overdue != NULL;
}

static void note_memory(struct messenger *messenger, bool lacks)
{
	if (atomic_load_explicit(&messenger->lacks_memory, memory_order_relaxed) != lacks)
		atomic_store_explicit(&messenger->lacks_memory, lacks, memory_order_relaxed);
}

bool messenger_lacks_memory(const struct messenger *messenger)
{
	return atomic_load_explicit(&messenger->lacks_memory, memory_order_relaxed);
}

/* until_short: no further than a short message.  Of a long one most likely more is coming. */
static choir_status poll_arrivals(struct messenger *messenger, bool until_short, bool *progress)
{
	bool is_short = false;

	for (int i = 0; i < ARRIVALS_A_DRIVE && !(until_short && is_short); i++) {
		struct message *message = NULL;
		choir_message raw = messenger->unopened;
		int arrived = messenger->has_unopened;
		choir_status st = CHOIR_SUCCESS;

		if (!arrived)
			st = messenger->transport->ops->poll(messenger->transport, &raw, &arrived);
		if (st != CHOIR_SUCCESS && st != CHOIR_NO_MEMORY)
			return st;
		if (!arrived) { /* without memory the next drive tries again, until the call's deadline */
			note_memory(messenger, st == CHOIR_NO_MEMORY);
			return CHOIR_SUCCESS;
		}
		*progress = true;
		is_short = raw.bytes < SHORT_BYTES;
		st = messenger_open(messenger, raw.peer, raw.data, raw.bytes, &message);
		messenger->has_unopened = st == CHOIR_NO_MEMORY;
		messenger->unopened = messenger->has_unopened ? raw : (choir_message){ 0 };
		if (messenger->has_unopened) { /* the next drive tries again */
			note_memory(messenger, true);
			return CHOIR_SUCCESS;
		}
		if (st != CHOIR_SUCCESS) {
			messenger->transport->ops->give(messenger->transport, &raw);
			return st;
		}
		message->raw = raw;
		if (raw.lent && has_overdue(messenger))
			zero_copy_add(&messenger->zero_copy, message);
		TRY(messenger_route(messenger, message));
	}
	return CHOIR_SUCCESS;
}

/* Of the other sends the next drive asks. */
static choir_status test_sends(struct messenger *messenger, bool *progress)
{
	int lost = 0;
	choir_status st = sends_test(&messenger->sends, messenger->transport, &messenger->blocks, progress, &lost);

	if (st != CHOIR_PEER_DEAD)
		return st;
	messenger_lose(messenger, lost);
	return CHOIR_SUCCESS;
}

static choir_status drive(struct messenger *messenger, bool until_short, bool *progress)
{
	choir_status st;

	*progress = false;
	TRY(messenger_failure(messenger));
	if (atomic_load_explicit(&messenger->waiting, memory_order_relaxed) > 0 ||
	    pthread_mutex_trylock(&messenger->turn) != 0)
		return CHOIR_SUCCESS;
	st = messenger_failure(messenger);
	if (st == CHOIR_SUCCESS) {
		take_back_given(messenger);
		zero_copy_move_overdue(&messenger->zero_copy, messenger->transport, &messenger->blocks);
		st = test_sends(messenger, progress);
		if (st == CHOIR_SUCCESS)
			st = poll_arrivals(messenger, until_short, progress);
		if (st != CHOIR_SUCCESS)
			st = messenger_fail(messenger, st);
	}
	messenger_give_turn(messenger);
	return st;
}

choir_status messenger_drive(struct messenger *messenger, bool *progress)
{
	return drive(messenger, false, progress);
}

choir_status messenger_drive_until_short(struct messenger *messenger, bool *progress)
{
	return drive(messenger, messenger_polled(messenger), progress);
}

void messenger_abort(struct messenger *messenger)
{
	messenger_take_turn(messenger);
	if (atomic_load_explicit(&messenger->failed, memory_order_relaxed) == CHOIR_SUCCESS)
		messenger_fail(messenger,
		               error_set(CHOIR_ABORTED, "the %s transport was aborted", messenger_name(messenger)));
	messenger_give_turn(messenger);
}

bool messenger_has_room(const struct messenger *messenger, int endpoint)
{
	return sends_has_room(&messenger->sends, endpoint);
}

bool messenger_busy(struct messenger *messenger)
{
	return messenger_in_flight(messenger) > 0;
}

int messenger_in_flight(struct messenger *messenger)
{
	return atomic_load_explicit(&messenger->sends.n, memory_order_acquire);
}

bool messenger_sends(struct messenger *messenger, uint64_t comm, int rank)
{
	bool any;

	if (!messenger_busy(messenger))
		return false;
	messenger_take_turn(messenger);
	any = sends_any(&messenger->sends, comm, rank);
	messenger_give_turn(messenger);
	return any;
}

bool messenger_polled(const struct messenger *messenger)
{
	return messenger->transport->ops->polled != 0;
}

uint64_t messenger_message_bytes(const struct messenger *messenger, uint64_t usual)
{
	uint64_t bytes = transport_message_bytes(messenger->transport);

	return bytes > 0 ? bytes : usual;
}

const char *messenger_name(const struct messenger *messenger)
{
	return messenger->transport->ops->name;
}

int messenger_rank(const struct messenger *messenger)
{
	return messenger->transport->rank;
}

choir_transport *messenger_transport(const struct messenger *messenger)
{
	return messenger->transport;
}
