/* SPDX-License-Identifier: MIT */
/* The routes of messages: (comm, rank) to the function that is attached.  Messages before the attach are kept, in order
 * and bounded; messages after the detach are dropped. */
#ifndef NET_ROUTES_H
#define NET_ROUTES_H

#include "net/pump.h"

#include <pthread.h>

struct route {
	uint64_t comm;
	int rank;
	pump_deliver_fn fn; /* NULL: was attached once */
	void *ctx;
};

struct routes {
	pthread_mutex_t lock; /* of all below; held while fn runs */
	struct route *table;  /* sorted by comm, then rank */
	size_t n, capacity;
	struct pump_message *kept, **kept_end; /* oldest first */
	size_t n_kept;
	uint64_t kept_bytes;
};

enum route_outcome {
	ROUTE_TAKEN, /* delivered or kept */
	ROUTE_DROP,  /* its rank is detached: the caller gives it back */
	ROUTE_FULL,  /* too many are kept; the message is still the caller's */
};

choir_status routes_init(struct routes *routes);

/* routes_fini: returns the kept messages, for the caller to give back. */
struct pump_message *routes_fini(struct routes *routes);

choir_status routes_attach(struct routes *routes, uint64_t comm, int rank, pump_deliver_fn fn, void *ctx);
void routes_detach(struct routes *routes, uint64_t comm, int rank);
enum route_outcome routes_deliver(struct routes *routes, struct pump_message *message);

#endif
