/* SPDX-License-Identifier: MIT */
/* How much the messenger says may be in flight to an endpoint: Note [room] in net/sends.h. */
#include "net/sends.h"

#include "net/messenger.h"
#include "net/packet.h"
#include "support.h"

enum { MIB = 1 << 20, ENDPOINTS = 3 };

/* A transport that is done with its first `done` sends. */
static struct {
	uintptr_t sent, done;
	bool at_once, fails;
	choir_status refusal; /* of all sends, unless SUCCESS */
	int wakes;
} stub;

void choir_transport_wake(void)
{
	stub.wakes++;
}

static choir_status stub_send(choir_transport *t, int peer, const void *data, size_t bytes, void **request_p)
{
	(void)t, (void)peer, (void)data, (void)bytes;
	if (stub.refusal != CHOIR_SUCCESS)
		return choir_transport_error(stub.refusal, "refused");
	*request_p = stub.at_once ? NULL : (void *)++stub.sent;
	return CHOIR_SUCCESS;
}

static choir_status stub_test(choir_transport *t, void *request, int *done_p)
{
	(void)t;
	if (stub.fails)
		return choir_transport_error(CHOIR_TRANSPORT, "the test broke");
	*done_p = (uintptr_t)request <= stub.done;
	return CHOIR_SUCCESS;
}

static choir_status stub_poll(choir_transport *t, choir_message *message_p, int *arrived_p)
{
	(void)t, (void)message_p;
	*arrived_p = 0;
	return CHOIR_SUCCESS;
}

static void stub_give(choir_transport *t, choir_message *message)
{
	(void)t, (void)message;
}

static void stub_nothing(choir_transport *t)
{
	(void)t;
}

static const choir_transport_ops stub_ops = {
	.struct_size = sizeof stub_ops,
	.name = "stub",
	.send = stub_send,
	.test = stub_test,
	.poll = stub_poll,
	.give = stub_give,
	.abort = stub_nothing,
	.destroy = stub_nothing,
};

static choir_transport transport = { .ops = &stub_ops, .rank = 0, .size = ENDPOINTS };

static struct messenger *open_stub(void)
{
	struct messenger *messenger = NULL;

	memset(&stub, 0, sizeof stub);
	assert_int_equal(messenger_create(&transport, &messenger), CHOIR_SUCCESS);
	for (int endpoint = 0; endpoint < ENDPOINTS; endpoint++)
		assert_true(messenger_has_room(messenger, endpoint));
	return messenger;
}

static choir_status send_bytes(struct messenger *messenger, int endpoint, size_t bytes)
{
	static const unsigned char payload[MIB];
	struct wire_header header = { .kind = WIRE_DATA, .comm = 1, .dst = endpoint };

	return messenger_send(messenger, endpoint, &header, payload, bytes, NULL);
}

/* One that takes 1 MiB of the room. */
static void send_mib(struct messenger *messenger, int endpoint)
{
	assert_int_equal(send_bytes(messenger, endpoint, MIB - SEND_COST - WIRE_PREFIX_BYTES), CHOIR_SUCCESS);
}

static void drive_stub(struct messenger *messenger)
{
	bool progress = true;

	while (progress)
		assert_int_equal(messenger_drive(messenger, &progress), CHOIR_SUCCESS);
}

static void room_ends_and_comes_back(void **state)
{
	enum { MOST = SENDS_ROOM / MIB };
	struct messenger *messenger = open_stub();

	(void)state;
	for (int i = 0; i < MOST; i++) {
		assert_true(messenger_has_room(messenger, 1));
		send_mib(messenger, 1);
	}
	assert_false(messenger_has_room(messenger, 1));
	assert_true(messenger_has_room(messenger, 2));
	send_mib(messenger, 1); /* what the library has to say goes all the same */
	send_mib(messenger, 2);
	stub.done = MOST / 2;
	drive_stub(messenger);
	assert_false(messenger_has_room(messenger, 1));
	assert_int_equal(stub.wakes, 0);
	stub.done = MOST / 2 + 1;
	drive_stub(messenger);
	assert_true(messenger_has_room(messenger, 1));
	assert_int_equal(stub.wakes, 1);
	stub.done = MOST + 2;
	drive_stub(messenger);
	assert_false(messenger_busy(messenger));
	assert_int_equal(stub.wakes, 1);
	for (int i = 0; i < MOST; i++)
		send_mib(messenger, 1);
	assert_false(messenger_has_room(messenger, 1));
	messenger_release(messenger);
}

static void empty_messages_count(void **state)
{
	enum { LEAST = SENDS_ROOM / (SEND_COST + WIRE_PREFIX_BYTES) };
	struct messenger *messenger = open_stub();

	(void)state;
	for (int i = 0; i < LEAST; i++)
		assert_int_equal(send_bytes(messenger, 1, 0), CHOIR_SUCCESS);
	assert_true(messenger_has_room(messenger, 1));
	assert_int_equal(send_bytes(messenger, 1, 0), CHOIR_SUCCESS);
	assert_false(messenger_has_room(messenger, 1));
	messenger_release(messenger);
}

/* Only what is in flight counts. */
static void refused_and_done_sends_count_nothing(void **state)
{
	struct messenger *messenger = open_stub();

	(void)state;
	for (int i = 0; i < 2 * SENDS_ROOM / MIB; i++) {
		stub.refusal = i % 2 == 0 ? CHOIR_NO_MEMORY : CHOIR_PEER_DEAD;
		assert_int_equal(send_bytes(messenger, 1, MIB), stub.refusal);
	}
	stub.refusal = CHOIR_SUCCESS;
	stub.at_once = true;
	for (int i = 0; i < 2 * SENDS_ROOM / MIB; i++)
		send_mib(messenger, 1);
	assert_true(messenger_has_room(messenger, 1));
	messenger_release(messenger);
}

/* Who waits for room then finds the failure. */
static void a_failure_gives_room(void **state)
{
	struct messenger *messenger = open_stub();
	bool progress;

	(void)state;
	for (int i = 0; i < SENDS_ROOM / MIB; i++)
		send_mib(messenger, 1);
	assert_false(messenger_has_room(messenger, 1));
	stub.fails = true;
	assert_int_equal(messenger_drive(messenger, &progress), CHOIR_TRANSPORT);
	assert_true(messenger_has_room(messenger, 1));
	assert_int_equal(send_bytes(messenger, 1, 0), CHOIR_TRANSPORT);
	messenger_release(messenger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_ends_and_comes_back),
		cmocka_unit_test(empty_messages_count),
		cmocka_unit_test(refused_and_done_sends_count_nothing),
		cmocka_unit_test(a_failure_gives_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
