/* SPDX-License-Identifier: MIT */
/* Note [routes].  A detached route stays in the table without a function, so that late messages of a destroyed comm,
 * such as a peer's notice of failure, are dropped; without it they would be kept for ever and reach the limit.  Context
 * ids are not reused, so the table grows by 32 bytes for each comm of the process.
 *
 * fn runs with the lock held: it is not called after a detach, and kept messages are delivered before messages that
 * arrive during the attach. */
#include "net/routes.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

choir_status routes_init(struct routes *routes)
{
	*routes = (struct routes){ .n = 0 };
	routes->kept_end = &routes->kept;
	if (pthread_mutex_init(&routes->lock, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for message routes");
	return CHOIR_SUCCESS;
}

struct message *routes_fini(struct routes *routes)
{
	pthread_mutex_destroy(&routes->lock);
	free(routes->table);
	return routes->kept;
}

/* The index of the first route that is not below (comm, rank). */
static size_t index_of(const struct routes *routes, uint64_t comm, int rank)
{
	size_t low = 0, high = routes->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct route *route = &routes->table[mid];

		if (route->comm < comm || (route->comm == comm && route->rank < rank))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct route *find(struct routes *routes, uint64_t comm, int rank)
{
	size_t i = index_of(routes, comm, rank);

	if (i == routes->n || routes->table[i].comm != comm || routes->table[i].rank != rank)
		return NULL;
	return &routes->table[i];
}

static struct route *insert(struct routes *routes, uint64_t comm, int rank)
{
	size_t i = index_of(routes, comm, rank);

	if (routes->n == routes->capacity) {
		size_t capacity = routes->capacity == 0 ? 8 : routes->capacity * 2;
		struct route *table = realloc(routes->table, capacity * sizeof *table);

		if (table == NULL)
			return NULL;
		routes->table = table;
		routes->capacity = capacity;
	}
	memmove(&routes->table[i + 1], &routes->table[i], (routes->n - i) * sizeof *routes->table);
	routes->n++;
	routes->table[i] = (struct route){ .comm = comm, .rank = rank };
	return &routes->table[i];
}

/* Delivers the kept messages of a route, in order. */
static void deliver_kept(struct routes *routes, const struct route *route)
{
	struct message **at = &routes->kept;

	while (*at != NULL) {
		struct message *message = *at;

		if (message->header.comm != route->comm || message->header.dst != route->rank) {
			at = &message->next;
			continue;
		}
		*at = message->next;
		routes->n_kept--;
		routes->kept_bytes -= message->payload_bytes;
		message->next = NULL;
		route->fn(route->ctx, message);
	}
	routes->kept_end = at;
}

choir_status routes_attach(struct routes *routes, uint64_t comm, int rank, messenger_deliver_fn fn, void *ctx)
{
	struct route *route;
	choir_status st = CHOIR_SUCCESS;

	pthread_mutex_lock(&routes->lock);
	route = find(routes, comm, rank);
	if (route == NULL)
		route = insert(routes, comm, rank);
	if (route == NULL) {
		st = error_no_memory("a message route", sizeof *route);
	} else if (route->fn != NULL) {
		st = error_set(CHOIR_ARGUMENT, "rank %d of comm %llx is attached already", rank,
		               (unsigned long long)comm);
	} else {
		route->fn = fn;
		route->ctx = ctx;
		deliver_kept(routes, route);
	}
	pthread_mutex_unlock(&routes->lock);
	return st;
}

void routes_detach(struct routes *routes, uint64_t comm, int rank)
{
	struct route *route;

	pthread_mutex_lock(&routes->lock);
	route = find(routes, comm, rank);
	if (route != NULL)
		route->fn = NULL;
	pthread_mutex_unlock(&routes->lock);
}

static enum route_outcome keep(struct routes *routes, struct message *message)
{
	if (routes->n_kept >= MESSENGER_KEPT_MESSAGES ||
	    routes->kept_bytes + message->payload_bytes > MESSENGER_KEPT_BYTES)
		return ROUTE_FULL;
	message->next = NULL;
	*routes->kept_end = message;
	routes->kept_end = &message->next;
	routes->n_kept++;
	routes->kept_bytes += message->payload_bytes;
	return ROUTE_TAKEN;
}

enum route_outcome routes_deliver(struct routes *routes, struct message *message)
{
	enum route_outcome outcome = ROUTE_TAKEN;
	const struct route *route;

	pthread_mutex_lock(&routes->lock);
	route = find(routes, message->header.comm, message->header.dst);
	if (route == NULL)
		outcome = keep(routes, message);
	else if (route->fn == NULL)
		outcome = ROUTE_DROP;
	else
		route->fn(route->ctx, message);
	pthread_mutex_unlock(&routes->lock);
	return outcome;
}
