/* SPDX-License-Identifier: MIT */
/* Every collective with a key, sparse and top-k too, persistent ones in a sequence, begun in another order on each
 * rank. */
#include "world/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <choir/chunks.h>
#include <cmocka.h>

enum { DENSE = SEND_AND_RECV, LIST = DENSE, SPARSE, TOPK, SEQUENCE, N_CALLS, ROUNDS = 4, COUNT = 41, K = 5 };

/* One rank's calls of a round. */
struct keyed_calls {
	struct dense_flight dense[DENSE];
	int32_t parts[2], list[2];
	choir_tensor tensors[2];
	int64_t ind[2], got_ind[8];
	float val[2], got_val[8];
	size_t n_ind, n_val;
	choir_topk_state *topk;
	float grad[COUNT], top[COUNT];
	int32_t chained[3]; /* a sequence sums the first into the second, and that into the third */
	choir_request *requests[2];
	choir_sequence *sequence;
	choir_event *events[N_CALLS];
};

static choir_call with_key(char text[32], const char *what, int round)
{
	choir_call call = CHOIR_CALL_INIT;

	snprintf(text, 32, "%s/%d", what, round % 2);
	call.key = text;
	return call;
}

static void make_dense(struct world *world, int rank, struct keyed_calls *c, int round)
{
	for (int what = 0; what < DENSE; what++) {
		struct dense_call call = { .what = &collectives[what],
			                   .dtype = CHOIR_I32,
			                   .op = CHOIR_OP_SUM,
			                   .count = (size_t)(COUNT + 500 * round),
			                   .n = world->n,
			                   .root = (what + round) % world->n,
			                   .device = (what + round) % 2 };

		flight_make(&c->dense[what], world, rank, &call);
	}
}

static void make_others(struct world *world, int rank, choir_comm *comm, struct keyed_calls *c, int round)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	char text[32];
	choir_call call = with_key(text, "first", round);

	for (int i = 0; i < 2; i++) {
		c->parts[i] = rank + i;
		c->tensors[i] = (choir_tensor){ choir_host(&c->parts[i]), choir_host(&c->list[i]), 1, CHOIR_I32 };
	}
	c->ind[1] = rank + 1;
	c->val[0] = 1;
	c->val[1] = (float)(2 + rank);
	c->n_ind = c->n_val = 8;
	for (int i = 0; i < COUNT; i++)
		c->grad[i] = i < K ? (float)(i + 2) : 0;
	config.algorithm = "topka";
	config.count = COUNT;
	config.k = K;
	config.op = CHOIR_OP_SUM;
	OK(choir_topk_create(comm, &config, &c->topk));
	c->chained[0] = rank + round;
	OK(choir_allreduce_init(comm, choir_host(&c->chained[0]), choir_host(&c->chained[1]), 1, CHOIR_I32,
	                        CHOIR_OP_SUM, &call, &c->requests[0]));
	call = with_key(text, "second", round);
	OK(choir_scan_init(comm, choir_host(&c->chained[1]), choir_host(&c->chained[2]), 1, CHOIR_I32, CHOIR_OP_SUM,
	                   &call, &c->requests[1]));
	OK(choir_sequence_create(c->requests, 2, &c->sequence));
}

static choir_status start(choir_comm *comm, struct keyed_calls *c, int which, int round)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	char text[32];
	choir_call call = with_key(text, which < DENSE ? collectives[which].name : "", round);
	choir_event **event_p = &c->events[which];

	if (which == SEQUENCE)
		return choir_sequence_start(c->sequence, NULL, event_p);
	if (which < DENSE)
		return flight_call(&c->dense[which], comm, &call, event_p);
	call = with_key(text, which == LIST ? "list" : which == SPARSE ? "rows" : "gradient", round);
	out.dense = choir_host(c->top);
	if (which == LIST)
		return choir_allreduce_multi(comm, c->tensors, 2, CHOIR_OP_SUM, &call, event_p);
	if (which == TOPK)
		return choir_topk_allreduce(c->topk, choir_host(c->grad), &out, &call, event_p);
	return choir_sparse_allreduce(comm, choir_host(c->ind), 2, choir_host(c->val), 2, choir_host(c->got_ind),
	                              &c->n_ind, choir_host(c->got_val), &c->n_val, CHOIR_I64, CHOIR_F32, CHOIR_OP_SUM,
	                              NULL, &call, event_p);
}

static void check(struct world *world, int rank, struct keyed_calls *c, int round)
{
	int n = world->n, sum = n * round + n * (n - 1) / 2;

	for (int what = 0; what < DENSE; what++)
		flight_compare(&c->dense[what], world);
	CHECK(c->list[0] == n * (n - 1) / 2 && c->list[1] == n * (n - 1) / 2 + n);
	CHECK(c->n_ind == (size_t)n + 1 && c->n_val == (size_t)n + 1);
	for (int i = 0; i <= n; i++)
		CHECK(c->got_ind[i] == i && c->got_val[i] == (float)(i == 0 ? n : 1 + i));
	for (int i = 0; i < COUNT; i++)
		CHECK(c->top[i] == (float)n * c->grad[i]);
	CHECK(c->chained[1] == sum && c->chained[2] == (rank + 1) * sum);
}

static void free_calls(struct keyed_calls *c)
{
	for (int which = 0; which < N_CALLS; which++)
		choir_event_release(c->events[which]);
	for (int what = 0; what < DENSE; what++)
		flight_free(&c->dense[what]);
	choir_topk_destroy(c->topk);
	choir_sequence_free(c->sequence);
	choir_request_free(c->requests[0]);
	choir_request_free(c->requests[1]);
	free(c);
}

/* Rank r begins at a call of its own, and every second one goes backwards. */
static void any_order(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		struct keyed_calls *c = calloc(1, sizeof *c);

		make_dense(world, rank, c, round);
		make_others(world, rank, comm, c, round);
		for (int i = 0; i < N_CALLS; i++) {
			int at = (i + 7 * rank + 3 * round) % N_CALLS;

			OK(start(comm, c, (rank + round) % 2 == 0 ? at : N_CALLS - 1 - at, round));
		}
		for (int which = 0; which < N_CALLS; which++)
			OK(choir_event_wait(c->events[which], -1));
		check(world, rank, c, round);
		free_calls(c);
	}
}

static void test_any_order(void **state)
{
	(void)state;
	for (int per_node = 0; per_node < 3; per_node++)
		for (int n = 1; n <= 3; n++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

			config.keyed = 1;
			config.ranks_per_node = per_node;
			config.deadline_ms = 60000;
			world_run(n, &config, any_order, NULL);
		}
}

/* A sequence's call has no key: nothing of it is started, so the key is free. */
static void has_own_keys(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct keyed_calls *c = calloc(1, sizeof *c);
	choir_call call = CHOIR_CALL_INIT;

	(void)unused;
	make_dense(world, rank, c, 0);
	make_others(world, rank, comm, c, 0);
	call.key = "other";
	IS(choir_sequence_start(c->sequence, &call, NULL), CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "choir_sequence_start: the key is 'other'") != NULL);
	OK(choir_barrier(comm, &call, NULL));
	OK(choir_sequence_start(c->sequence, NULL, NULL));
	CHECK(c->chained[1] == world->n * (world->n - 1) / 2 && c->chained[2] == (rank + 1) * c->chained[1]);
	free_calls(c);
}

static void test_own_keys(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.keyed = 1;
	config.deadline_ms = 60000;
	world_run(2, &config, has_own_keys, NULL);
}

/* One rank has the key under way: the call for all ranks is refused, and nothing of it is there. */
static void test_local(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	int32_t in[2] = { 1, 2 }, out[2] = { 7, 7 };
	choir_buffer sends[2] = { choir_host(&in[0]), choir_host(&in[1]) },
		     recvs[2] = { choir_host(&out[0]), choir_host(&out[1]) };
	choir_call call = CHOIR_CALL_INIT;
	choir_event *events[2];
	struct world world;

	(void)state;
	config.keyed = 1;
	config.deadline_ms = 60000;
	world_begin(&world, 2, &config);
	call.key = "k";
	for (int first = 0; first < 2; first++) {
		assert_int_equal(choir_barrier(world.comms[first], &call, &events[0]), CHOIR_SUCCESS);
		assert_int_equal(
		    choir_allreduce_local(2, world.comms, sends, recvs, 1, CHOIR_I32, CHOIR_OP_SUM, &call, NULL),
		    CHOIR_ARGUMENT);
		assert_non_null(strstr(choir_last_error(), "choir_allreduce_local: rank"));
		assert_non_null(strstr(choir_last_error(), "a call of key 'k' is under way"));
		assert_int_equal(choir_barrier(world.comms[1 - first], &call, &events[1]), CHOIR_SUCCESS);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(choir_event_wait(events[i], -1), CHOIR_SUCCESS);
			choir_event_release(events[i]);
		}
		assert_true(out[0] == 7 && out[1] == 7);
	}
	assert_int_equal(choir_allreduce_local(2, world.comms, sends, recvs, 1, CHOIR_I32, CHOIR_OP_SUM, &call, NULL),
	                 CHOIR_SUCCESS);
	assert_true(out[0] == 3 && out[1] == 3);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_any_order), cmocka_unit_test(test_own_keys),
		                            cmocka_unit_test(test_local) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
