/* SPDX-License-Identifier: MIT */
/* A rank that sees a comm fail and destroys the others tells the cause to those who wait for it there. */
#include "exec/comm.h"
#include "world/gate.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct pairs {
	int32_t ind, ind_out[3];
	float val, val_out[3];
	size_t n_ind, n_val;
};

enum { RANKS = 3, SHORT_MS = 1000, LATE_MS = 1500, LONG_MS = 60000, TAG = 7 };

#define FAILURE "failing: rank 1: send/recv #0 (1 x i32) waits for rank 2"
#define CAUSE   "; another of its comms had failed: " FAILURE

static choir_comm *split(struct world *world, int rank, choir_comm *parent, const char *name, int keyed)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *comm = NULL;

	config.name = name;
	config.keyed = keyed;
	OK(choir_comm_split_config(parent, 0, 0, &config, &comm));
	return comm;
}

/* Rank 1's recv fails, since rank 2 does not send; the others learn of it from rank 1. */
static void let_fail(struct world *world, int rank, choir_comm *failing)
{
	choir_call call = CHOIR_CALL_INIT;
	int32_t value = 0;

	call.deadline_ms = SHORT_MS;
	if (rank == 1)
		SAYS(choir_recv(failing, choir_host(&value), 1, CHOIR_I32, 2, &call, NULL), CHOIR_TIMEOUT, FAILURE);
}

/* Rank 1 has sent something with a tag to each, so that its farewell has that too. */
static void send_with_tag(struct world *world, int rank, choir_comm *comm)
{
	choir_call call = CHOIR_CALL_INIT;
	int32_t value = rank;

	call.tag = TAG;
	if (rank == 1)
		for (int to = 0; to < RANKS; to += 2)
			OK(choir_send(comm, choir_host(&value), 1, CHOIR_I32, to, &call, NULL));
	else
		OK(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 1, &call, NULL));
}

/* Rank 1 goes, and rank 0 waits for it. */
static void wait_in_vain(struct world *world, int rank, choir_comm *comm, choir_status wanted, const char *words)
{
	choir_call call = CHOIR_CALL_INIT;
	int32_t value = 0;

	call.tag = TAG;
	if (rank == 1)
		OK(choir_comm_destroy(comm));
	if (rank == 0)
		SAYS(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 1, &call, NULL), wanted, words);
	CHECK(rank != 0 || says(choir_last_error(), "failed") == (wanted != CHOIR_ABORTED));
	line_up();
	if (rank != 1)
		OK(choir_comm_destroy(comm));
}

/* The comm from which the failed one was split. */
static void parent_is_told(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_comm *failing = split(world, rank, parent, "failing", 0);

	(void)arg;
	send_with_tag(world, rank, parent);
	line_up();
	let_fail(world, rank, failing);
	world->comms[rank] = NULL;
	wait_in_vain(world, rank, parent, CHOIR_TIMEOUT, "rank 1, which destroyed its comm after allgather #|" CAUSE);
	OK(choir_comm_destroy(failing));
}

/* Another that was split from the same one.  The failed one is destroyed before. */
static void sibling_is_told(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_comm *failing = split(world, rank, parent, "failing", 0);
	choir_comm *sibling = split(world, rank, parent, "sibling", 0);

	(void)arg;
	send_with_tag(world, rank, sibling);
	line_up();
	let_fail(world, rank, failing);
	line_up();
	OK(choir_comm_destroy(failing));
	wait_in_vain(world, rank, sibling, CHOIR_TIMEOUT,
	             "sibling: rank 0: |rank 1, which destroyed its comm before its first collective call" CAUSE);
}

/* One that was split from another; the parent has failed. */
static void child_is_told(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_comm *failing = split(world, rank, parent, "failing", 0);
	choir_comm *child = split(world, rank, failing, "child", 0);

	(void)arg;
	line_up();
	let_fail(world, rank, failing);
	wait_in_vain(world, rank, child, CHOIR_TIMEOUT,
	             "child: rank 0: |rank 1, which destroyed its comm before|" CAUSE);
	OK(choir_comm_destroy(failing));
}

/* A call that is matched by key. */
static void key_is_told(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_comm *failing = split(world, rank, parent, "failing", 0);
	choir_comm *sibling = split(world, rank, parent, "sibling", 1);
	choir_call call = CHOIR_CALL_INIT;

	(void)arg;
	call.key = "layer/7";
	line_up();
	let_fail(world, rank, failing);
	if (rank == 1)
		OK(choir_comm_destroy(sibling));
	if (rank == 0)
		SAYS(choir_barrier(sibling, &call, NULL), CHOIR_TIMEOUT,
		     "key 'layer/7' by rank 1, which destroyed its comm before its first collective call" CAUSE);
	line_up();
	if (rank != 1)
		OK(choir_comm_destroy(sibling));
	OK(choir_comm_destroy(failing));
}

/* A rank that goes on after the failure, and leaves for a reason of its own. */
static void old_failure_is_not(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_comm *failing = split(world, rank, parent, "failing", 0);
	choir_comm *sibling = split(world, rank, parent, "sibling", 0);

	(void)arg;
	line_up();
	let_fail(world, rank, failing);
	OK(choir_barrier(sibling, NULL, NULL));
	line_up(); /* rank 0's failure ends a barrier that a slow rank has not left */
	wait_in_vain(world, rank, sibling, CHOIR_ABORTED, "rank 1, which destroyed its comm after barrier #0");
	OK(choir_comm_destroy(failing));
}

/* Rank 2 stands still; rank 1 waits for it in a comm of these two, and rank 0 waits for both in the parent. */
static void silent_one_is_named(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	choir_comm *pair = NULL;

	(void)arg;
	OK(choir_comm_split(parent, rank == 0 ? 0 : 1, rank, &pair));
	call.deadline_ms = LATE_MS;
	if (rank == 1)
		OK(choir_barrier(pair, NULL, &event));
	line_up();
	if (rank == 0)
		SAYS(choir_barrier(parent, &call, NULL), CHOIR_TIMEOUT, "rank 2");
	CHECK(rank != 0 || !says(choir_last_error(), "rank 1"));
	line_up();
	if (rank == 2)
		OK(choir_barrier(pair, NULL, NULL));
	if (rank == 1)
		OK(choir_event_wait(event, LONG_MS));
	choir_event_release(event);
	OK(choir_comm_destroy(pair));
}

/* The same; rank 1 has a call in the parent too, which depends on the one in the pair. */
static void silent_one_is_named_behind_deps(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL, *next = NULL;
	choir_comm *pair = NULL;

	(void)arg;
	OK(choir_comm_split(parent, rank == 0 ? 0 : 1, rank, &pair));
	call.deadline_ms = rank == 0 ? LATE_MS : 0;
	if (rank == 1) {
		OK(choir_barrier(pair, NULL, &event));
		call.deps = &event;
		call.n_deps = 1;
		OK(choir_barrier(parent, &call, &next)); /* rank 0's time-out ends it */
	}
	line_up();
	if (rank == 0)
		SAYS(choir_barrier(parent, &call, NULL), CHOIR_TIMEOUT, "rank 2");
	CHECK(rank != 0 || !says(choir_last_error(), "rank 1"));
	line_up();
	if (rank == 2)
		OK(choir_barrier(pair, NULL, NULL));
	if (rank == 1)
		OK(choir_event_wait(event, LONG_MS));
	choir_event_release(event);
	choir_event_release(next);
	OK(choir_comm_destroy(pair));
}

/* The executor: keeps the callback of rank 1, which rank 0 runs. */
static struct {
	choir_work_fn work;
	void *arg;
	sem_t is_here, may_go; /* the callback; rank 2 */
} kept;

static void keep_work(void *ctx, choir_work_fn work, void *arg)
{
	(void)ctx;
	kept.work = work;
	kept.arg = arg;
	sem_post(&kept.is_here);
}

static void await(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static choir_status take_result(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                                size_t val_count, choir_dtype val_dtype)
{
	(void)ctx, (void)ind, (void)ind_count, (void)ind_dtype, (void)val, (void)val_count, (void)val_dtype;
	return CHOIR_SUCCESS;
}

/* Each rank gives its number; rank 1 takes the result by a callback. */
static void start_sparse(struct world *world, int rank, choir_comm *comm, struct pairs *pairs, choir_event **event_p)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_buffer ind = choir_host(pairs->ind_out), val = choir_host(pairs->val_out);

	*pairs = (struct pairs){ .ind = rank, .val = 1, .n_ind = RANKS, .n_val = RANKS };
	if (rank == 1) {
		attr.completion_fn = take_result;
		ind = val = choir_none();
	}
	OK(choir_sparse_allreduce(comm, choir_host(&pairs->ind), 1, choir_host(&pairs->val), 1, ind, &pairs->n_ind, val,
	                          &pairs->n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, event_p));
}

/* Rank 1 waits for rank 2 in a comm of these two, and a callback of its call in the parent does not return: that, and
 * not rank 2, is why it is late there. */
static void busy_one_is_named(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL, *sparse = NULL;
	choir_comm *pair = NULL;
	struct pairs pairs;

	(void)arg;
	OK(choir_comm_split(parent, rank == 0 ? 0 : 1, rank, &pair));
	call.deadline_ms = LATE_MS;
	if (rank == 1)
		OK(choir_barrier(pair, NULL, &event));
	start_sparse(world, rank, parent, &pairs, &sparse);
	if (rank == 0) {
		await(&kept.is_here);
		SAYS(choir_barrier(parent, &call, NULL), CHOIR_TIMEOUT, "rank 1");
		CHECK(!says(choir_last_error(), "rank 2"));
		kept.work(kept.arg);
		sem_post(&kept.may_go);
	}
	if (rank == 2) {
		await(&kept.may_go);
		OK(choir_barrier(pair, NULL, NULL));
	}
	if (rank == 1)
		OK(choir_event_wait(event, LONG_MS));
	(void)choir_event_wait(sparse, LONG_MS); /* rank 0's time-out may have ended it */
	choir_event_release(event);
	choir_event_release(sparse);
	OK(choir_comm_destroy(pair));
}

static const world_fn cases[] = { parent_is_told,
	                          sibling_is_told,
	                          child_is_told,
	                          key_is_told,
	                          old_failure_is_not,
	                          silent_one_is_named,
	                          silent_one_is_named_behind_deps };

/* The numbers of the ranks in the first comm, by which relatives know each other's. */
static void first_numbers(struct world *world, int rank, choir_comm *parent, void *arg)
{
	choir_comm *turned = NULL, *two = NULL;

	(void)arg;
	OK(choir_comm_split(parent, 0, -rank, &turned));
	OK(choir_comm_split(turned, rank > 0 ? 0 : -1, 0, &two));
	for (int r = 0; r < RANKS; r++)
		CHECK(parent->origin_of[r] == r && turned->origin_of[r] == RANKS - 1 - r);
	CHECK((two != NULL) == (rank > 0));
	if (two != NULL)
		CHECK(two->origin_of[0] == 2 && two->origin_of[1] == 1);
	OK(choir_comm_destroy(two));
	OK(choir_comm_destroy(turned));
}

static void test_first_numbers(void **state)
{
	(void)state;
	world_run(RANKS, NULL, first_numbers, NULL);
}

static void test_relatives(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int per_node = 0; per_node <= 2; per_node++)
			line_up_run(RANKS, per_node, LONG_MS, cases[i], NULL);
}

static void test_busy(void **state)
{
	(void)state;
	sem_init(&kept.is_here, 0, 0);
	sem_init(&kept.may_go, 0, 0);
	assert_int_equal(choir_set_executor(keep_work, NULL), CHOIR_SUCCESS);
	for (int per_node = 0; per_node <= 2; per_node++)
		line_up_run(RANKS, per_node, LONG_MS, busy_one_is_named, NULL);
	assert_int_equal(choir_set_executor(NULL, NULL), CHOIR_SUCCESS);
	sem_destroy(&kept.is_here);
	sem_destroy(&kept.may_go);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_relatives), cmocka_unit_test(test_busy),
		                            cmocka_unit_test(test_first_numbers) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
