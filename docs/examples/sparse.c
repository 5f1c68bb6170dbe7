/* SPDX-License-Identifier: MIT */
/* The gradient of an embedding, a table of which a step uses few rows: each rank has a row for every word of its batch,
 * and every rank gets the sum over all ranks of each word's rows.  The ranks share one thread and host memory.
 * usage: sparse [algorithm] */
#define CL_TARGET_OPENCL_VERSION 120
#include <choir/choir.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 3, WORDS = 1000, WIDTH = 4, BATCH = 200, FEW = 10 };

struct rank {
	choir_comm *comm;
	int32_t word[BATCH], got_word[RANKS * BATCH];
	float row[BATCH][WIDTH], got_row[RANKS * BATCH][WIDTH];
	size_t n_words, n_values; /* room in, of the result out; valid until the event completes */
	choir_event *event;
};

static void choir_ok(choir_status status)
{
	if (status != CHOIR_SUCCESS) {
		fprintf(stderr, "%s\n", choir_last_error());
		exit(1);
	}
}

static void fill(struct rank *me, int rank)
{
	for (int i = 0; i < BATCH; i++) {
		me->word[i] = (i * i * 7 + rank * 13) % WORDS;
		for (int k = 0; k < WIDTH; k++)
			me->row[i][k] = (float)(i % 5 + k + rank);
	}
}

static void start(struct rank *me, size_t room, const char *algorithm)
{
	char options[64];
	choir_call call = CHOIR_CALL_INIT;

	snprintf(options, sizeof options, "algorithm=%s", algorithm);
	call.options = algorithm[0] != '\0' ? options : NULL;
	me->n_words = room;
	me->n_values = room * WIDTH;
	choir_ok(choir_sparse_allreduce(me->comm, choir_host(me->word), BATCH, choir_host(me->row),
	                                (size_t)BATCH * WIDTH, choir_host(me->got_word), &me->n_words,
	                                choir_host(me->got_row), &me->n_values, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM,
	                                NULL, &call, &me->event));
}

/* Too little room is no harm: the counts now say what the result needs, and it is still there. */
static void finish(struct rank *me)
{
	choir_status status = choir_event_wait(me->event, -1);

	if (status == CHOIR_CAPACITY)
		status = choir_sparse_fetch(me->event, choir_host(me->got_word), &me->n_words, choir_host(me->got_row),
		                            &me->n_values);
	choir_ok(status);
	choir_event_release(me->event);
}

static int wrong_values(const struct rank *me, float expected[WORDS][WIDTH])
{
	int wrong = 0;

	for (size_t i = 0; i < me->n_words; i++) {
		float *row = expected[me->got_word[i]];

		wrong += i > 0 && me->got_word[i] <= me->got_word[i - 1]; /* ascending, each once */
		for (int k = 0; k < WIDTH; k++)
			wrong += me->got_row[i][k] != row[k];
	}
	return wrong;
}

int main(int argc, char **argv)
{
	static struct rank ranks[RANKS];
	static float expected[WORDS][WIDTH];
	choir_device *device, *devices[RANKS];
	choir_comm *comms[RANKS];
	int wrong = 0;

	choir_ok(choir_device_create_host(&device));
	for (int r = 0; r < RANKS; r++)
		devices[r] = device;
	choir_ok(choir_comm_create_local(RANKS, devices, NULL, comms));
	for (int r = 0; r < RANKS; r++) {
		ranks[r].comm = comms[r];
		fill(&ranks[r], r);
		for (int i = 0; i < BATCH; i++)
			for (int k = 0; k < WIDTH; k++)
				expected[ranks[r].word[i]][k] += ranks[r].row[i][k];
	}

	/* All calls are started before the thread waits for one.  Rank 0 has room for a few words only. */
	for (int r = 0; r < RANKS; r++)
		start(&ranks[r], r == 0 ? FEW : RANKS * BATCH, argc > 1 ? argv[1] : "");
	for (int r = 0; r < RANKS; r++) {
		finish(&ranks[r]);
		wrong += wrong_values(&ranks[r], expected);
	}
	printf("%d ranks, %d words each: %zu different ones, %d wrong\n", RANKS, BATCH, ranks[0].n_words, wrong);
	for (int r = 0; r < RANKS; r++)
		choir_comm_destroy(comms[r]);
	choir_device_destroy(device);
	return wrong != 0;
}
