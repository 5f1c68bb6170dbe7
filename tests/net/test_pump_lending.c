/* SPDX-License-Identifier: MIT */
/* The pump over a transport that lends: whoever claims late finds his bytes, and whoever has claimed keeps them.  The
 * last test has threads. */
#include "ends.h"
#include "net/pump.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { COMM = 9, MOST = 2000, ROUNDS = 10000 };

/* Two pumps over the two ends; the receiver has two ranks, which only queue what is delivered. */
struct queue {
	pthread_mutex_t lock;
	struct pump_message *messages[MOST];
	int n;
};

struct pumps {
	struct ends ends;
	struct pump *pump[2];
	struct queue queue[2];
	int sent[2];
};

static void deliver(void *ctx, struct pump_message *message)
{
	struct queue *queue = ctx;

	pthread_mutex_lock(&queue->lock);
	REQUIRE(queue->n < MOST);
	queue->messages[queue->n++] = message;
	pthread_mutex_unlock(&queue->lock);
}

static void open_pumps(struct pumps *pumps)
{
	memset(pumps, 0, sizeof *pumps);
	open_ends(&pumps->ends);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pump_create(pumps->ends.t[i], &pumps->pump[i]), CHOIR_SUCCESS);
		pthread_mutex_init(&pumps->queue[i].lock, NULL);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pump_attach(pumps->pump[1], COMM, 1 + i, deliver, &pumps->queue[i]), CHOIR_SUCCESS);
}

static void close_pumps(struct pumps *pumps)
{
	for (int i = 0; i < 2; i++) {
		pump_release(pumps->pump[i]);
		pthread_mutex_destroy(&pumps->queue[i].lock);
	}
	assert_int_equal(pumps->ends.released, 2);
	munmap(pumps->ends.memory, shm_bytes(2, RING));
}

static uint64_t seed_of(int rank, uint64_t key)
{
	return random_mix((uint64_t)rank << 32 | key);
}

/* The next message for a rank. */
static void send(struct pumps *pumps, int rank, size_t bytes)
{
	struct wire_header header = {
		.kind = WIRE_DATA, .comm = COMM, .key = (uint64_t)pumps->sent[rank - 1]++, .src = 0, .dst = rank
	};
	unsigned char data[RING];

	fill(data, bytes, seed_of(rank, header.key));
	REQUIRE(pump_send(pumps->pump[0], 1, &header, data, bytes, NULL) == CHOIR_SUCCESS);
}

static bool drive_both(struct pumps *pumps)
{
	bool sent, received;

	REQUIRE(pump_drive(pumps->pump[0], &sent) == CHOIR_SUCCESS);
	REQUIRE(pump_drive(pumps->pump[1], &received) == CHOIR_SUCCESS);
	return sent || received;
}

static bool is_right(struct pump_message *message)
{
	return is_filled(pump_payload(message), message->payload_bytes,
	                 seed_of(message->header.dst, message->header.key));
}

static void claim(struct queue *queue, int which, uint64_t key)
{
	assert_int_equal(queue->messages[which]->header.key, key);
	assert_true(is_right(queue->messages[which]));
	pump_give(queue->messages[which]);
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
	struct pumps pumps;
	const struct pump_message *newest;

	(void)state;
	open_pumps(&pumps);
	for (int i = 0; i < 300; i++) {
		send(&pumps, 1 + (int)(random_mix((uint64_t)i) % 2), random_mix((uint64_t)i) / 2 % 3000);
		drive_both(&pumps);
	}
	for (int rounds = 0; pumps.queue[0].n + pumps.queue[1].n < 300; rounds++) {
		assert_true(rounds < ROUNDS);
		drive_both(&pumps);
	}
	send(&pumps, 1, 100);
	while (drive_both(&pumps))
		;
	assert_int_equal(pumps.queue[0].n, pumps.sent[0]);
	newest = pumps.queue[0].messages[pumps.queue[0].n - 1];
	assert_null(newest->owned); /* in the ring: it holds up nothing */
	assert_true(n_moved(&pumps.queue[0]) > 0);
	for (int i = pumps.queue[1].n; i > 0; i--)
		claim(&pumps.queue[1], i - 1, (uint64_t)i - 1);
	for (int i = 0; i < pumps.queue[0].n; i++)
		claim(&pumps.queue[0], i, (uint64_t)i);
	close_pumps(&pumps);
}

/* What was claimed stays where it is, however much it holds up; once given back, the rest arrives. */
static void what_is_claimed_is_not_moved(void **state)
{
	struct pumps pumps;
	struct pump_message *first;
	const void *at;

	(void)state;
	open_pumps(&pumps);
	send(&pumps, 1, 500);
	drive_both(&pumps);
	assert_int_equal(pumps.queue[0].n, 1);
	first = pumps.queue[0].messages[0];
	at = pump_payload(first);
	for (int i = 0; i < 20; i++)
		send(&pumps, 2, 700);
	for (int i = 0; i < 200; i++)
		drive_both(&pumps);
	assert_true(pumps.queue[1].n > 0 && pumps.queue[1].n < 20);
	assert_ptr_equal(pump_payload(first), at);
	assert_null(first->owned);
	claim(&pumps.queue[0], 0, 0);
	for (int rounds = 0; pumps.queue[1].n < 20; rounds++) {
		assert_true(rounds < ROUNDS);
		drive_both(&pumps);
	}
	for (int i = 0; i < 20; i++)
		claim(&pumps.queue[1], i, (uint64_t)i);
	close_pumps(&pumps);
}

/* Without the optional op, be it NULL or beyond struct_size, what is lent stays where it is. */
static void a_transport_need_not_say_what_is_overdue(void **state)
{
	(void)state;
	for (int older = 0; older < 2; older++) {
		struct pumps pumps;
		choir_transport_ops ops;

		open_pumps(&pumps);
		ops = *pumps.ends.t[1]->ops;
		if (older)
			ops.struct_size =
			    offsetof(choir_transport_ops, overdue); /* what lies there is not to be called */
		else
			ops.overdue = NULL;
		pumps.ends.t[1]->ops = &ops;
		for (int i = 0; i < 3; i++) {
			send(&pumps, 1, 900);
			drive_both(&pumps);
		}
		while (drive_both(&pumps))
			;
		for (int i = 0; i < 3; i++) {
			assert_null(pumps.queue[0].messages[i]->owned);
			claim(&pumps.queue[0], i, (uint64_t)i);
		}
		close_pumps(&pumps);
	}
}

/* The receiver aborts with lent messages, claimed or not; the sender does not know and goes on. */
static void lent_messages_outlive_an_abort(void **state)
{
	struct pumps pumps;
	bool progress;

	(void)state;
	open_pumps(&pumps);
	for (int i = 0; i < 3; i++)
		send(&pumps, 1, 300);
	drive_both(&pumps);
	assert_int_equal(pumps.queue[0].n, 3);
	assert_true(is_right(pumps.queue[0].messages[1]));
	pump_abort(pumps.pump[1]);
	assert_int_equal(pump_drive(pumps.pump[1], &progress), CHOIR_ABORTED);
	for (int i = 0; i < 30; i++) {
		send(&pumps, 2, 700);
		assert_int_equal(pump_drive(pumps.pump[0], &progress), CHOIR_SUCCESS);
	}
	assert_true(pump_busy(pumps.pump[0]));
	assert_int_equal(pumps.queue[1].n, 0);
	for (int i = 2; i >= 0; i--) {
		assert_null(pumps.queue[0].messages[i]->owned);
		claim(&pumps.queue[0], i, (uint64_t)i);
	}
	close_pumps(&pumps);
}

/* Threads: one sends, one drives both pumps, and a rank each two that claim from anywhere in what has arrived. */
struct rank {
	struct pumps *pumps;
	int rank;
};

static _Atomic int claimed;

static struct pump_message *any_of(struct queue *queue, uint64_t seed)
{
	struct pump_message *message = NULL;

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
		struct pump_message *message = any_of(&rank->pumps->queue[rank->rank - 1], (uint64_t)done);

		if (message == NULL) {
			sched_yield();
			continue;
		}
		REQUIRE(is_right(message));
		pump_give(message);
		done++;
	}
	atomic_fetch_add(&claimed, 1);
	return NULL;
}

static void *send_all(void *ctx)
{
	struct pumps *pumps = ctx;

	for (int i = 0; i < 2 * MOST; i++)
		send(pumps, 1 + i % 2, random_mix((uint64_t)i) % (i % 16 == 0 ? 3000 : 900));
	return NULL;
}

static void threads_claim_while_messages_are_moved(void **state)
{
	struct pumps pumps;
	struct rank ranks[2] = { { &pumps, 1 }, { &pumps, 2 } };
	pthread_t threads[3];

	(void)state;
	open_pumps(&pumps);
	atomic_store(&claimed, 0);
	assert_int_equal(pthread_create(&threads[0], NULL, send_all, &pumps), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[1 + i], NULL, claim_any, &ranks[i]), 0);
	while (atomic_load(&claimed) < 2)
		if (!drive_both(&pumps))
			sched_yield();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(pumps.queue[0].n + pumps.queue[1].n, 0);
	close_pumps(&pumps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_claims_find_their_bytes),
		cmocka_unit_test(what_is_claimed_is_not_moved),
		cmocka_unit_test(a_transport_need_not_say_what_is_overdue),
		cmocka_unit_test(lent_messages_outlive_an_abort),
		cmocka_unit_test(threads_claim_while_messages_are_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
