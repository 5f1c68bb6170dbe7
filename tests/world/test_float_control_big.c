/* SPDX-License-Identifier: MIT */
/* Calls of ranks whose threads have other floating-point control words, long enough that a thread does part of them
 * beside the driver: the bits are those of ranks with the default word. */
#include "kern/float_words.h"
#include "topk/law.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { RANKS = 3, PAIRS = 100000, RANGE = 60000, K = 5000 };

/* What the ranks' threads do while the call is under way. */
enum way { BLOCKING, WAITED_FOR, IN_BACKGROUND, N_WAYS };

struct trial {
	enum way way;
	bool topk, words;
	const char *options;
	float *results[RANKS]; /* [RANGE] */
};

/* Subnormal numbers, and numbers whose sums must be rounded. */
static float value_of(int rank, uint32_t i)
{
	uint32_t mantissa = (i * 2654435761u + (uint32_t)rank * 40503u) & 0x7fffff;
	uint32_t bits = i % 2 == 0 ? mantissa : 0x3e000000 + (i % 5 << 23) + mantissa;
	float value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static bool is_over(struct world *world, int rank, choir_event *event)
{
	int done = 0;

	for (int ms = 0; ms < 60000 && !done; ms++) {
		OK(choir_event_test(event, &done));
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return done != 0;
}

static void await_as(struct world *world, int rank, enum way way, choir_event *event)
{
	if (way == BLOCKING)
		return;
	if (way == IN_BACKGROUND)
		CHECK(is_over(world, rank, event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
}

static void sparse(struct world *world, int rank, choir_comm *comm, struct trial *t)
{
	int32_t *ind = malloc(PAIRS * sizeof *ind), *to_ind = malloc(RANGE * sizeof *to_ind);
	float *val = malloc(PAIRS * sizeof *val);
	size_t n_ind = RANGE, n_val = RANGE;
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;

	call.options = t->options;
	for (uint32_t i = 0; i < PAIRS; i++) {
		ind[i] = (int32_t)(i * 7 % RANGE);
		val[i] = value_of(rank, i);
	}
	OK(choir_sparse_allreduce(comm, choir_host(ind), PAIRS, choir_host(val), PAIRS, choir_host(to_ind), &n_ind,
	                          choir_host(t->results[rank]), &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_MEAN, NULL,
	                          &call, t->way == BLOCKING ? NULL : &event));
	await_as(world, rank, t->way, event);
	CHECK(n_ind == RANGE && n_val == RANGE);
	free(ind);
	free(to_ind);
	free(val);
}

static void topk(struct world *world, int rank, choir_comm *comm, struct trial *t)
{
	choir_topk_config config = law_config("oktopk", RANGE, K);
	choir_topk_state *state = NULL;
	float *grad = malloc(RANGE * sizeof *grad);
	choir_event *event = NULL;

	for (uint32_t i = 0; i < RANGE; i++)
		grad[i] = value_of(rank, i);
	OK(choir_topk_create(comm, &config, &state));
	OK(law_call(state, grad, t->results[rank], t->way == BLOCKING ? NULL : &event));
	await_as(world, rank, t->way, event);
	choir_topk_destroy(state);
	free(grad);
}

static void body(struct world *world, int rank, choir_comm *comm, void *arg)
{
	uint64_t before = float_control_read(), word = float_words[rank % FLOAT_WORDS];
	struct trial *t = arg;

	if (t->words)
		float_control_write(word);
	(t->topk ? topk : sparse)(world, rank, comm, t);
	if (t->words)
		CHECK(((float_control_read() ^ word) & FLOAT_CONTROL_BITS) == 0);
	float_control_write(before);
}

static void run(struct trial *t, bool words)
{
	t->words = words;
	for (int r = 0; r < RANKS; r++)
		assert_non_null(t->results[r] = calloc(RANGE, sizeof(float)));
	world_run(RANKS, NULL, body, t);
}

static void check(struct trial with)
{
	struct trial plain = with;

	run(&with, true);
	run(&plain, false);
	for (int r = 0; r < RANKS; r++) {
		if (memcmp(with.results[r], plain.results[r], RANGE * sizeof(float)) != 0)
			fail_msg("%s, %s, way %d: rank %d has other bits", with.topk ? "top-k" : "sparse",
			         with.options != NULL ? with.options : "auto", (int)with.way, r);
		free(with.results[r]);
		free(plain.results[r]);
	}
}

/* The process's background thread and its worker begin with the word of the thread that starts them: here that is one
 * of the ranks'. */
static void test_sparse(void **state)
{
	static const char *const options[] = { NULL, "algorithm=allgather", "algorithm=split", "algorithm=dense" };

	(void)state;
	for (int v = 0; v < 4 * N_WAYS; v++)
		check((struct trial){ .way = (enum way)(v % N_WAYS), .options = options[v / N_WAYS] });
}

static void test_topk(void **state)
{
	(void)state;
	for (int way = 0; way < N_WAYS; way++)
		check((struct trial){ .way = (enum way)way, .topk = true });
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sparse), cmocka_unit_test(test_topk) };
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return rc;
}
