/* SPDX-License-Identifier: MIT */
/* The pump over the hub, and over a transport that fails. */
#include "net/hub.h"
#include "net/pump.h"
#include "support.h"

#include <pthread.h>
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
	struct pump *pumps[4];
	struct box *boxes;
};

static size_t payload_bytes_of(uint64_t key)
{
	return (size_t)(mix(key) % 5 == 0 ? 0 : mix(key) % 3000);
}

static void deliver(void *ctx, struct pump_message *message)
{
	struct box *box = ctx;
	int n = atomic_load_explicit(&box->n, memory_order_relaxed);

	REQUIRE(n < LOG);
	box->keys[n] = message->header.key;
	box->src[n] = message->header.src;
	if (message->payload_bytes != payload_bytes_of(message->header.key) || (uintptr_t)pump_payload(message) % 16 != 0 ||
	    !is_filled(pump_payload(message), message->payload_bytes, message->header.key))
		box->wrong++;
	pump_give(message);
	atomic_store_explicit(&box->n, n + 1, memory_order_release);
}

static void open_world(struct world *world, int n, bool attach)
{
	*world = (struct world){ .n = n };
	world->boxes = calloc((size_t)n, sizeof *world->boxes);
	assert_int_equal(hub_create(n, world->transports, &world->hub), CHOIR_SUCCESS);
	for (int i = 0; i < n; i++) {
		assert_int_equal(pump_create(world->transports[i], &world->pumps[i]), CHOIR_SUCCESS);
		assert_int_equal(pump_rank(world->pumps[i]), i);
		if (attach)
			assert_int_equal(pump_attach(world->pumps[i], COMM, i, deliver, &world->boxes[i]), CHOIR_SUCCESS);
	}
}

static void close_world(struct world *world)
{
	for (int i = 0; i < world->n; i++) {
		assert_int_equal(world->boxes[i].wrong, 0);
		pump_release(world->pumps[i]);
	}
	free(world->boxes);
}

static choir_status send_key(struct world *world, int src, int dst, uint64_t key, _Atomic int *in_flight)
{
	struct wire_header header = { .kind = WIRE_DATA, .comm = COMM, .key = key, .src = src, .dst = dst };
	unsigned char payload[3000];

	fill(payload, payload_bytes_of(key), key);
	return pump_send(world->pumps[src], dst, &header, payload, payload_bytes_of(key), in_flight);
}

static bool drive(struct world *world, int i)
{
	bool progress = true;

	assert_int_equal(pump_drive(world->pumps[i], &progress), CHOIR_SUCCESS);
	return progress;
}

static void drive_until(struct world *world, int i, int n)
{
	while (atomic_load(&world->boxes[i].n) < n)
		drive(world, i);
}

static void messages_arrive_in_order(void **state)
{
	struct world world;
	_Atomic int in_flight = 0;

	(void)state;
	open_world(&world, 3, true);
	assert_false(drive(&world, 1));
	for (uint64_t key = 0; key < 300; key++) {
		assert_int_equal(send_key(&world, 0, 1, key, &in_flight), CHOIR_SUCCESS);
		assert_int_equal(send_key(&world, 2, 1, 1000 + key, NULL), CHOIR_SUCCESS);
	}
	assert_int_equal(in_flight, 0); /* the hub copies */
	drive_until(&world, 1, 600);
	assert_false(drive(&world, 1));
	for (int i = 0, next[3] = { 0, 0, 1000 }; i < 600; i++)
		assert_int_equal(world.boxes[1].keys[i], next[world.boxes[1].src[i]]++);
	assert_int_equal(world.boxes[0].n + world.boxes[2].n, 0);
	close_world(&world);
}

static void a_message_to_myself_is_delivered_at_once(void **state)
{
	struct world world;
	_Atomic int in_flight = 0;

	(void)state;
	open_world(&world, 1, true);
	for (uint64_t key = 0; key < 50; key++) {
		assert_int_equal(send_key(&world, 0, 0, key, &in_flight), CHOIR_SUCCESS);
		assert_int_equal(world.boxes[0].n, key + 1);
	}
	assert_int_equal(in_flight, 0);
	assert_int_equal(send_key(&world, 0, 1, 0, NULL), CHOIR_ARGUMENT);
	assert_int_equal(send_key(&world, 0, -1, 0, NULL), CHOIR_ARGUMENT);
	close_world(&world);
}

static void attach_late_gets_what_came_before(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, 2, false);
	for (uint64_t key = 0; key < 100; key++)
		assert_int_equal(send_key(&world, 0, 1, key, NULL), CHOIR_SUCCESS);
	while (drive(&world, 1))
		;
	for (uint64_t key = 100; key < 200; key++) {
		assert_int_equal(send_key(&world, 0, 1, key, NULL), CHOIR_SUCCESS);
		assert_int_equal(send_key(&world, 1, 1, 1000 + key, NULL), CHOIR_SUCCESS); /* kept as well */
	}
	assert_int_equal(pump_attach(world.pumps[1], COMM + 1, 1, deliver, &world.boxes[0]), CHOIR_SUCCESS);
	assert_int_equal(world.boxes[0].n, 0); /* another comm's */
	assert_int_equal(pump_attach(world.pumps[1], COMM, 1, deliver, &world.boxes[1]), CHOIR_SUCCESS);
	assert_int_equal(world.boxes[1].n, 200);
	assert_int_equal(pump_attach(world.pumps[1], COMM, 1, deliver, &world.boxes[1]), CHOIR_ARGUMENT);
	drive_until(&world, 1, 300);
	for (int i = 0, next[2] = { 0, 1100 }; i < 300; i++)
		assert_int_equal(world.boxes[1].keys[i], next[world.boxes[1].src[i]]++);
	close_world(&world);
}

/* Messages for several absent ranks are mixed; each gets its own, also those that come after another has been served. */
static void the_absent_do_not_disturb_each_other(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, 3, false);
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t key = 0; key < 30; key++) {
			struct wire_header header = { .kind = WIRE_DATA, .comm = COMM + key % 3, .key = 1000 * round + key, .dst = 1 };
			unsigned char payload[3000];

			fill(payload, payload_bytes_of(header.key), header.key);
			assert_int_equal(pump_send(world.pumps[0], 1, &header, payload, payload_bytes_of(header.key), NULL), CHOIR_SUCCESS);
		}
		while (drive(&world, 1))
			;
		/* The last one kept is of the comm that is attached last. */
		assert_int_equal(pump_attach(world.pumps[1], COMM + 2 - round, 1, deliver, &world.boxes[2 - round]), CHOIR_SUCCESS);
		assert_int_equal(world.boxes[2 - round].n, 10 * (round + 1));
	}
	for (int i = 0; i < 3; i++)
		for (int k = 1; k < world.boxes[i].n; k++)
			assert_true(world.boxes[i].keys[k] > world.boxes[i].keys[k - 1]);
	close_world(&world);
}

static void what_is_kept_is_bounded(void **state)
{
	struct world world;
	bool progress;

	(void)state;
	open_world(&world, 2, false);
	for (uint64_t key = 0; key < PUMP_KEPT_MESSAGES; key++)
		assert_int_equal(send_key(&world, 0, 1, key, NULL), CHOIR_SUCCESS);
	while (drive(&world, 1))
		;
	assert_int_equal(send_key(&world, 0, 1, 5000, NULL), CHOIR_SUCCESS);
	assert_int_equal(pump_drive(world.pumps[1], &progress), CHOIR_TRANSPORT);
	assert_non_null(strstr(choir_last_error(), "rank 1 of comm 4d is not there yet"));
	assert_int_equal(send_key(&world, 1, 0, 1, NULL), CHOIR_TRANSPORT); /* final */
	assert_non_null(strstr(choir_last_error(), "rank 1 of comm 4d is not there yet"));
	close_world(&world);
}

static void kept_bytes_are_bounded(void **state)
{
	struct world world;
	struct wire_header header = { .kind = WIRE_DATA, .comm = COMM, .dst = 1 };
	size_t bytes = (size_t)20 << 20;
	void *payload = calloc(1, bytes);
	bool progress;

	(void)state;
	open_world(&world, 2, false);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pump_send(world.pumps[0], 1, &header, payload, bytes, NULL), CHOIR_SUCCESS);
	assert_int_equal(pump_drive(world.pumps[1], &progress), CHOIR_TRANSPORT);
	free(payload);
	close_world(&world);
}

static void late_messages_for_the_gone_are_dropped(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, 2, true);
	pump_detach(world.pumps[1], COMM, 1);
	for (uint64_t key = 0; key < 3 * PUMP_KEPT_MESSAGES; key++) {
		assert_int_equal(send_key(&world, 0, 1, key, NULL), CHOIR_SUCCESS);
		drive(&world, 1);
	}
	assert_int_equal(world.boxes[1].n, 0);
	assert_int_equal(pump_attach(world.pumps[1], COMM, 1, deliver, &world.boxes[1]), CHOIR_SUCCESS);
	assert_int_equal(send_key(&world, 0, 1, 3, NULL), CHOIR_SUCCESS);
	drive_until(&world, 1, 1);
	close_world(&world);
}

static void strangers_are_refused(void **state)
{
	struct wire_header header = { .magic = WIRE_MAGIC, .bytes_check = 5 };
	unsigned char packet[WIRE_PREFIX_BYTES + 4] = { 0 };
	const size_t lengths[] = { 0, sizeof header, WIRE_PREFIX_BYTES + 4, WIRE_PREFIX_BYTES + 4 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct world world;
		void *request;
		bool progress;

		open_world(&world, 2, true);
		if (i == 3)
			memcpy(packet, &header, sizeof header); /* ours, but torn */
		assert_int_equal(world.transports[0]->ops->send(world.transports[0], 1, packet, lengths[i], &request), CHOIR_SUCCESS);
		assert_int_equal(pump_drive(world.pumps[1], &progress), CHOIR_TRANSPORT);
		assert_non_null(strstr(choir_last_error(), "endpoint 0"));
		assert_int_equal(pump_drive(world.pumps[1], &progress), CHOIR_TRANSPORT);
		close_world(&world);
	}
}

static void abort_ends_sends(void **state)
{
	struct world world;
	struct hub_faults faults = { .seed = 3, .delay_polls = 1000 };
	_Atomic int in_flight = 0;
	bool progress;

	(void)state;
	open_world(&world, 2, true);
	hub_set_faults(world.hub, &faults);
	for (uint64_t key = 0; key < 20; key++)
		assert_int_equal(send_key(&world, 0, 1, key, &in_flight), CHOIR_SUCCESS);
	assert_int_equal(in_flight, 20);
	assert_true(pump_busy(world.pumps[0]));
	pump_abort(world.pumps[0]);
	assert_int_equal(in_flight, 0);
	assert_false(pump_busy(world.pumps[0]));
	assert_int_equal(send_key(&world, 0, 1, 1, &in_flight), CHOIR_ABORTED);
	assert_int_equal(send_key(&world, 0, 0, 1, &in_flight), CHOIR_ABORTED);
	assert_int_equal(pump_drive(world.pumps[0], &progress), CHOIR_ABORTED);
	pump_abort(world.pumps[0]);
	close_world(&world);
}

static void detach_forgets_in_flight(void **state)
{
	struct world world;
	struct hub_faults faults = { .seed = 4, .delay_polls = 50 };
	_Atomic int *in_flight = calloc(1, sizeof *in_flight);

	(void)state;
	open_world(&world, 2, true);
	hub_set_faults(world.hub, &faults);
	for (uint64_t key = 0; key < 20; key++)
		assert_int_equal(send_key(&world, 0, 1, key, in_flight), CHOIR_SUCCESS);
	pump_detach(world.pumps[0], COMM, 0);
	free(in_flight); /* the sanitizer sees who still writes to it */
	while (pump_busy(world.pumps[0]))
		drive(&world, 0);
	drive_until(&world, 1, 20);
	close_world(&world);
}

static void closing_with_sends_in_flight_is_safe(void **state)
{
	struct world world;
	struct hub_faults faults = { .seed = 5, .delay_polls = 50 };

	(void)state;
	open_world(&world, 2, true);
	hub_set_faults(world.hub, &faults);
	for (uint64_t key = 0; key < 20; key++)
		assert_int_equal(send_key(&world, 0, 1, key, NULL), CHOIR_SUCCESS);
	close_world(&world);
}

/* Two threads drive each endpoint while others send on it. */
enum { THREAD_MESSAGES = 500 };

struct actor {
	struct world *world;
	int me;
};

static void *sender(void *ctx)
{
	const struct actor *actor = ctx;

	for (uint64_t key = 0; key < THREAD_MESSAGES; key++)
		REQUIRE(send_key(actor->world, actor->me, (actor->me + (int)(key % 3)) % 3, key, NULL) == CHOIR_SUCCESS);
	return NULL;
}

static void *driver(void *ctx)
{
	const struct actor *actor = ctx;
	const struct box *box = &actor->world->boxes[actor->me];
	bool progress;

	while (atomic_load_explicit(&box->n, memory_order_acquire) < THREAD_MESSAGES)
		REQUIRE(pump_drive(actor->world->pumps[actor->me], &progress) == CHOIR_SUCCESS);
	return NULL;
}

static void threads_send_and_drive(void **state)
{
	struct world world;
	struct actor actors[3];
	pthread_t threads[9];

	(void)state;
	open_world(&world, 3, true);
	for (int i = 0; i < 3; i++) {
		actors[i] = (struct actor){ &world, i };
		assert_int_equal(pthread_create(&threads[3 * i], NULL, sender, &actors[i]), 0);
		assert_int_equal(pthread_create(&threads[3 * i + 1], NULL, driver, &actors[i]), 0);
		assert_int_equal(pthread_create(&threads[3 * i + 2], NULL, driver, &actors[i]), 0);
	}
	for (int i = 0; i < 9; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(world.boxes[i].n, THREAD_MESSAGES);
	close_world(&world);
}

/* A transport whose nth call of a kind fails; it notes what is done to it afterwards. */
static struct {
	int sends, tests, polls, fail_send, fail_test, fail_poll, aborts, destroys;
	bool failed, called_after;
} bad;

static choir_status outcome(int call, int fail_at, const char *what)
{
	bad.called_after |= bad.failed;
	if (call != fail_at)
		return CHOIR_SUCCESS;
	bad.failed = true;
	return choir_transport_error(CHOIR_TRANSPORT, "the %s broke", what);
}

static choir_status bad_send(choir_transport *t, int peer, const void *data, size_t bytes, void **request_p)
{
	(void)t, (void)peer, (void)data, (void)bytes;
	*request_p = &bad;
	return outcome(++bad.sends, bad.fail_send, "send");
}

static choir_status bad_test(choir_transport *t, void *request, int *done_p)
{
	(void)t, (void)request;
	*done_p = 0;
	return outcome(++bad.tests, bad.fail_test, "test");
}

static choir_status bad_poll(choir_transport *t, choir_message *message_p, int *arrived_p)
{
	(void)t, (void)message_p;
	*arrived_p = 0;
	return outcome(++bad.polls, bad.fail_poll, "poll");
}

static void bad_give(choir_transport *t, choir_message *message)
{
	(void)t, (void)message;
}

static void bad_abort(choir_transport *t)
{
	(void)t;
	bad.aborts++;
	bad.failed = true;
}

static void bad_destroy(choir_transport *t)
{
	(void)t;
	bad.destroys++;
}

static const choir_transport_ops bad_ops = {
	.struct_size = sizeof bad_ops,
	.name = "bad",
	.polled = 1,
	.send = bad_send,
	.test = bad_test,
	.poll = bad_poll,
	.give = bad_give,
	.abort = bad_abort,
	.destroy = bad_destroy,
};

static void check_failure(const char *text, int fail_send, int fail_test, int fail_poll)
{
	choir_transport transport = { .ops = &bad_ops, .rank = 0, .size = 2 };
	struct wire_header header = { .kind = WIRE_DATA, .comm = COMM };
	struct pump *pump = NULL;
	_Atomic int in_flight = 0;
	choir_status st = CHOIR_SUCCESS;
	bool progress;

	memset(&bad, 0, sizeof bad);
	bad.fail_send = fail_send;
	bad.fail_test = fail_test;
	bad.fail_poll = fail_poll;
	assert_int_equal(pump_create(&transport, &pump), CHOIR_SUCCESS);
	assert_true(pump_polled(pump));
	assert_string_equal(pump_name(pump), "bad");
	for (int i = 0; i < 4 && st == CHOIR_SUCCESS; i++) {
		st = pump_send(pump, 1, &header, "abc", 3, &in_flight);
		if (st == CHOIR_SUCCESS)
			assert_int_equal(in_flight, i + 1);
		if (st == CHOIR_SUCCESS)
			st = pump_drive(pump, &progress);
	}
	assert_int_equal(st, CHOIR_TRANSPORT);
	assert_string_equal(choir_last_error(), text);
	choir_transport_error(CHOIR_ARGUMENT, "something else");
	assert_int_equal(pump_drive(pump, &progress), CHOIR_TRANSPORT);
	assert_string_equal(choir_last_error(), text);
	assert_int_equal(pump_send(pump, 1, &header, NULL, 0, &in_flight), CHOIR_TRANSPORT);
	pump_abort(pump);
	assert_int_equal(in_flight, 0);
	assert_false(pump_busy(pump));
	assert_int_equal(pump_retain(pump) == pump, 1);
	pump_release(pump);
	assert_int_equal(bad.destroys, 0);
	pump_release(pump);
	pump_release(NULL);
	assert_false(bad.called_after);
	assert_int_equal(bad.aborts, 1);
	assert_int_equal(bad.destroys, 1);
}

static void a_failure_is_final(void **state)
{
	(void)state;
	check_failure("the send broke", 3, 0, 0);
	check_failure("the send broke", 1, 0, 0);
	check_failure("the test broke", 0, 4, 0);
	check_failure("the poll broke", 0, 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_in_order),
		cmocka_unit_test(a_message_to_myself_is_delivered_at_once),
		cmocka_unit_test(attach_late_gets_what_came_before),
		cmocka_unit_test(the_absent_do_not_disturb_each_other),
		cmocka_unit_test(what_is_kept_is_bounded),
		cmocka_unit_test(kept_bytes_are_bounded),
		cmocka_unit_test(late_messages_for_the_gone_are_dropped),
		cmocka_unit_test(strangers_are_refused),
		cmocka_unit_test(abort_ends_sends),
		cmocka_unit_test(detach_forgets_in_flight),
		cmocka_unit_test(closing_with_sends_in_flight_is_safe),
		cmocka_unit_test(threads_send_and_drive),
		cmocka_unit_test(a_failure_is_final),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
