/* SPDX-License-Identifier: MIT */
/* Up to four messengers over the hub in one process; what is delivered to each is noted, and its bytes looked at. */
#ifndef TESTS_NET_MESSENGERS_H
#define TESTS_NET_MESSENGERS_H

#include "net/hub.h"
#include "net/messenger.h"
#include "support.h"

#include <stdatomic.h>

enum { COMM = 77, LOG = 4096 };

/* What was delivered to a rank, in order. */
struct box {
	_Atomic int n;
	uint64_t keys[LOG];
	int src[LOG];
	int wrong; /* payloads that are not what key and source say */
};

struct world {
	int n;
	struct hub *hub;
	choir_transport *transports[4];
	struct messenger *messengers[4];
	struct box *boxes;
};

static inline size_t payload_bytes_of(uint64_t key)
{
	return (size_t)(random_mix(key) % 5 == 0 ? 0 : random_mix(key) % 3000);
}

static inline void deliver(void *ctx, struct message *message)
{
	struct box *box = ctx;
	int n = atomic_load_explicit(&box->n, memory_order_relaxed);

	REQUIRE(n < LOG);
	box->keys[n] = message->header.key;
	box->src[n] = message->header.src;
	if (message->payload_bytes != payload_bytes_of(message->header.key) ||
	    (uintptr_t)message_payload(message) % 16 != 0 ||
	    !is_filled(message_payload(message), message->payload_bytes, message->header.key))
		box->wrong++;
	message_give(message);
	atomic_store_explicit(&box->n, n + 1, memory_order_release);
}

static inline void open_world(struct world *world, int n, bool attach)
{
	*world = (struct world){ .n = n };
	world->boxes = calloc((size_t)n, sizeof *world->boxes);
	assert_int_equal(hub_create(n, world->transports, &world->hub), CHOIR_SUCCESS);
	for (int i = 0; i < n; i++) {
		assert_int_equal(messenger_create(world->transports[i], &world->messengers[i]), CHOIR_SUCCESS);
		assert_int_equal(messenger_rank(world->messengers[i]), i);
		if (attach)
			assert_int_equal(messenger_attach(world->messengers[i], COMM, i, deliver, &world->boxes[i]),
			                 CHOIR_SUCCESS);
	}
}

static inline void close_world(struct world *world)
{
	for (int i = 0; i < world->n; i++) {
		assert_int_equal(world->boxes[i].wrong, 0);
		messenger_release(world->messengers[i]);
	}
	free(world->boxes);
}

static inline choir_status send_key(struct world *world, int src, int dst, uint64_t key, _Atomic int *in_flight)
{
	struct wire_header header = { .kind = WIRE_DATA, .comm = COMM, .key = key, .src = src, .dst = dst };
	unsigned char payload[3000] = { 0 };

	fill(payload, payload_bytes_of(key), key);
	return messenger_send(world->messengers[src], dst, &header, payload, payload_bytes_of(key), in_flight);
}

static inline bool drive(struct world *world, int i)
{
	bool progress = true;

	assert_int_equal(messenger_drive(world->messengers[i], &progress), CHOIR_SUCCESS);
	return progress;
}

static inline void drive_until(struct world *world, int i, int n)
{
	while (atomic_load(&world->boxes[i].n) < n)
		drive(world, i);
}

#endif
