/* SPDX-License-Identifier: MIT */
/* The table of routes: the function attached for each (comm, rank).  A message that comes before the attach is kept, up
 * to a limit; one that comes after the detach is dropped. */
#ifndef NET_ROUTES_H
#define NET_ROUTES_H

#include "net/messenger.h"

#include <pthread.h>

struct route {
	uint64_t comm;
	int rank;
	messenger_deliver_fn fn; /* NULL: detached */
	void *ctx;
};

struct routes {
	pthread_mutex_t lock; /* guards all members; held while fn runs */
	struct route *table;  /* sorted by comm, then rank */
	size_t n, capacity;
	struct message *kept, **kept_end; /* oldest first */
	size_t n_kept;
	uint64_t kept_bytes;
};

enum route_outcome {
	ROUTE_TAKEN, /* delivered or kept */
	ROUTE_DROP,  /* the rank is detached: the caller gives the message back */
	ROUTE_FULL,  /* too many messages are kept: the caller still owns this one */
};

choir_status routes_init(struct routes *routes);

/* routes_fini: returns the kept messages, for the caller to give back. */
struct message *routes_fini(struct routes *routes);

/* routes_attach, routes_detach: as messenger_attach and messenger_detach.  routes_deliver: calls the function of the
 * message's route, or keeps the message. */
choir_status routes_attach(struct routes *routes, uint64_t comm, int rank, messenger_deliver_fn fn, void *ctx);
void routes_detach(struct routes *routes, uint64_t comm, int rank);
enum route_outcome routes_deliver(struct routes *routes, struct message *message);

#endif
