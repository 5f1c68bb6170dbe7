/* SPDX-License-Identifier: MIT */
/* The messenger when something ends early: strangers on the wire, aborts, ranks that go with sends in flight, and a
 * transport that fails. */
#include "messengers.h"

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
		assert_int_equal(world.transports[0]->ops->send(world.transports[0], 1, packet, lengths[i], &request),
		                 CHOIR_SUCCESS);
		assert_int_equal(messenger_drive(world.messengers[1], &progress), CHOIR_TRANSPORT);
		assert_non_null(strstr(choir_last_error(), "endpoint 0"));
		assert_int_equal(messenger_drive(world.messengers[1], &progress), CHOIR_TRANSPORT);
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
	assert_true(messenger_busy(world.messengers[0]));
	messenger_abort(world.messengers[0]);
	assert_int_equal(in_flight, 0);
	assert_false(messenger_busy(world.messengers[0]));
	assert_int_equal(send_key(&world, 0, 1, 1, &in_flight), CHOIR_ABORTED);
	assert_int_equal(send_key(&world, 0, 0, 1, &in_flight), CHOIR_ABORTED);
	assert_int_equal(messenger_drive(world.messengers[0], &progress), CHOIR_ABORTED);
	messenger_abort(world.messengers[0]);
	close_world(&world);
}

static choir_status no_memory_now(choir_transport *transport, int peer, const void *head, size_t head_bytes,
                                  const void *body, size_t body_bytes, int *done_p)
{
	(void)transport, (void)peer, (void)head, (void)head_bytes, (void)body, (void)body_bytes;
	*done_p = 0;
	return CHOIR_NO_MEMORY;
}

static void a_send_without_memory_is_not_the_end(void **state)
{
	struct world world;
	choir_transport_ops ops;
	const choir_transport_ops *real;
	_Atomic int in_flight = 0;

	(void)state;
	open_world(&world, 2, true);
	real = world.transports[0]->ops;
	ops = *real;
	ops.send_now = no_memory_now;
	world.transports[0]->ops = &ops;
	assert_int_equal(send_key(&world, 0, 1, 1, &in_flight), CHOIR_NO_MEMORY);
	assert_int_equal(in_flight, 0);
	world.transports[0]->ops = real;
	assert_int_equal(send_key(&world, 0, 1, 2, &in_flight), CHOIR_SUCCESS);
	drive_until(&world, 1, 1);
	assert_int_equal(world.boxes[1].keys[0], 2);
	close_world(&world);
}

static void a_lost_endpoint_is_not_the_end(void **state)
{
	struct world world;
	struct hub_faults faults = { .dead = true, .dead_endpoint = 1, .refuses = true };
	_Atomic int in_flight = 0;

	(void)state;
	open_world(&world, 3, true);
	hub_set_faults(world.hub, &faults);
	assert_int_equal(send_key(&world, 0, 1, 1, &in_flight), CHOIR_PEER_DEAD);
	assert_int_equal(in_flight, 0);
	assert_true(messenger_lost(world.messengers[0], 1));
	assert_false(messenger_lost(world.messengers[0], 2));
	assert_false(messenger_any_lost(world.messengers[2]));
	assert_int_equal(send_key(&world, 0, 2, 2, &in_flight), CHOIR_SUCCESS);
	drive_until(&world, 2, 1);
	assert_int_equal(world.boxes[2].keys[0], 2);
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
	messenger_detach(world.messengers[0], COMM, 0);
	free(in_flight); /* the sanitizer sees who still writes to it */
	while (messenger_busy(world.messengers[0]))
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

/* A transport whose nth call of a kind fails; it notes what is done to it afterwards. */
static struct {
	int sends, tests, polls, fail_send, fail_test, fail_poll, aborts, destroys;
	bool failed, called_after;
	choir_status status; /* of the call that fails */
} bad;

static choir_status outcome(int call, int fail_at, const char *what)
{
	bad.called_after |= bad.failed;
	if (call != fail_at)
		return CHOIR_SUCCESS;
	bad.failed = bad.status != CHOIR_PEER_DEAD;
	return choir_transport_error(bad.status, "the %s broke", what);
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
	struct messenger *messenger = NULL;
	_Atomic int in_flight = 0;
	choir_status st = CHOIR_SUCCESS;
	bool progress;

	memset(&bad, 0, sizeof bad);
	bad.status = CHOIR_TRANSPORT;
	bad.fail_send = fail_send;
	bad.fail_test = fail_test;
	bad.fail_poll = fail_poll;
	assert_int_equal(messenger_create(&transport, &messenger), CHOIR_SUCCESS);
	assert_true(messenger_polled(messenger));
	assert_string_equal(messenger_name(messenger), "bad");
	for (int i = 0; i < 4 && st == CHOIR_SUCCESS; i++) {
		st = messenger_send(messenger, 1, &header, "abc", 3, &in_flight);
		if (st == CHOIR_SUCCESS)
			assert_int_equal(in_flight, i + 1);
		if (st == CHOIR_SUCCESS)
			st = messenger_drive(messenger, &progress);
	}
	assert_int_equal(st, CHOIR_TRANSPORT);
	assert_string_equal(choir_last_error(), text);
	choir_transport_error(CHOIR_ARGUMENT, "something else");
	assert_int_equal(messenger_drive(messenger, &progress), CHOIR_TRANSPORT);
	assert_string_equal(choir_last_error(), text);
	assert_int_equal(messenger_send(messenger, 1, &header, NULL, 0, &in_flight), CHOIR_TRANSPORT);
	messenger_abort(messenger);
	assert_int_equal(in_flight, 0);
	assert_false(messenger_busy(messenger));
	assert_int_equal(messenger_retain(messenger) == messenger, 1);
	messenger_release(messenger);
	assert_int_equal(bad.destroys, 0);
	messenger_release(messenger);
	messenger_release(NULL);
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

/* Without memory for a message nothing was taken: it comes later. */
static void a_poll_without_memory_is_tried_again(void **state)
{
	choir_transport transport = { .ops = &bad_ops, .rank = 0, .size = 2 };
	struct messenger *messenger = NULL;
	bool progress = true;

	(void)state;
	memset(&bad, 0, sizeof bad);
	bad.status = CHOIR_NO_MEMORY;
	bad.fail_poll = 1;
	assert_int_equal(messenger_create(&transport, &messenger), CHOIR_SUCCESS);
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(messenger_drive(messenger, &progress), CHOIR_SUCCESS);
		assert_false(progress);
		assert_int_equal(bad.polls, i);
		assert_int_equal(messenger_lacks_memory(messenger), i == 1);
	}
	assert_int_equal(bad.aborts, 0);
	messenger_release(messenger);
}

/* Of several sends in flight one ends since its endpoint is lost. */
static void a_send_in_flight_is_lost(void **state)
{
	choir_transport transport = { .ops = &bad_ops, .rank = 0, .size = 3 };
	struct wire_header header = { .kind = WIRE_DATA, .comm = COMM };
	struct messenger *messenger = NULL;
	_Atomic int in_flight = 0;
	bool progress;

	(void)state;
	memset(&bad, 0, sizeof bad);
	bad.status = CHOIR_PEER_DEAD;
	bad.fail_test = 2;
	assert_int_equal(messenger_create(&transport, &messenger), CHOIR_SUCCESS);
	for (int endpoint = 1; endpoint < 3; endpoint++)
		assert_int_equal(messenger_send(messenger, endpoint, &header, "abc", 3, &in_flight), CHOIR_SUCCESS);
	assert_int_equal(messenger_drive(messenger, &progress), CHOIR_SUCCESS);
	assert_int_equal(in_flight, 1);
	assert_true(messenger_lost(messenger, 2));
	assert_false(messenger_lost(messenger, 1));
	assert_int_equal(messenger_drive(messenger, &progress), CHOIR_SUCCESS);
	assert_int_equal(in_flight, 1);
	assert_int_equal(bad.aborts, 0);
	messenger_release(messenger);
	assert_int_equal(bad.aborts, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers_are_refused),
		cmocka_unit_test(abort_ends_sends),
		cmocka_unit_test(a_send_without_memory_is_not_the_end),
		cmocka_unit_test(a_lost_endpoint_is_not_the_end),
		cmocka_unit_test(a_send_in_flight_is_lost),
		cmocka_unit_test(detach_forgets_in_flight),
		cmocka_unit_test(closing_with_sends_in_flight_is_safe),
		cmocka_unit_test(a_failure_is_final),
		cmocka_unit_test(a_poll_without_memory_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
