/* SPDX-License-Identifier: MIT */
/* Note [hub].  Each endpoint has an inbox, a list in order of arrival with a lock of its own.  A send copies its data.
 * The faults of a message depend only on the seed, the source, the destination and the message's number in that pair,
 * so a run can be repeated whatever the timing of threads.  For the same reason a delay counts polls of the receiver,
 * not time; while a message is delayed each poll wakes the process, so that it polls again. */
#include "net/hub.h"

#include "base/error.h"
#include "net/blocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { REORDER_POLLS = 4 };

struct hub_message {
	struct hub_message *next;
	int src;
	size_t bytes;
	uint64_t due; /* the receiver's poll from which on it is delivered */
	void *data;
};

struct hub_pair {
	uint64_t sent;     /* messages so far; the sender's */
	uint64_t last_due; /* under the receiver's lock */
};

struct hub_endpoint {
	choir_transport base;
	struct hub *hub;
	struct hub_pair *to; /* [n] */
	pthread_mutex_t lock;
	struct hub_message *inbox, **inbox_end;
	uint64_t polls;
};

struct hub {
	int n;
	_Atomic int refs;
	pthread_mutex_t faults_lock;
	struct hub_faults faults;
	struct blocks blocks;
	struct hub_endpoint endpoints[];
};

static struct hub_endpoint *endpoint_of(choir_transport *transport)
{
	return (struct hub_endpoint *)transport;
}

static struct hub_faults faults_of(struct hub *hub)
{
	struct hub_faults faults;

	pthread_mutex_lock(&hub->faults_lock);
	faults = hub->faults;
	pthread_mutex_unlock(&hub->faults_lock);
	return faults;
}

void hub_set_faults(struct hub *hub, const struct hub_faults *faults)
{
	pthread_mutex_lock(&hub->faults_lock);
	hub->faults = *faults;
	pthread_mutex_unlock(&hub->faults_lock);
	choir_transport_wake(); /* a delayed message may be due now */
}

static uint64_t mix(uint64_t x)
{
	return XXH3_64bits(&x, sizeof x);
}

static uint64_t dice(uint64_t seed, int src, int dst, uint64_t number)
{
	uint64_t parts[] = { (uint64_t)src, (uint64_t)dst, number };

	return XXH3_64bits_withSeed(parts, sizeof parts, seed);
}

static bool is_dead(const struct hub_faults *faults, int endpoint)
{
	return faults->dead && faults->dead_endpoint == endpoint;
}

/* Appends the message to the inbox; the random bits of rolls choose the poll at which it is due. */
static void post(struct hub_endpoint *to, struct hub_pair *pair, struct hub_message *message,
                 const struct hub_faults *faults, uint64_t rolls)
{
	uint64_t delay = faults->delay_polls > 0 ? rolls % ((uint64_t)faults->delay_polls + 1) : 0;

	pthread_mutex_lock(&to->lock);
	if (faults->reorder)
		delay += (rolls >> 32) % REORDER_POLLS;
	message->due = to->polls + 1 + delay;
	if (!faults->reorder && message->due < pair->last_due)
		message->due = pair->last_due;
	pair->last_due = message->due;
	message->next = NULL;
	*to->inbox_end = message;
	to->inbox_end = &message->next;
	pthread_mutex_unlock(&to->lock);
}

static struct hub_message *copy_message(struct hub *hub, int src, const void *data, size_t bytes)
{
	struct hub_message *message = blocks_take(&hub->blocks, sizeof *message);
	void *copy = message != NULL ? blocks_take(&hub->blocks, bytes) : NULL;

	if (copy == NULL) {
		blocks_give(&hub->blocks, message);
		return NULL;
	}
	if (bytes > 0)
		memcpy(copy, data, bytes);
	*message = (struct hub_message){ .src = src, .bytes = bytes, .data = copy };
	return message;
}

/* The request of a send that is done after some polls of its sender: the number of that poll as a pointer. */
static void *request_due(struct hub_endpoint *from, uint64_t polls)
{
	uintptr_t due;

	pthread_mutex_lock(&from->lock);
	due = (uintptr_t)(from->polls + 1 + polls);
	pthread_mutex_unlock(&from->lock);
	return (void *)due;
}

static choir_status hub_send(choir_transport *transport, int peer, const void *data, size_t bytes, void **request_p)
{
	struct hub_endpoint *from = endpoint_of(transport), *to = &from->hub->endpoints[peer];
	struct hub_faults faults = faults_of(from->hub);
	uint64_t rolls = dice(faults.seed, transport->rank, peer, from->to[peer].sent++);
	bool lost =
	    is_dead(&faults, transport->rank) || is_dead(&faults, peer) || mix(rolls) % 1000 < faults.drop_per_1000;
	struct hub_message *message = NULL;

	if (faults.refuses && is_dead(&faults, peer))
		return error_set(CHOIR_PEER_DEAD, "endpoint %d is dead", peer);
	if (!lost && (message = copy_message(from->hub, transport->rank, data, bytes)) == NULL)
		return CHOIR_NO_MEMORY;
	if (message != NULL) {
		post(to, &from->to[peer], message, &faults, rolls);
		choir_transport_wake();
	}
	*request_p = NULL;
	if (faults.delay_polls > 0)
		*request_p = request_due(from, mix(rolls + 1) % ((uint64_t)faults.delay_polls + 1));
	return CHOIR_SUCCESS;
}

static choir_status hub_test(choir_transport *transport, void *request, int *done_p)
{
	struct hub_endpoint *me = endpoint_of(transport);

	pthread_mutex_lock(&me->lock);
	*done_p = me->polls >= (uintptr_t)request;
	pthread_mutex_unlock(&me->lock);
	return CHOIR_SUCCESS;
}

static choir_status hub_poll(choir_transport *transport, choir_message *message_p, int *arrived_p)
{
	struct hub_endpoint *me = endpoint_of(transport);
	struct hub_faults faults = faults_of(me->hub);
	struct hub_message **at, *found = NULL;
	bool has_more;

	*arrived_p = 0;
	pthread_mutex_lock(&me->lock);
	me->polls++;
	if (is_dead(&faults, transport->rank)) {
		pthread_mutex_unlock(&me->lock);
		return CHOIR_SUCCESS;
	}
	for (at = &me->inbox; *at != NULL && (*at)->due > me->polls; at = &(*at)->next)
		;
	if (*at != NULL) {
		found = *at;
		*at = found->next;
		if (*at == NULL)
			me->inbox_end = at;
	}
	has_more = me->inbox != NULL;
	pthread_mutex_unlock(&me->lock);
	if (has_more)
		choir_transport_wake();
	if (found != NULL) {
		*message_p =
		    (choir_message){ .peer = found->src, .bytes = found->bytes, .data = found->data, .impl = found };
		*arrived_p = 1;
	}
	return CHOIR_SUCCESS;
}

static void hub_give(choir_transport *transport, choir_message *message)
{
	struct hub *hub = endpoint_of(transport)->hub;

	blocks_give(&hub->blocks, message->data);
	blocks_give(&hub->blocks, message->impl);
}

/* Frees the messages in the inbox. */
static void hub_abort(choir_transport *transport)
{
	struct hub_endpoint *me = endpoint_of(transport);
	struct hub_message *message;

	pthread_mutex_lock(&me->lock);
	message = me->inbox;
	me->inbox = NULL;
	me->inbox_end = &me->inbox;
	pthread_mutex_unlock(&me->lock);
	while (message != NULL) {
		struct hub_message *next = message->next;

		blocks_give(&me->hub->blocks, message->data);
		blocks_give(&me->hub->blocks, message);
		message = next;
	}
}

static void destroy_hub(struct hub *hub)
{
	for (int i = 0; i < hub->n; i++) {
		hub_abort(&hub->endpoints[i].base); /* frees messages that were sent after its end */
		pthread_mutex_destroy(&hub->endpoints[i].lock);
		free(hub->endpoints[i].to);
	}
	pthread_mutex_destroy(&hub->faults_lock);
	blocks_fini(&hub->blocks);
	free(hub);
}

static void hub_destroy(choir_transport *transport)
{
	struct hub *hub = endpoint_of(transport)->hub;

	if (atomic_fetch_sub_explicit(&hub->refs, 1, memory_order_acq_rel) == 1)
		destroy_hub(hub);
}

static const choir_transport_ops hub_ops = {
	.struct_size = sizeof(choir_transport_ops),
	.name = "in-process",
	.polled = 0,
	.send = hub_send,
	.test = hub_test,
	.poll = hub_poll,
	.give = hub_give,
	.abort = hub_abort,
	.destroy = hub_destroy,
};

struct hub *hub_of(choir_transport *transport)
{
	return transport->ops == &hub_ops ? endpoint_of(transport)->hub : NULL;
}

static choir_status init_endpoint(struct hub *hub, int i)
{
	struct hub_endpoint *endpoint = &hub->endpoints[i];

	endpoint->base = (choir_transport){ .ops = &hub_ops, .rank = i, .size = hub->n };
	endpoint->hub = hub;
	endpoint->inbox_end = &endpoint->inbox;
	endpoint->to = calloc((size_t)hub->n, sizeof *endpoint->to);
	if (endpoint->to == NULL)
		return error_no_memory("a hub's endpoint", (size_t)hub->n * sizeof *endpoint->to);
	pthread_mutex_init(&endpoint->lock, NULL); /* cannot fail without attributes */
	return CHOIR_SUCCESS;
}

choir_status hub_create(int n, choir_transport **transports_out, struct hub **hub_p)
{
	struct hub *hub;
	choir_status st;

	if (n < 1)
		return error_set(CHOIR_ARGUMENT, "a hub of %d endpoints: at least 1", n);
	hub = calloc(1, sizeof *hub + (size_t)n * sizeof hub->endpoints[0]);
	if (hub == NULL)
		return error_no_memory("a hub", sizeof *hub);
	st = blocks_init(&hub->blocks);
	if (st != CHOIR_SUCCESS) {
		free(hub);
		return st;
	}
	pthread_mutex_init(&hub->faults_lock, NULL);
	hub->n = n;
	atomic_init(&hub->refs, n);
	for (int i = 0; i < n; i++) {
		st = init_endpoint(hub, i);
		if (st != CHOIR_SUCCESS) {
			hub->n = i;
			destroy_hub(hub);
			return st;
		}
	}
	for (int i = 0; i < n; i++)
		transports_out[i] = &hub->endpoints[i].base;
	if (hub_p != NULL)
		*hub_p = hub;
	return CHOIR_SUCCESS;
}
