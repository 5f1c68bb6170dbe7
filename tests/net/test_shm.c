/* SPDX-License-Identifier: MIT */
/* The shared-memory transport, its endpoints as processes and as threads: everybody sends to everybody, lengths 0 to
 * several MB through rings as small as 256 bytes.  Who has nothing to do sleeps without a limit, so a wake-up that is
 * missing shows as a test that does not end. */
#include "base/ring.h"
#include "net/shm.h"
#include "node/bell.h"
#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST = 5, WINDOW = 6 };

struct play {
	int n, messages; /* to every endpoint from every endpoint */
	uint64_t ring_bytes, seed, longest;
	void *memory;
	struct bell_address *bells; /* shared [n] */
	_Atomic int *here;          /* shared */
};

struct player {
	const struct play *play;
	int me;
	struct bell *bells[MOST];
	choir_transport *t;
	bool released;
};

static void wake(void *ctx, int peer)
{
	bell_ring(((struct player *)ctx)->bells[peer]);
}

static void release(void *ctx)
{
	((struct player *)ctx)->released = true;
}

static uint64_t seed_of(const struct play *play, int src, int dst, int number)
{
	return random_mix(play->seed ^ (uint64_t)src << 48 ^ (uint64_t)dst << 32 ^ (uint64_t)number);
}

static size_t bytes_of(const struct play *play, uint64_t seed)
{
	switch (seed % 8) {
	case 0:
		return 0;
	case 1:
	case 2:
		return seed / 8 % 100;
	case 3:
		return (size_t)(play->ring_bytes - 10 + seed / 8 % 20); /* around the ring's own size */
	case 7:
		return seed / 8 % (play->longest + 1);
	default:
		return seed / 8 % (play->longest / 50 + 1);
	}
}

struct sending {
	void *request;
	unsigned char *data;
};

static bool advance_sends(struct player *p, struct sending *window, int *started, int *ended)
{
	int total = p->play->messages * p->play->n;
	bool progress = false;

	for (int i = 0; i < WINDOW; i++) {
		struct sending *sending = &window[i];
		int done = sending->request == NULL;

		if (sending->data == NULL && *started < total) {
			int number = (*started)++, peer = number % p->play->n;
			uint64_t seed = seed_of(p->play, p->me, peer, number / p->play->n);
			size_t bytes = bytes_of(p->play, seed);

			sending->data = malloc(bytes + 1);
			fill(sending->data, bytes, seed);
			REQUIRE(p->t->ops->send(p->t, peer, sending->data, bytes, &sending->request) == CHOIR_SUCCESS);
			progress = true;
		} else if (sending->data != NULL) {
			if (!done)
				REQUIRE(p->t->ops->test(p->t, sending->request, &done) == CHOIR_SUCCESS);
			if (!done)
				continue;
			free(sending->data);
			*sending = (struct sending){ NULL, NULL };
			(*ended)++;
			progress = true;
		}
	}
	return progress;
}

static bool receive(struct player *p, int *received, int *got)
{
	choir_message message;
	uint64_t seed;
	int arrived = 0;

	REQUIRE(p->t->ops->poll(p->t, &message, &arrived) == CHOIR_SUCCESS);
	if (!arrived)
		return false;
	seed = seed_of(p->play, message.peer, p->me, received[message.peer]++);
	REQUIRE(message.bytes == bytes_of(p->play, seed)); /* order, too */
	REQUIRE((uintptr_t)message.data % 16 == 0);
	REQUIRE(is_filled(message.data, message.bytes, seed));
	p->t->ops->give(p->t, &message);
	(*got)++;
	return true;
}

static void exchange(struct player *p)
{
	struct sending window[WINDOW] = { { NULL, NULL } };
	int received[MOST] = { 0 }, started = 0, ended = 0, got = 0, total = p->play->messages * p->play->n;

	while (ended < total || got < total) {
		uint32_t seen;

		if (advance_sends(p, window, &started, &ended) || receive(p, received, &got))
			continue;
		seen = bell_arm(bell_mine(), BELL_ANY);
		if (advance_sends(p, window, &started, &ended) || receive(p, received, &got))
			bell_disarm(bell_mine());
		else
			bell_sleep(bell_mine(), seen, -1);
	}
}

static void play_process(void *ctx)
{
	struct player *p = ctx;
	const struct play *play = p->play;

	REQUIRE(bell_mine_address(&play->bells[p->me]) == CHOIR_SUCCESS);
	atomic_fetch_add(play->here, 1);
	while (atomic_load(play->here) < play->n)
		sched_yield();
	for (int i = 0; i < play->n; i++)
		REQUIRE(bell_open(&play->bells[i], &p->bells[i]) == CHOIR_SUCCESS);
	REQUIRE(shm_create(play->memory, p->me, play->n, play->ring_bytes, NULL, wake, release, p, &p->t) ==
	        CHOIR_SUCCESS);
	exchange(p);
	p->t->ops->destroy(p->t);
	REQUIRE(p->released);
	for (int i = 0; i < play->n; i++)
		bell_close(p->bells[i]);
}

static struct play new_play(int n, int messages, uint64_t ring_bytes, uint64_t longest, uint64_t seed)
{
	struct play play = { .n = n, .messages = messages, .ring_bytes = ring_bytes, .longest = longest, .seed = seed };

	play.memory = shared_zeroes(shm_bytes(n, ring_bytes));
	play.bells = shared_zeroes(sizeof *play.bells * MOST);
	play.here = shared_zeroes(sizeof *play.here);
	return play;
}

static void end_play(struct play *play)
{
	munmap(play->memory, shm_bytes(play->n, play->ring_bytes));
	munmap(play->bells, sizeof *play->bells * MOST);
	munmap((void *)play->here, sizeof *play->here);
}

static void play_with_processes(int n, int messages, uint64_t ring_bytes, uint64_t longest, uint64_t seed)
{
	struct play play = new_play(n, messages, ring_bytes, longest, seed);
	struct player players[MOST] = { { .me = 0 } };
	pid_t pids[MOST];

	for (int i = 0; i < n; i++) {
		players[i] = (struct player){ .play = &play, .me = i };
		pids[i] = start_child(play_process, &players[i]);
	}
	for (int i = 0; i < n; i++)
		end_child(pids[i]);
	end_play(&play);
}

static void processes(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		play_with_processes(sizes[i], 200, 4096, 40000, 1);
		play_with_processes(sizes[i], 8, 65536, 6 << 20, 2);
	}
}

static void tiny_rings(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++)
		play_with_processes(3, 40, 256, 8000, seed);
}

static void *play_thread(void *ctx)
{
	struct player *p = ctx;
	const struct play *play = p->play;

	for (int i = 0; i < play->n; i++)
		p->bells[i] = bell_mine();
	REQUIRE(shm_create(play->memory, p->me, play->n, play->ring_bytes, NULL, wake, release, p, &p->t) ==
	        CHOIR_SUCCESS);
	exchange(p);
	p->t->ops->destroy(p->t);
	return NULL;
}

static void threads(void **state)
{
	struct play play = new_play(3, 100, 1024, 60000, 5);
	struct player players[3];
	pthread_t handles[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		players[i] = (struct player){ .play = &play, .me = i };
		assert_int_equal(pthread_create(&handles[i], NULL, play_thread, &players[i]), 0);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(handles[i], NULL);
	end_play(&play);
}

static void no_wake(void *ctx, int peer)
{
	(void)ctx, (void)peer;
}

static void count_release(void *ctx)
{
	++*(int *)ctx;
}

/* An endpoint may go with half of a message sent, or half of one received. */
static void halves_may_be_left(void **state)
{
	struct play play = new_play(2, 0, 256, 0, 0);
	choir_transport *t[2];
	unsigned char data[2000] = { 0 };
	choir_message message;
	void *request = NULL;
	int released = 0, arrived = 0, done = 1;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(shm_create(play.memory, i, 2, 256, NULL, no_wake, count_release, &released, &t[i]),
		                 CHOIR_SUCCESS);
	assert_int_equal(t[0]->ops->send(t[0], 1, data, sizeof data, &request), CHOIR_SUCCESS);
	assert_non_null(request);
	assert_int_equal(t[1]->ops->poll(t[1], &message, &arrived), CHOIR_SUCCESS);
	assert_false(arrived);
	assert_int_equal(t[0]->ops->test(t[0], request, &done), CHOIR_SUCCESS);
	assert_false(done);
	t[0]->ops->abort(t[0]);
	assert_int_equal(t[0]->ops->test(t[0], request, &done), CHOIR_ABORTED);
	assert_int_equal(t[0]->ops->send(t[0], 1, data, 1, &request), CHOIR_ABORTED);
	assert_int_equal(t[0]->ops->poll(t[0], &message, &arrived), CHOIR_ABORTED);
	t[0]->ops->destroy(t[0]);
	t[1]->ops->destroy(t[1]);
	assert_int_equal(released, 2);
	end_play(&play);
}

/* A message that cannot be, written by somebody else, is an error, not a crash. */
static void overwritten_memory_is_an_error(void **state)
{
	static const struct {
		uint64_t length, at;
	} wrong[] = { { UINT64_MAX, 0 }, { 64, 256 }, { 64, UINT64_MAX - 63 }, { 16, 8 }, { 1000, 256 } };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct play play = new_play(2, 0, 256, 0, 0);
		choir_transport *t = NULL;
		choir_message message;
		int released = 0, arrived = 0;

		assert_int_equal(shm_create(play.memory, 1, 2, 256, NULL, no_wake, count_release, &released, &t),
		                 CHOIR_SUCCESS);
		memset(play.memory, 0xff, shm_first_bytes(2)); /* all rings are there */
		for (uint64_t pair = 0; pair < 4; pair++) {
			struct ring *ring = (struct ring *)(void *)((unsigned char *)play.memory + shm_first_bytes(2) +
			                                            pair * ring_span(256));

			ring->items[0].key[0] = wrong[i].length;
			ring->items[0].at = wrong[i].at;
			ring_publish(ring, 0);
		}
		assert_int_equal(t->ops->poll(t, &message, &arrived), CHOIR_TRANSPORT);
		t->ops->destroy(t);
		end_play(&play);
	}
}

static void arguments_are_checked(void **state)
{
	static _Alignas(64) unsigned char memory[4096];
	choir_transport *t = NULL;

	(void)state;
	assert_int_equal(shm_create(memory, 0, 1, 300, NULL, no_wake, count_release, NULL, &t), CHOIR_ARGUMENT);
	assert_int_equal(shm_create(memory, 0, 1, 128, NULL, no_wake, count_release, NULL, &t), CHOIR_ARGUMENT);
	assert_int_equal(shm_create(memory, 1, 1, 256, NULL, no_wake, count_release, NULL, &t), CHOIR_ARGUMENT);
	assert_int_equal(shm_create(memory + 8, 0, 1, 256, NULL, no_wake, count_release, NULL, &t), CHOIR_ARGUMENT);
	assert_null(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes),
		cmocka_unit_test(tiny_rings),
		cmocka_unit_test(threads),
		cmocka_unit_test(halves_may_be_left),
		cmocka_unit_test(overwritten_memory_is_an_error),
		cmocka_unit_test(arguments_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
