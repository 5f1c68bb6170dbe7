/* SPDX-License-Identifier: MIT */
/* The messenger's zero-copy receive: a receiver that claims late finds its bytes, and one that has claimed keeps them.
 * The last test has threads. */
#include "ends.h"
#include "net/messenger.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { COMM = 9, MOST = 2000, ROUNDS = 10000 };

/* Two messengers over the two ends; the receiver has two ranks, which only queue what is delivered. */
struct queue {
	pthread_mutex_t lock;
	struct message *messages[MOST];
	int n;
};

struct messengers {
	struct ends ends;
	struct messenger *messenger[2];
	struct queue queue[2];
	int sent[2];
};

static void deliver(void *ctx, struct message *message)
{
	struct queue *queue = ctx;

	pthread_mutex_lock(&queue->lock);
	REQUIRE(queue->n < MOST);
	queue->messages[queue->n++] = message;
	pthread_mutex_unlock(&queue->lock);
}

static void open_messengers(struct messengers *messengers)
{
	memset(messengers, 0, sizeof *messengers);
	open_ends(&messengers->ends);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(messenger_create(messengers->ends.t[i], &messengers->messenger[i]), CHOIR_SUCCESS);
		pthread_mutex_init(&messengers->queue[i].lock, NULL);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    messenger_attach(messengers->messenger[1], COMM, 1 + i, deliver, &messengers->queue[i]),
		    CHOIR_SUCCESS);
}

static void close_messengers(struct messengers *messengers)
{
	for (int i = 0; i < 2; i++) {
		messenger_release(messengers->messenger[i]);
		pthread_mutex_destroy(&messengers->queue[i].lock);
	}
	assert_int_equal(messengers->ends.released, 2);
	munmap(messengers->ends.memory, shm_bytes(2, RING));
}

static uint64_t seed_of(int rank, uint64_t key)
{
	return random_mix((uint64_t)rank << 32 | key);
}

/* The next message for a rank. */
static void send(struct messengers *messengers, int rank, size_t bytes)
{
	struct wire_header header = {
		.kind = WIRE_DATA, .comm = COMM, .key = (uint64_t)messengers->sent[rank - 1]++, .src = 0, .dst = rank
	};
	unsigned char data[RING];

	fill(data, bytes, seed_of(rank, header.key));
	REQUIRE(messenger_send(messengers->messenger[0], 1, &header, data, bytes, NULL) == CHOIR_SUCCESS);
}

static bool drive_both(struct messengers *messengers)
{
	bool sent, received;

	REQUIRE(messenger_drive(messengers->messenger[0], &sent) == CHOIR_SUCCESS);
	REQUIRE(messenger_drive(messengers->messenger[1], &received) == CHOIR_SUCCESS);
	return sent || received;
}

static bool is_right(struct message *message)
{
	return is_filled(message_payload(message), message->payload_bytes,
	                 seed_of(message->header.dst, message->header.key));
}

static void claim(struct queue *queue, int which, uint64_t key)
{
	assert_int_equal(queue->messages[which]->header.key, key);
	assert_true(is_right(queue->messages[which]));
	message_give(queue->messages[which]);
}

static int n_moved(const struct queue *queue)
{
	int n = 0;

	for (int i = 0; i < queue->n; i++)
		n += queue->messages[i]->owned != NULL;
	return n;
}

/* Nobody claims anything: all the same everything arrives, many times what the ring holds.  Then one rank claims its
 * newest first. */
static void late_claims_find_their_bytes(void **state)
{
	struct messengers messengers;
	const struct message *newest;

	(void)state;
	open_messengers(&messengers);
	for (int i = 0; i < 300; i++) {
		send(&messengers, 1 + (int)(random_mix((uint64_t)i) % 2), random_mix((uint64_t)i) / 2 % 3000);
		drive_both(&messengers);
	}
	for (int rounds = 0; messengers.queue[0].n + messengers.queue[1].n < 300; rounds++) {
		assert_true(rounds < ROUNDS);
		drive_both(&messengers);
	}
	send(&messengers, 1, 100);
	while (drive_both(&messengers))
		;
	assert_int_equal(messengers.queue[0].n, messengers.sent[0]);
	newest = messengers.queue[0].messages[messengers.queue[0].n - 1];
	assert_null(newest->owned); /* in the ring: it holds up nothing */
	assert_true(n_moved(&messengers.queue[0]) > 0);
	for (int i = messengers.queue[1].n; i > 0; i--)
		claim(&messengers.queue[1], i - 1, (uint64_t)i - 1);
	for (int i = 0; i < messengers.queue[0].n; i++)
		claim(&messengers.queue[0], i, (uint64_t)i);
	close_messengers(&messengers);
}

/* What was claimed stays where it is, however much it holds up; once given back, the rest arrives. */
static void what_is_claimed_is_not_moved(void **state)
{
	struct messengers messengers;
	struct message *first;
	const void *at;

	(void)state;
	open_messengers(&messengers);
	send(&messengers, 1, 500);
	drive_both(&messengers);
	assert_int_equal(messengers.queue[0].n, 1);
	first = messengers.queue[0].messages[0];
	at = message_payload(first);
	for (int i = 0; i < 20; i++)
		send(&messengers, 2, 700);
	for (int i = 0; i < 200; i++)
		drive_both(&messengers);
	assert_true(messengers.queue[1].n > 0 && messengers.queue[1].n < 20);
	assert_ptr_equal(message_payload(first), at);
	assert_null(first->owned);
	claim(&messengers.queue[0], 0, 0);
	for (int rounds = 0; messengers.queue[1].n < 20; rounds++) {
		assert_true(rounds < ROUNDS);
		drive_both(&messengers);
	}
	for (int i = 0; i < 20; i++)
		claim(&messengers.queue[1], i, (uint64_t)i);
	close_messengers(&messengers);
}

/* Without the optional op, be it NULL or beyond struct_size, messages stay in the channel. */
static void a_transport_need_not_say_what_is_overdue(void **state)
{
	(void)state;
	for (int older = 0; older < 2; older++) {
		struct messengers messengers;
		choir_transport_ops ops;

		open_messengers(&messengers);
		ops = *messengers.ends.t[1]->ops;
		if (older)
			ops.struct_size =
			    offsetof(choir_transport_ops, overdue); /* what lies there is not to be called */
		else
			ops.overdue = NULL;
		messengers.ends.t[1]->ops = &ops;
		for (int i = 0; i < 3; i++) {
			send(&messengers, 1, 900);
			drive_both(&messengers);
		}
		while (drive_both(&messengers))
			;
		for (int i = 0; i < 3; i++) {
			assert_null(messengers.queue[0].messages[i]->owned);
			claim(&messengers.queue[0], i, (uint64_t)i);
		}
		close_messengers(&messengers);
	}
}

/* The receiver aborts with messages in the channel, claimed or not; the sender does not know and goes on. */
static void messages_outlive_an_abort(void **state)
{
	struct messengers messengers;
	bool progress;

	(void)state;
	open_messengers(&messengers);
	for (int i = 0; i < 3; i++)
		send(&messengers, 1, 300);
	drive_both(&messengers);
	assert_int_equal(messengers.queue[0].n, 3);
	assert_true(is_right(messengers.queue[0].messages[1]));
	messenger_abort(messengers.messenger[1]);
	assert_int_equal(messenger_drive(messengers.messenger[1], &progress), CHOIR_ABORTED);
	for (int i = 0; i < 30; i++) {
		send(&messengers, 2, 700);
		assert_int_equal(messenger_drive(messengers.messenger[0], &progress), CHOIR_SUCCESS);
	}
	assert_true(messenger_busy(messengers.messenger[0]));
	assert_int_equal(messengers.queue[1].n, 0);
	for (int i = 2; i >= 0; i--) {
		assert_null(messengers.queue[0].messages[i]->owned);
		claim(&messengers.queue[0], i, (uint64_t)i);
	}
	close_messengers(&messengers);
}

/* Threads: one sends, one drives both messengers, and a rank each two that claim from anywhere in what has arrived. */
struct rank {
	struct messengers *messengers;
	int rank;
};

static _Atomic int claimed;

static struct message *any_of(struct queue *queue, uint64_t seed)
{
	struct message *message = NULL;

	pthread_mutex_lock(&queue->lock);
	if (queue->n > 0) {
		int which = (int)(random_mix(seed) % (uint64_t)queue->n);

		message = queue->messages[which];
		queue->messages[which] = queue->messages[--queue->n];
	}
	pthread_mutex_unlock(&queue->lock);
	return message;
}

static void *claim_any(void *ctx)
{
	const struct rank *rank = ctx;

	for (int done = 0; done < MOST;) {
		struct message *message = any_of(&rank->messengers->queue[rank->rank - 1], (uint64_t)done);

		if (message == NULL) {
			sched_yield();
			continue;
		}
		REQUIRE(is_right(message));
		message_give(message);
		done++;
	}
	atomic_fetch_add(&claimed, 1);
	return NULL;
}

static void *send_all(void *ctx)
{
	struct messengers *messengers = ctx;

	for (int i = 0; i < 2 * MOST; i++)
		send(messengers, 1 + i % 2, random_mix((uint64_t)i) % (i % 16 == 0 ? 3000 : 900));
	return NULL;
}

static void threads_claim_while_messages_are_moved(void **state)
{
	struct messengers messengers;
	struct rank ranks[2] = { { &messengers, 1 }, { &messengers, 2 } };
	pthread_t threads[3];

	(void)state;
	open_messengers(&messengers);
	atomic_store(&claimed, 0);
	assert_int_equal(pthread_create(&threads[0], NULL, send_all, &messengers), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[1 + i], NULL, claim_any, &ranks[i]), 0);
	while (atomic_load(&claimed) < 2)
		if (!drive_both(&messengers))
			sched_yield();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(messengers.queue[0].n + messengers.queue[1].n, 0);
	close_messengers(&messengers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_claims_find_their_bytes),
		cmocka_unit_test(what_is_claimed_is_not_moved),
		cmocka_unit_test(a_transport_need_not_say_what_is_overdue),
		cmocka_unit_test(messages_outlive_an_abort),
		cmocka_unit_test(threads_claim_while_messages_are_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
