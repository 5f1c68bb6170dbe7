/* SPDX-License-Identifier: MIT */
/* What the messenger delivers, keeps and drops, over the hub. */
#include "messengers.h"

#include <pthread.h>

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
	assert_int_equal(messenger_attach(world.messengers[1], COMM + 1, 1, deliver, &world.boxes[0]), CHOIR_SUCCESS);
	assert_int_equal(world.boxes[0].n, 0); /* another comm's */
	assert_int_equal(messenger_attach(world.messengers[1], COMM, 1, deliver, &world.boxes[1]), CHOIR_SUCCESS);
	assert_int_equal(world.boxes[1].n, 200);
	assert_int_equal(messenger_attach(world.messengers[1], COMM, 1, deliver, &world.boxes[1]), CHOIR_ARGUMENT);
	drive_until(&world, 1, 300);
	for (int i = 0, next[2] = { 0, 1100 }; i < 300; i++)
		assert_int_equal(world.boxes[1].keys[i], next[world.boxes[1].src[i]]++);
	close_world(&world);
}

/* Messages for several absent ranks are mixed; each gets its own, also those that come after another has been
 * served. */
static void the_absent_do_not_disturb_each_other(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, 3, false);
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t key = 0; key < 30; key++) {
			struct wire_header header = {
				.kind = WIRE_DATA, .comm = COMM + key % 3, .key = 1000 * round + key, .dst = 1
			};
			unsigned char payload[3000];

			fill(payload, payload_bytes_of(header.key), header.key);
			assert_int_equal(messenger_send(world.messengers[0], 1, &header, payload,
			                                payload_bytes_of(header.key), NULL),
			                 CHOIR_SUCCESS);
		}
		while (drive(&world, 1))
			;
		/* The last one kept is of the comm that is attached last. */
		assert_int_equal(
		    messenger_attach(world.messengers[1], COMM + 2 - round, 1, deliver, &world.boxes[2 - round]),
		    CHOIR_SUCCESS);
		assert_int_equal(world.boxes[2 - round].n, 10 * (round + 1));
	}
	for (int i = 0; i < 3; i++)
		for (int k = 1; k < world.boxes[i].n; k++)
			assert_true(world.boxes[i].keys[k] > world.boxes[i].keys[k - 1]);
	close_world(&world);
}

/* A look in vain at a polled transport may take a system call. */
static void drive_until_short_takes_one_of_a_polled_transport(void **state)
{
	struct world world;

	(void)state;
	for (int polled = 0; polled < 2; polled++) {
		choir_transport_ops ops;
		bool progress = false;

		open_world(&world, 2, true);
		ops = *world.transports[1]->ops;
		ops.polled = polled;
		world.transports[1]->ops = &ops;
		for (uint64_t key = 0; key < 5; key++)
			assert_int_equal(send_key(&world, 0, 1, key, NULL), CHOIR_SUCCESS);
		for (int taken = 1; taken <= (polled ? 3 : 1); taken++) {
			assert_int_equal(messenger_drive_until_short(world.messengers[1], &progress), CHOIR_SUCCESS);
			assert_true(progress);
			assert_int_equal(world.boxes[1].n, polled ? taken : 5);
		}
		drive(&world, 1);
		assert_int_equal(world.boxes[1].n, 5);
		close_world(&world);
	}
}

static void what_is_kept_is_bounded(void **state)
{
	struct world world;
	bool progress;

	(void)state;
	open_world(&world, 2, false);
	for (uint64_t key = 0; key < MESSENGER_KEPT_MESSAGES; key++)
		assert_int_equal(send_key(&world, 0, 1, key, NULL), CHOIR_SUCCESS);
	while (drive(&world, 1))
		;
	assert_int_equal(send_key(&world, 0, 1, 5000, NULL), CHOIR_SUCCESS);
	assert_int_equal(messenger_drive(world.messengers[1], &progress), CHOIR_TRANSPORT);
	assert_non_null(strstr(choir_last_error(), "rank 1 of comm 4d has not joined yet"));
	assert_int_equal(send_key(&world, 1, 0, 1, NULL), CHOIR_TRANSPORT); /* final */
	assert_non_null(strstr(choir_last_error(), "rank 1 of comm 4d has not joined yet"));
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
		assert_int_equal(messenger_send(world.messengers[0], 1, &header, payload, bytes, NULL), CHOIR_SUCCESS);
	assert_int_equal(messenger_drive(world.messengers[1], &progress), CHOIR_TRANSPORT);
	free(payload);
	close_world(&world);
}

static void late_messages_for_the_gone_are_dropped(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, 2, true);
	messenger_detach(world.messengers[1], COMM, 1);
	for (uint64_t key = 0; key < 3 * MESSENGER_KEPT_MESSAGES; key++) {
		assert_int_equal(send_key(&world, 0, 1, key, NULL), CHOIR_SUCCESS);
		drive(&world, 1);
	}
	assert_int_equal(world.boxes[1].n, 0);
	assert_int_equal(messenger_attach(world.messengers[1], COMM, 1, deliver, &world.boxes[1]), CHOIR_SUCCESS);
	assert_int_equal(send_key(&world, 0, 1, 3, NULL), CHOIR_SUCCESS);
	drive_until(&world, 1, 1);
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
		REQUIRE(send_key(actor->world, actor->me, (actor->me + (int)(key % 3)) % 3, key, NULL) ==
		        CHOIR_SUCCESS);
	return NULL;
}

static void *driver(void *ctx)
{
	const struct actor *actor = ctx;
	const struct box *box = &actor->world->boxes[actor->me];
	bool progress;

	while (atomic_load_explicit(&box->n, memory_order_acquire) < THREAD_MESSAGES)
		REQUIRE(messenger_drive(actor->world->messengers[actor->me], &progress) == CHOIR_SUCCESS);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_in_order),
		cmocka_unit_test(a_message_to_myself_is_delivered_at_once),
		cmocka_unit_test(attach_late_gets_what_came_before),
		cmocka_unit_test(the_absent_do_not_disturb_each_other),
		cmocka_unit_test(drive_until_short_takes_one_of_a_polled_transport),
		cmocka_unit_test(what_is_kept_is_bounded),
		cmocka_unit_test(kept_bytes_are_bounded),
		cmocka_unit_test(late_messages_for_the_gone_are_dropped),
		cmocka_unit_test(threads_send_and_drive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
