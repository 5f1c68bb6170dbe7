/* SPDX-License-Identifier: MIT */
/* The split phase: owners add in rank order, however few ranks they take pairs from at once, and while others come. */
#include "exec/worker.h"
#include "topk/law.h"
#include "topk/run.h"
#include "world/gate.h"
#include "world/memory.h"

#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 5, COUNT = 60000, K = 15000 };

static _Atomic int taken; /* lists that the worker adds */

bool __real_worker_take(enum worker_kind kind, void (*work)(void *), void *arg);
bool __wrap_worker_take(enum worker_kind kind, void (*work)(void *), void *arg);

bool __wrap_worker_take(enum worker_kind kind, void (*work)(void *), void *arg)
{
	atomic_fetch_add(&taken, work == topk_split_add);
	return __real_worker_take(kind, work, arg);
}

/* Sums are rounded, so another order of the ranks has other bits. */
static float fraction(int rank, size_t i)
{
	uint64_t x = ((uint64_t)rank * 7919 + i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return (float)((double)(x >> 11) * 0x1p-53 - 0.5) * (x % 7 == 0 ? 1000 : 1);
}

static bool reduce(struct world *world, int rank, choir_comm *comm, const choir_topk_config *config, const float *grad,
                   float *dense)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	bool ok;

	out.dense = choir_host(dense);
	if (!OK(choir_topk_create(comm, config, &state)))
		return false;
	ok = OK(choir_topk_allreduce(state, choir_host((void *)grad), &out, NULL, NULL));
	choir_topk_destroy(state);
	return ok;
}

static void order_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const size_t in_flight[] = { 0, 1, 2, 3, 100 };
	float *grad = malloc(COUNT * sizeof *grad), *want = malloc(COUNT * sizeof *want),
	      *got = malloc(COUNT * sizeof *got);
	choir_topk_config config = law_config("topka", COUNT, K);
	bool ok;

	(void)arg;
	for (size_t i = 0; i < COUNT; i++)
		grad[i] = fraction(rank, i);
	ok = reduce(world, rank, comm, &config, grad, want);
	config.algorithm = "topk-sa";
	for (int i = 0; i < 5 && ok; i++) {
		config.sends_in_flight = in_flight[i];
		ok = reduce(world, rank, comm, &config, grad, got);
		if (ok && memcmp(want, got, COUNT * sizeof *got) != 0)
			world_fail(world, rank, "other bits than topka's with %zu in flight", in_flight[i]);
	}
	free(grad);
	free(want);
	free(got);
}

static sem_t let_go;

static void hold(void *unused)
{
	(void)unused;
	sem_wait(&let_go);
}

/* The worker is at another comm's work, which may take long: the call does not wait for that. */
static void beside_work_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	float *grad = malloc(COUNT * sizeof *grad), *want = malloc(COUNT * sizeof *want),
	      *got = malloc(COUNT * sizeof *got);
	choir_topk_config config = law_config("topka", COUNT, K);

	(void)arg;
	for (size_t i = 0; i < COUNT; i++)
		grad[i] = fraction(rank, i);
	reduce(world, rank, comm, &config, grad, want);
	config.algorithm = "topk-sa";
	config.sends_in_flight = 1;
	if (rank == 0)
		CHECK(__real_worker_take(WORKER_JOBS, hold, NULL));
	line_up();
	if (reduce(world, rank, comm, &config, grad, got))
		CHECK(memcmp(want, got, COUNT * sizeof *got) == 0);
	line_up();
	if (rank == 0)
		sem_post(&let_go);
	free(grad);
	free(want);
	free(got);
}

static void busy_worker(void **state)
{
	(void)state;
	sem_init(&let_go, 0, 0);
	atomic_store(&taken, 0);
	line_up_run(RANKS, 0, 60000, beside_work_rank, NULL);
	assert_true(atomic_load(&taken) > 0);
	sem_destroy(&let_go);
}

static void rank_order(void **state)
{
	(void)state;
	atomic_store(&taken, 0);
	line_up_run(RANKS, 0, 60000, order_rank, NULL);
	assert_true(atomic_load(&taken) > 0);
	line_up_run(RANKS, 2, 60000, order_rank, NULL);
}

static void law(void **state)
{
	static const char *const names[] = { "topk-sa", "gaussiank-sa", "oktopk" };
	static const int ranks[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (int a = 0; a < 3; a++)
		for (int n = 0; n < 5; n++)
			for (size_t in_flight = 1; in_flight <= 3; in_flight++) {
				struct law law = { .config = law_config(names[a], 211, 12),
					           .ranks = ranks[n],
					           .calls = 5,
					           .device = in_flight == 2 };

				law.config.sends_in_flight = in_flight;
				law_holds(&law);
				assert_true(law_moved() > 0);
			}
}

/* The worker widens values and adds them. */
static void law_of_long_lists(void **state)
{
	(void)state;
	for (int narrow = 0; narrow < 2; narrow++) {
		struct law law = { .config = law_config("oktopk", COUNT, K), .ranks = 4, .calls = 2 };

		law.config.sends_in_flight = 1;
		law.config.wire_dtype = narrow ? CHOIR_BF16 : (choir_dtype)0;
		atomic_store(&taken, 0);
		law_holds(&law);
		assert_true(atomic_load(&taken) > 0);
	}
}

/* Ranks that take pairs from different numbers of others. */
static void mismatch_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = law_config("topk-sa", 100, 5);
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	float grad[100] = { 0 }, got[100];

	(void)arg;
	config.sends_in_flight = 1 + (size_t)rank;
	out.dense = choir_host(got);
	OK(choir_topk_create(comm, &config, &state));
	SAYS(choir_topk_allreduce(state, choir_host(grad), &out, NULL, NULL), CHOIR_MISMATCH, "topk_allreduce");
	choir_topk_destroy(state);
}

static void mismatch(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, mismatch_rank, NULL);
}

/* --- a callback that takes long --- */

static _Atomic int in_callback; /* ranks */
static _Atomic bool may_return;

static choir_status take_long(void *unused, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                              size_t val_count, choir_dtype val_dtype)
{
	(void)unused, (void)ind, (void)ind_count, (void)ind_dtype, (void)val, (void)val_count, (void)val_dtype;
	atomic_fetch_add(&in_callback, 1);
	while (!atomic_load(&may_return))
		sched_yield();
	return CHOIR_SUCCESS;
}

static choir_status take_none(void *unused, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                              size_t val_count, choir_dtype val_dtype)
{
	(void)unused, (void)ind, (void)ind_count, (void)ind_dtype, (void)val, (void)val_count, (void)val_dtype;
	return CHOIR_SUCCESS;
}

/* Rank 0's callback has a thread of the library's, since nobody waits, until a call on another comm is over that needs
 * one too. */
static void beside_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	float *grad = calloc(COUNT, sizeof *grad), *got = malloc(COUNT * sizeof *got), one = 1;
	choir_topk_config config = law_config("topk-sa", COUNT, K);
	choir_comm *other = NULL;
	choir_event *event = NULL;
	int32_t ind = rank;

	(void)arg;
	OK(choir_comm_split(comm, 0, 0, &other));
	for (size_t i = 0; i < COUNT; i++)
		grad[i] = fraction(rank, i);
	attr.completion_fn = rank == 0 ? take_long : take_none;
	OK(choir_sparse_allreduce(comm, choir_host(&ind), 1, choir_host(&one), 1, choir_none(), NULL, choir_none(),
	                          NULL, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, &event));
	while (atomic_load(&in_callback) == 0)
		sched_yield();
	line_up();
	config.sends_in_flight = 1;
	(void)reduce(world, rank, other, &config, grad, got);
	line_up();
	atomic_store(&may_return, true);
	OK(world_wait(CHOIR_SUCCESS, event));
	OK(choir_comm_destroy(other));
	free(grad);
	free(got);
}

static void beside_a_callback(void **state)
{
	(void)state;
	atomic_store(&taken, 0);
	line_up_run(4, 0, 30000, beside_rank, NULL);
	assert_true(atomic_load(&taken) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rank_order), cmocka_unit_test(busy_worker),
		                            cmocka_unit_test(law),        cmocka_unit_test(law_of_long_lists),
		                            cmocka_unit_test(mismatch),   cmocka_unit_test(beside_a_callback) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	memory_drop();
	world_device_drop();
	return failed;
}
