/* SPDX-License-Identifier: MIT */
/* Zero-copy receive from shared memory: room goes back in order, later messages pass, and the sends' order holds. */
#include "ends.h"

/* The message `number`, split anywhere into head and body. */
static bool send_now(struct ends *ends, uint64_t number, size_t bytes)
{
	unsigned char data[RING] = { 0 };
	size_t head = bytes == 0 ? 0 : random_mix(number) % bytes;
	int done = -1;

	fill(data, bytes, number);
	assert_int_equal(ends->t[0]->ops->send_now(ends->t[0], 1, data, head, data + head, bytes - head, &done),
	                 CHOIR_SUCCESS);
	assert_true(done == 0 || done == 1);
	return done;
}

static bool test(struct ends *ends, void *request)
{
	int done = -1;

	assert_int_equal(ends->t[0]->ops->test(ends->t[0], request, &done), CHOIR_SUCCESS);
	return done;
}

static bool poll(struct ends *ends, choir_message *message)
{
	int arrived = -1;

	*message = (choir_message){ 0 };
	assert_int_equal(ends->t[1]->ops->poll(ends->t[1], message, &arrived), CHOIR_SUCCESS);
	return arrived;
}

static void take(struct ends *ends, choir_message *message, uint64_t number, size_t bytes)
{
	assert_true(poll(ends, message));
	assert_int_equal(message->bytes, bytes);
	assert_true(is_filled(message->data, bytes, number));
}

static bool overdue(struct ends *ends, const choir_message *message)
{
	return ends->t[1]->ops->overdue(ends->t[1], message);
}

static void give(struct ends *ends, choir_message *message, uint64_t number)
{
	assert_true(is_filled(message->data, message->bytes, number)); /* up to now */
	ends->t[1]->ops->give(ends->t[1], message);
}

/* Four messages of a quarter each: the last to be given back is the oldest, and only then there is room. */
static void room_goes_back_in_order(void **state)
{
	static const int order[] = { 2, 1, 3 };
	struct ends ends;
	choir_message m[4], none;

	(void)state;
	open_ends(&ends);
	for (int i = 0; i < 4; i++) {
		assert_true(send_now(&ends, i, 1000));
		take(&ends, &m[i], i, 1000);
		assert_true(m[i].lent);
		assert_int_equal(overdue(&ends, &m[0]), i > 1); /* more than half */
	}
	assert_false(send_now(&ends, 4, 1));
	for (int i = 0; i < 3; i++) {
		give(&ends, &m[order[i]], order[i]);
		assert_false(send_now(&ends, 4, 1));
	}
	give(&ends, &m[0], 0);
	for (int i = 0; i < 4; i++)
		assert_true(send_now(&ends, 4 + i, 1000));
	assert_false(send_now(&ends, 9, 1));
	for (int i = 0; i < 4; i++) {
		take(&ends, &m[i], 4 + i, 1000);
		give(&ends, &m[i], 4 + i);
	}
	assert_false(poll(&ends, &none));
	close_ends(&ends);
}

/* What is held, in the order of arrival; given back from anywhere. */
struct held {
	choir_message messages[256];
	uint64_t numbers[256];
	int n;
};

static void give_one(struct ends *ends, struct held *held, int which)
{
	give(ends, &held->messages[which], held->numbers[which]);
	held->n--;
	memmove(&held->messages[which], &held->messages[which + 1],
	        (size_t)(held->n - which) * sizeof held->messages[0]);
	memmove(&held->numbers[which], &held->numbers[which + 1], (size_t)(held->n - which) * sizeof held->numbers[0]);
}

static size_t whole_bytes_of(uint64_t number)
{
	static const size_t often[] = { WHOLE, WHOLE - 63, 48, 49, 0, 1, WHOLE / 2, 700 };

	return random_mix(number) % 3 == 0 ? often[random_mix(number) / 3 % 8] : random_mix(number) / 3 % (WHOLE + 1);
}

static void take_all(struct ends *ends, struct held *held, uint64_t *next)
{
	choir_message *message = &held->messages[held->n];

	while (poll(ends, message)) {
		assert_true(message->lent);
		assert_int_equal(message->bytes, whole_bytes_of(*next));
		held->numbers[held->n++] = (*next)++;
		assert_true(held->n < 256);
		message = &held->messages[held->n];
	}
}

/* Whatever is held: once all is read and what is overdue came back, any message of one piece goes, also one that must
 * begin at the front. */
static void things_move_on_once_overdue_messages_come_back(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct ends ends;
		struct held held = { .n = 0 };
		uint64_t next = seed * 1000;

		open_ends(&ends);
		for (uint64_t number = next, end = next + 500; number < end; number++) {
			if (send_now(&ends, number, whole_bytes_of(number)))
				continue;
			take_all(&ends, &held, &next);
			while (held.n > 0 && overdue(&ends, &held.messages[0]))
				give_one(&ends, &held, (int)(random_mix(number + (uint64_t)held.n) % (uint64_t)held.n));
			assert_true(send_now(&ends, number, whole_bytes_of(number)));
		}
		take_all(&ends, &held, &next);
		assert_int_equal(next, seed * 1000 + 500);
		while (held.n > 0)
			give_one(&ends, &held, (int)(random_mix(seed) % (uint64_t)held.n));
		close_ends(&ends);
	}
}

/* A message in pieces comes after one that is still in the ring: it stops short of those bytes until they are free. */
static void pieces_wait_for_held_bytes(void **state)
{
	static unsigned char data[40000];
	struct ends ends;
	choir_message held, message;
	void *request = NULL;
	int rounds = 0;

	(void)state;
	open_ends(&ends);
	assert_true(send_now(&ends, 1, 100));
	take(&ends, &held, 1, 100);
	fill(data, sizeof data, 2);
	assert_int_equal(ends.t[0]->ops->send(ends.t[0], 1, data, sizeof data, &request), CHOIR_SUCCESS);
	assert_non_null(request);
	for (; rounds < 100; rounds++) {
		assert_false(poll(&ends, &message));
		assert_false(test(&ends, request));
	}
	assert_true(overdue(&ends, &held));
	give(&ends, &held, 1);
	for (rounds = 0; !poll(&ends, &message); rounds++) {
		assert_true(rounds < 100);
		if (request != NULL && test(&ends, request))
			request = NULL;
	}
	assert_true(request == NULL || test(&ends, request));
	assert_false(message.lent);
	assert_false(overdue(&ends, &message));
	assert_int_equal(message.bytes, sizeof data);
	give(&ends, &message, 2);
	close_ends(&ends);
}

/* send_now: not past a full ring, not past sends that wait, not with more than one piece; and then it has done
 * nothing. */
static void send_now_keeps_the_order(void **state)
{
	unsigned char waiting[1000];
	struct ends ends;
	choir_message m[4], message;
	void *request = NULL;

	(void)state;
	open_ends(&ends);
	assert_false(send_now(&ends, 0, WHOLE + 1));
	for (int i = 0; i < 4; i++)
		assert_true(send_now(&ends, i, 1000));
	assert_false(send_now(&ends, 4, 1));
	fill(waiting, sizeof waiting, 4);
	assert_int_equal(ends.t[0]->ops->send(ends.t[0], 1, waiting, sizeof waiting, &request), CHOIR_SUCCESS);
	assert_non_null(request);
	for (int i = 0; i < 4; i++) {
		take(&ends, &m[i], i, 1000);
		give(&ends, &m[i], i);
	}
	assert_false(send_now(&ends, 5, 10)); /* there is room, but 4 comes first */
	assert_false(poll(&ends, &message));
	assert_true(test(&ends, request));
	assert_true(send_now(&ends, 5, 10));
	take(&ends, &m[0], 4, 1000);
	take(&ends, &m[1], 5, 10);
	give(&ends, &m[1], 5);
	give(&ends, &m[0], 4);
	close_ends(&ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_goes_back_in_order),
		cmocka_unit_test(things_move_on_once_overdue_messages_come_back),
		cmocka_unit_test(pieces_wait_for_held_bytes),
		cmocka_unit_test(send_now_keeps_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
