/* SPDX-License-Identifier: MIT */
/* The word that carries the first failure of a node: who writes it at the same time, who looks, and who dies over
 * it. */
#include "node/poison.h"
#include "support.h"

#include <pthread.h>
#include <sched.h>

/* Many poison at once: one text wins, whole, and is the same for all who look, at any time. */
enum { WRITERS = 5, RACES = 300 };

struct race {
	struct poison poison;
	_Atomic int go, over;
	int statuses[WRITERS];
	char texts[WRITERS][128];
};

static void write_and_look(struct race *race, int me)
{
	char text[128];

	while (atomic_load(&race->go) == 0)
		sched_yield();
	snprintf(text, sizeof text, "writer %d has this long sentence to say: %d%d%d%d%d", me, me, me, me, me, me);
	poison_set(&race->poison, (choir_status)(1 + me), text);
	race->statuses[me] = (int)poison_get(&race->poison, race->texts[me], sizeof race->texts[me]);
}

static void check_race(const struct race *race)
{
	char expected[128];
	int winner = race->statuses[0] - 1;

	assert_in_range(winner, 0, WRITERS - 1);
	snprintf(expected, sizeof expected, "writer %d has this long sentence to say: %d%d%d%d%d", winner, winner,
	         winner, winner, winner, winner);
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(race->statuses[i], winner + 1);
		assert_string_equal(race->texts[i], expected);
	}
}

struct writer {
	struct race *race;
	int me;
};

static void *writer_thread(void *ctx)
{
	const struct writer *writer = ctx;

	write_and_look(writer->race, writer->me);
	return NULL;
}

static void threads_poison_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < RACES; i++) {
		struct race race = { .go = 0 };
		struct writer writers[WRITERS];
		pthread_t threads[WRITERS];

		for (int w = 0; w < WRITERS; w++) {
			writers[w] = (struct writer){ &race, w };
			assert_int_equal(pthread_create(&threads[w], NULL, writer_thread, &writers[w]), 0);
		}
		atomic_store(&race.go, 1);
		for (int w = 0; w < WRITERS; w++)
			pthread_join(threads[w], NULL);
		check_race(&race);
	}
}

/* Two writers that begin at the same moment, many times. */
enum { CLOSE_RACES = 20000 };

struct duel {
	struct poison *poisons; /* [CLOSE_RACES] */
	int *first_seen[2];     /* [CLOSE_RACES] */
	_Atomic int ready[2];
};

static void poison_all(struct duel *duel, int me)
{
	for (int i = 0; i < CLOSE_RACES; i++) {
		char text[POISON_TEXT_BYTES];

		atomic_store(&duel->ready[me], i + 1);
		for (int spins = 0; atomic_load(&duel->ready[!me]) < i + 1; spins++)
			if (spins % 2000 == 1999)
				sched_yield();
		poison_set(&duel->poisons[i], (choir_status)(1 + me), "short");
		duel->first_seen[me][i] = (int)poison_get(&duel->poisons[i], text, sizeof text);
	}
}

static void *duel_thread(void *ctx)
{
	poison_all(ctx, 1);
	return NULL;
}

static void two_poison_at_the_same_moment(void **state)
{
	struct duel duel = { .poisons = calloc(CLOSE_RACES, sizeof *duel.poisons) };
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 2; i++)
		duel.first_seen[i] = calloc(CLOSE_RACES, sizeof(int));
	assert_int_equal(pthread_create(&thread, NULL, duel_thread, &duel), 0);
	poison_all(&duel, 0);
	pthread_join(thread, NULL);
	for (int i = 0; i < CLOSE_RACES; i++)
		assert_int_equal(duel.first_seen[0][i], duel.first_seen[1][i]);
	for (int i = 0; i < 2; i++)
		free(duel.first_seen[i]);
	free(duel.poisons);
}

static void writer_process(void *ctx)
{
	writer_thread(ctx);
}

static void processes_poison_at_once(void **state)
{
	struct race *race = shared_zeroes(sizeof *race);

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct writer writers[WRITERS];
		pid_t pids[WRITERS];

		memset(race, 0, sizeof *race);
		for (int w = 0; w < WRITERS; w++) {
			writers[w] = (struct writer){ race, w };
			pids[w] = start_child(writer_process, &writers[w]);
		}
		atomic_store(&race->go, 1);
		for (int w = 0; w < WRITERS; w++)
			end_child(pids[w]);
		check_race(race);
	}
	munmap(race, sizeof *race);
}

/* A writer that took a note and died: it holds nobody up. */
static void a_dead_writer_is_passed_by(void **state)
{
	struct poison poison = { .taken = 1 };
	char text[16];

	(void)state;
	assert_int_equal(poison_get(&poison, text, sizeof text), CHOIR_SUCCESS);
	poison_set(&poison, CHOIR_TIMEOUT, "alive");
	assert_int_equal(poison_get(&poison, text, sizeof text), CHOIR_TIMEOUT);
	assert_string_equal(text, "alive");
	poison = (struct poison){ .taken = POISON_NOTES };
	poison_set(&poison, CHOIR_TIMEOUT, "too many are at it"); /* nothing is written past the notes */
	assert_int_equal(poison_get(&poison, text, sizeof text), CHOIR_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_poison_at_once),
		cmocka_unit_test(two_poison_at_the_same_moment),
		cmocka_unit_test(processes_poison_at_once),
		cmocka_unit_test(a_dead_writer_is_passed_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
