/* SPDX-License-Identifier: MIT */
/* Many tensors as one, and calls that are made once and started many times. */
#include "topk/law.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 5000, K = 150, CALLS = 3, TENSORS = 6 };

/* Blocks of the accumulation end within tensors, and tensors within blocks. */
static const size_t counts[TENSORS] = { 1, 2999, 0, 7, 1993, 0 };

static const int worlds[] = { 1, 2, 3, 5, 8 };

struct side {
	float grad[N], want[N], got[N], val[N], left[2][N];
	int32_t ind[N];
	size_t pairs;
	choir_tensor tensors[TENSORS];
};

static float value(int rank, int call, size_t i)
{
	return (float)((i * 37 + (size_t)rank * 11 + (size_t)call * 5) % 1009) - 504;
}

static void fill(struct side *side, int rank, int call)
{
	for (size_t i = 0; i < N; i++)
		side->grad[i] = value(rank, call, i);
}

/* Tensor 4 in place: its gradient is copied to where its result goes. */
static void cut(struct side *side)
{
	size_t first = 0;

	for (int i = 0; i < TENSORS; i++) {
		side->tensors[i] = (choir_tensor){ choir_host(&side->grad[first]), choir_host(&side->got[first]),
			                           counts[i], CHOIR_F32 };
		if (i == 4) {
			memcpy(&side->got[first], &side->grad[first], counts[i] * sizeof(float));
			side->tensors[i].send = side->tensors[i].recv;
		}
		first += counts[i];
	}
}

static choir_status one(choir_topk_state *state, const struct side *side, float *dense)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;

	out.dense = choir_host(dense);
	return choir_topk_allreduce(state, choir_host((void *)side->grad), &out, NULL, NULL);
}

static void same_as_one(struct world *world, int rank, choir_comm *comm, choir_topk_config config, struct side *side)
{
	choir_topk_state *whole = NULL, *parts = NULL;

	config.count = N;
	if (!OK(choir_topk_create(comm, &config, &whole)) || !OK(choir_topk_create(comm, &config, &parts)))
		return;
	for (int call = 0; call < CALLS; call++) {
		choir_topk_out out = CHOIR_TOPK_OUT_INIT;
		choir_event *event = NULL;

		fill(side, rank, call);
		cut(side);
		out.ind = choir_host(side->ind);
		out.val = choir_host(side->val);
		out.pairs_p = &side->pairs;
		side->pairs = N;
		OK(one(whole, side, side->want));
		OK(choir_topk_allreduce_multi(parts, side->tensors, TENSORS, &out, NULL, &event));
		OK(choir_event_wait(event, -1));
		choir_event_release(event);
		CHECK(memcmp(side->want, side->got, sizeof side->got) == 0);
		for (size_t i = 0; i < side->pairs; i++)
			CHECK(side->val[i] == side->want[side->ind[i]]);
	}
	OK(choir_topk_residual(whole, side->left[0]));
	OK(choir_topk_residual(parts, side->left[1]));
	CHECK(memcmp(side->left[0], side->left[1], sizeof side->left[0]) == 0);
	choir_topk_destroy(whole);
	choir_topk_destroy(parts);
}

static void parts_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct side *side = malloc(sizeof *side);

	(void)arg;
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		choir_topk_config config = law_config(law_algorithms[a], N, K);

		config.momentum = a % 2 ? 0.5 : 0;
		config.dense_calls = a % 3 == 0;
		same_as_one(world, rank, comm, config, side);
	}
	free(side);
}

/* Gradients of 16 bits, which are widened block by block; results of some tensors only. */
static void narrow_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static uint16_t grads[2][N], results[2][2][N];
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *whole, *parts;
	choir_tensor tensors[3] = { { choir_host(grads[rank]), choir_host(results[rank][1]), 999, CHOIR_BF16 },
		                    { choir_host(grads[rank] + 999), choir_none(), 2001, CHOIR_BF16 },
		                    { choir_host(grads[rank] + 3000), choir_host(results[rank][1] + 3000), 2000,
		                      CHOIR_BF16 } };

	(void)arg;
	config.dtype = CHOIR_BF16;
	for (size_t i = 0; i < N; i++)
		grads[rank][i] = (uint16_t)(0x3f80 + (i * 31 + (size_t)rank * 7) % 300); /* 1 and above */
	out.dense = choir_host(results[rank][0]);
	OK(choir_topk_create(comm, &config, &whole));
	OK(choir_topk_create(comm, &config, &parts));
	OK(choir_topk_allreduce(whole, choir_host(grads[rank]), &out, NULL, NULL));
	OK(choir_topk_allreduce_multi(parts, tensors, 3, NULL, NULL, NULL));
	for (size_t i = 0; i < N; i++)
		CHECK(results[rank][1][i] == (i >= 999 && i < 3000 ? 0 : results[rank][0][i]));
	choir_topk_destroy(whole);
	choir_topk_destroy(parts);
}

static void refused_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	struct side *side = calloc(1, sizeof *side);
	choir_tensor *t = side->tensors;

	(void)arg;
	OK(choir_topk_create(comm, &config, &state));
	cut(side);
	SAYS(choir_topk_allreduce_multi(NULL, t, TENSORS, NULL, NULL, NULL), CHOIR_ARGUMENT, "multi: null state");
	SAYS(choir_topk_allreduce_multi(state, NULL, TENSORS, NULL, NULL, NULL), CHOIR_ARGUMENT, "null tensors");
	SAYS(choir_topk_allreduce_multi(state, t, 4, NULL, NULL, NULL), CHOIR_ARGUMENT, "3007 of the 5000");
	t[5].count = 1;
	SAYS(choir_topk_allreduce_multi(state, t, TENSORS, NULL, NULL, NULL), CHOIR_ARGUMENT,
	     "with tensor 5|more than the 5000");
	t[5].count = SIZE_MAX;
	SAYS(choir_topk_allreduce_multi(state, t, TENSORS, NULL, NULL, NULL), CHOIR_ARGUMENT, "with tensor 5");
	t[5].count = 0;
	t[3].dtype = CHOIR_F16;
	SAYS(choir_topk_allreduce_multi(state, t, TENSORS, NULL, NULL, NULL), CHOIR_ARGUMENT, "tensor 3|f16|f32");
	t[3].dtype = CHOIR_F32;
	t[3].send = choir_none();
	SAYS(choir_topk_allreduce_multi(state, t, TENSORS, NULL, NULL, NULL), CHOIR_ARGUMENT, "grad");
	t[3].send = t[1].recv;
	SAYS(choir_topk_allreduce_multi(state, t, TENSORS, NULL, NULL, NULL), CHOIR_ARGUMENT, "overlap");
	cut(side);
	out.dense = choir_host(side->want);
	SAYS(choir_topk_allreduce_multi(state, t, TENSORS, &out, NULL, NULL), CHOIR_ARGUMENT, "out->dense");
	for (int i = 0; i < TENSORS; i++)
		t[i].recv = choir_none();
	SAYS(choir_topk_allreduce_multi(state, t, TENSORS, NULL, NULL, NULL), CHOIR_ARGUMENT, "neither");
	choir_topk_destroy(state);
	free(side);
}

/* Started again and again, alone and in a sequence, as calls of another state; the caller's handle of the state is gone
 * by then. */
static void persistent_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	enum { K_SMALL = 20 };
	choir_topk_config config = law_config("oktopk", N, K_SMALL);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *kept, *beside;
	choir_request *request, *list, *barrier, *both[2];
	choir_sequence *sequence = NULL;
	struct side *side = malloc(sizeof *side);

	(void)arg;
	OK(choir_topk_create(comm, &config, &kept));
	OK(choir_topk_create(comm, &config, &beside));
	fill(side, rank, 0);
	cut(side);
	out.dense = choir_host(side->got);
	out.ind = choir_host(side->ind);
	out.val = choir_host(side->val);
	out.pairs_p = &side->pairs;
	side->pairs = N;
	OK(choir_topk_allreduce_init(kept, choir_host(side->grad), &out, NULL, &request));
	OK(choir_topk_allreduce_multi_init(kept, side->tensors, TENSORS, NULL, NULL, &list));
	OK(choir_barrier_init(comm, NULL, &barrier));
	both[0] = barrier;
	both[1] = request;
	OK(choir_sequence_create(both, 2, &sequence));
	choir_topk_destroy(kept);
	for (int call = 0; call < 8; call++) {
		choir_event *event = NULL;

		fill(side, rank, call);
		cut(side);
		OK(one(beside, side, side->want));
		side->pairs = 0; /* the room is init's */
		OK(call % 3 == 1 ? choir_sequence_start(sequence, NULL, &event)
		                 : choir_start(call % 3 == 2 ? list : request, NULL, &event));
		OK(choir_event_wait(event, -1));
		choir_event_release(event);
		CHECK(memcmp(side->want, side->got, sizeof side->got) == 0);
		CHECK(call % 3 == 2 || side->pairs > 0);
	}
	choir_sequence_free(sequence);
	choir_request_free(barrier);
	choir_request_free(request);
	choir_request_free(list);
	choir_topk_destroy(beside);
	free(side);
}

static void refused_init_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topka", N, K);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	choir_request *request = NULL;
	choir_call call = CHOIR_CALL_INIT;
	struct side *side = calloc(1, sizeof *side);
	choir_buffer grad = choir_host(side->grad);

	(void)arg;
	OK(choir_topk_create(comm, &config, &state));
	SAYS(choir_topk_allreduce_init(NULL, grad, &out, NULL, &request), CHOIR_ARGUMENT, "null state");
	SAYS(choir_topk_allreduce_init(state, grad, NULL, NULL, &request), CHOIR_ARGUMENT, "null out");
	SAYS(choir_topk_allreduce_init(state, grad, &out, NULL, &request), CHOIR_ARGUMENT, "neither");
	out.dense = choir_host(side->got);
	SAYS(choir_topk_allreduce_init(state, grad, &out, NULL, NULL), CHOIR_ARGUMENT, "null pointer");
	call.options = "algorithm=gtopk";
	SAYS(choir_topk_allreduce_init(state, grad, &out, &call, &request), CHOIR_ARGUMENT, "no options");
	SAYS(choir_topk_allreduce_multi_init(state, NULL, 1, NULL, NULL, &request), CHOIR_ARGUMENT, "null tensors");
	CHECK(request == NULL);
	choir_topk_destroy(state);
	free(side);
}

static void parts(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		line_up_run(worlds[i], 0, 60000, parts_rank, NULL);
	line_up_run(2, 0, 30000, narrow_rank, NULL);
}

static void persistent(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		line_up_run(worlds[i], 0, 60000, persistent_rank, NULL);
}

static void refusals(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, refused_rank, NULL);
	line_up_run(2, 0, 30000, refused_init_rank, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(parts), cmocka_unit_test(persistent),
		                            cmocka_unit_test(refusals) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
