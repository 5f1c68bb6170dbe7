/* SPDX-License-Identifier: MIT */
/* Long host work of a sparse call: other calls of the rank and of its comms go on meanwhile, and a call that fails does
 * not return before the work has ended.  A gate in the coalescing of rank 0's list holds the work up. */
#include "net/hub.h"
#include "net/messenger.h"
#include "sparse/state.h"
#include "world/gate.h"

#include "exec/run.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { PAIRS = 3000, WIDTH = 32, MOST_MS = 15000, COUNT = 64 };

static sem_t entered, opened;
static atomic_bool holds; /* the next coalescing of so many pairs waits at the gate */

choir_status __real_coalesce_count(struct coalesce *job, bool *done_p);
choir_status __wrap_coalesce_count(struct coalesce *job, bool *done_p);

choir_status __wrap_coalesce_count(struct coalesce *job, bool *done_p)
{
	if (job->pairs == PAIRS && atomic_exchange(&holds, false)) {
		sem_post(&entered);
		sem_wait(&opened);
	}
	return __real_coalesce_count(job, done_p);
}

static const struct plan *_Atomic given_back; /* the last plan that a script gave back: no run has it any more */
static choir_event *_Atomic ends_last;        /* once it is complete its script has nothing of the caller's left */
static atomic_bool used_later;                /* one of the two was not so */

void __real_cached_plan_release(struct cached_plan *plan);
void __wrap_cached_plan_release(struct cached_plan *plan);
bool __real_run_advance(struct run *run);
bool __wrap_run_advance(struct run *run);
void __real_coalesce_fini(struct coalesce *job);
void __wrap_coalesce_fini(struct coalesce *job);

void __wrap_cached_plan_release(struct cached_plan *plan)
{
	if (plan != NULL)
		atomic_store(&given_back, &plan->plan);
	__real_cached_plan_release(plan);
}

bool __wrap_run_advance(struct run *run)
{
	if (run->plan != NULL && run->plan == atomic_load(&given_back))
		atomic_store(&used_later, true);
	return __real_run_advance(run);
}

void __wrap_coalesce_fini(struct coalesce *job)
{
	choir_event *event = atomic_load(&ends_last);
	int done = 0;

	if (event != NULL && choir_event_test(event, &done) == CHOIR_SUCCESS && done)
		atomic_store(&used_later, true);
	__real_coalesce_fini(job);
}

/* Rank 0 has sent a message that leaves after some looks, when its long work begins. */
static struct messenger *_Atomic sends;

bool __real_script_defers_job(struct sparse *sparse, struct script_turn *turn, uint64_t pairs);
bool __wrap_script_defers_job(struct sparse *sparse, struct script_turn *turn, uint64_t pairs);

bool __wrap_script_defers_job(struct sparse *sparse, struct script_turn *turn, uint64_t pairs)
{
	struct messenger *messenger = sparse->env.me == 0 ? atomic_exchange(&sends, NULL) : NULL;
	struct wire_header header = { .magic = WIRE_MAGIC, .kind = WIRE_DATA, .key = WIRE_PAIR, .dst = 1 };

	if (messenger != NULL && messenger_send(messenger, 1, &header, NULL, 0, NULL) != CHOIR_SUCCESS)
		abort();
	return __real_script_defers_job(sparse, turn, pairs);
}

/* A rank's call: all rows 1. */
struct call {
	choir_comm *comm;
	int32_t send_ind[PAIRS], recv_ind[PAIRS];
	float send_val[PAIRS * WIDTH], recv_val[PAIRS * WIDTH];
	size_t ind_count, val_count;
	int64_t deadline_ms; /* 0 = the comm's */
	choir_event *event;
	choir_status status;
};

static choir_status start_with(struct call *call, choir_comm *comm, int copies, const char *options, bool with_event)
{
	choir_call given = CHOIR_CALL_INIT;

	given.options = options;
	given.deadline_ms = call->deadline_ms;
	call->comm = comm;
	call->ind_count = PAIRS;
	call->val_count = PAIRS * WIDTH;
	call->event = NULL;
	for (int i = 0; i < PAIRS; i++)
		call->send_ind[i] = i / copies * 7;
	for (int i = 0; i < PAIRS * WIDTH; i++)
		call->send_val[i] = 1;
	return choir_sparse_allreduce(comm, choir_host(call->send_ind), PAIRS, choir_host(call->send_val),
	                              PAIRS * WIDTH, choir_host(call->recv_ind), &call->ind_count,
	                              choir_host(call->recv_val), &call->val_count, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM,
	                              NULL, &given, with_event ? &call->event : NULL);
}

/* Each index twice. */
static choir_status start(struct call *call, choir_comm *comm, bool with_event)
{
	return start_with(call, comm, 2, NULL, with_event);
}

static void check_result(const struct call *call)
{
	assert_int_equal(call->ind_count, PAIRS / 2);
	for (int i = 0; i < PAIRS / 2; i++) {
		assert_int_equal(call->recv_ind[i], i * 7);
		for (int k = 0; k < WIDTH; k++)
			assert_true(call->recv_val[i * WIDTH + k] == 4);
	}
}

static struct call calls[2];
static struct world world;

static void begin_on(int ranks_per_node, int64_t deadline_ms)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.ranks_per_node = ranks_per_node;
	config.deadline_ms = deadline_ms;
	world_begin(&world, 2, &config);
	sem_init(&entered, 0, 0);
	sem_init(&opened, 0, 0);
	atomic_store(&holds, true);
	atomic_store(&used_later, false);
	atomic_store(&given_back, NULL);
}

static void begin(int64_t deadline_ms)
{
	begin_on(0, deadline_ms);
}

static void end(void)
{
	for (int r = 0; r < 2; r++)
		choir_event_release(calls[r].event);
	sem_destroy(&entered);
	sem_destroy(&opened);
	world_end(&world);
}

/* Does the event end within MOST_MS?  Drives nothing. */
static bool ends_without_me(choir_event *event)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int done = 0;

	for (int i = 0; i < MOST_MS && !done; i++) {
		nanosleep(&ms, NULL);
		choir_event_test(event, &done);
	}
	return done;
}

/* A call of both ranks while the gate is closed. */
static bool sum_ends(choir_comm *const *comms, bool (*ends)(choir_event *event))
{
	struct sum sums[2];
	bool ended = true;

	for (int r = 0; r < 2; r++)
		assert_int_equal(sum_start(&sums[r], comms[r], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	for (int r = 0; r < 2; r++)
		ended &= ends(sums[r].event);
	sem_post(&opened);
	for (int r = 0; r < 2; r++) {
		ended &= choir_event_wait(sums[r].event, -1) == CHOIR_SUCCESS && sum_is(&sums[r], 2);
		sum_free(&sums[r]);
	}
	return ended;
}

static bool ends_while_I_wait(choir_event *event)
{
	return choir_event_wait(event, MOST_MS) == CHOIR_SUCCESS;
}

/* The background thread does the work; who waits for a later call of the comm drives that one. */
static void test_waiter_goes_on(void **state)
{
	(void)state;
	begin(20000);
	assert_int_equal(start(&calls[0], world.comms[0], true), CHOIR_SUCCESS);
	sem_wait(&entered);
	assert_int_equal(start(&calls[1], world.comms[1], true), CHOIR_SUCCESS);
	assert_true(sum_ends(world.comms, ends_while_I_wait));
	for (int r = 0; r < 2; r++) {
		assert_int_equal(choir_event_wait(calls[r].event, -1), CHOIR_SUCCESS);
		check_result(&calls[r]);
	}
	end();
}

/* Nobody waits: the background thread drives the comm's later call, and one of other comms, during the work. */
static void test_nobody_waits(void **state)
{
	struct world others;

	(void)state;
	for (int other = 0; other < 2; other++) {
		begin(20000);
		world_begin(&others, 2, NULL);
		assert_int_equal(start(&calls[0], world.comms[0], true), CHOIR_SUCCESS);
		sem_wait(&entered);
		assert_int_equal(start(&calls[1], world.comms[1], true), CHOIR_SUCCESS);
		assert_true(sum_ends(other ? others.comms : world.comms, ends_without_me));
		for (int r = 0; r < 2; r++)
			assert_true(ends_without_me(calls[r].event));
		for (int r = 0; r < 2; r++)
			check_result(&calls[r]);
		world_end(&others);
		end();
	}
}

static void *call_and_wait(void *arg)
{
	struct call *call = arg;

	call->status = start(call, call->comm, false);
	return NULL;
}

/* The only thread that waits does the work; the background thread drives a call of other comms. */
static void test_background_takes_over(void **state)
{
	struct world others;
	pthread_t thread;

	(void)state;
	begin(20000);
	world_begin(&others, 2, NULL);
	calls[0].comm = world.comms[0];
	assert_int_equal(pthread_create(&thread, NULL, call_and_wait, &calls[0]), 0);
	sem_wait(&entered);
	assert_true(sum_ends(others.comms, ends_without_me));
	assert_int_equal(start(&calls[1], world.comms[1], true), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(calls[1].event, -1), CHOIR_SUCCESS);
	pthread_join(thread, NULL);
	assert_int_equal(calls[0].status, CHOIR_SUCCESS);
	for (int r = 0; r < 2; r++)
		check_result(&calls[r]);
	world_end(&others);
	end();
}

/* An aborted call returns once its work, which reads the caller's memory, has ended. */
static void test_abort_waits(void **state)
{
	(void)state;
	begin(20000);
	calls[1].event = NULL;
	assert_int_equal(start(&calls[0], world.comms[0], true), CHOIR_SUCCESS);
	sem_wait(&entered);
	assert_int_equal(choir_comm_abort(world.comms[0]), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(calls[0].event, 100), CHOIR_TIMEOUT);
	atomic_store(&ends_last, calls[0].event);
	sem_post(&opened);
	assert_int_equal(choir_event_wait(calls[0].event, -1), CHOIR_ABORTED);
	assert_int_equal(choir_comm_destroy(world.comms[0]), CHOIR_SUCCESS);
	world.comms[0] = NULL;
	assert_false(atomic_load(&used_later));
	atomic_store(&ends_last, NULL);
	end();
}

/* A message that rank 0 has sent leaves while the only thread that waits is at work. */
static void test_messages_leave(void **state)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct messenger *messenger;
	pthread_t thread;

	(void)state;
	begin_on(1, 20000);
	messenger = world.comms[0]->messenger;
	hub_set_faults(hub_of(messenger_transport(messenger)), &(struct hub_faults){ .seed = 1, .delay_polls = 100 });
	atomic_store(&sends, messenger);
	calls[0].comm = world.comms[0];
	assert_int_equal(pthread_create(&thread, NULL, call_and_wait, &calls[0]), 0);
	sem_wait(&entered);
	for (int i = 0; i < MOST_MS && messenger_busy(messenger); i++)
		nanosleep(&ms, NULL);
	assert_false(messenger_busy(messenger));
	hub_set_faults(hub_of(messenger_transport(messenger)), &(struct hub_faults){ 0 });
	sem_post(&opened);
	assert_int_equal(start(&calls[1], world.comms[1], true), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(calls[1].event, -1), CHOIR_SUCCESS);
	pthread_join(thread, NULL);
	check_result(&calls[0]);
	end();
}

/* A script takes its next plan within long work: the run has let go of the one before. */
static void test_plans_are_let_go(void **state)
{
	(void)state;
	begin(20000);
	atomic_store(&holds, false);
	for (int r = 0; r < 2; r++)
		assert_int_equal(start_with(&calls[r], world.comms[r], 1, "algorithm=split", true), CHOIR_SUCCESS);
	for (int r = 0; r < 2; r++)
		assert_int_equal(choir_event_wait(calls[r].event, -1), CHOIR_SUCCESS);
	assert_non_null(atomic_load(&given_back));
	assert_false(atomic_load(&used_later));
	end();
}

/* A job of rank 0 outlasts its call's deadline, 200 ms: the comm fails then, and not with the end of the job, which
 * uses the caller's memory: until it has returned the call is not over.  Rank 1, whose own deadline is far, learns it.
 */
static void job_is_late(bool blocking)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	pthread_t thread;
	int done = 1;

	begin(60000);
	calls[0].deadline_ms = 200;
	calls[0].comm = world.comms[0];
	if (blocking) /* its thread does the job, and nobody waits; else the worker does it */
		assert_int_equal(pthread_create(&thread, NULL, call_and_wait, &calls[0]), 0);
	else
		assert_int_equal(start(&calls[0], world.comms[0], true), CHOIR_SUCCESS);
	sem_wait(&entered);
	for (int i = 0; i < MOST_MS && choir_comm_status(world.comms[1]) == CHOIR_SUCCESS; i++)
		nanosleep(&ms, NULL);
	assert_int_equal(choir_comm_status(world.comms[1]), CHOIR_TIMEOUT);
	assert_int_equal(start(&calls[1], world.comms[1], false), CHOIR_TIMEOUT);
	assert_true(says(choir_last_error(), "rank 0: sparse_allreduce #0|the work of rank 0 has not ended"));
	if (!blocking) {
		assert_int_equal(choir_event_test(calls[0].event, &done), CHOIR_SUCCESS);
		assert_false(done);
	}
	sem_post(&opened);
	if (blocking)
		pthread_join(thread, NULL);
	else
		calls[0].status = choir_event_wait(calls[0].event, -1);
	assert_int_equal(calls[0].status, CHOIR_TIMEOUT);
	calls[0].deadline_ms = 0;
	end();
}

static void test_job_is_late(void **state)
{
	(void)state;
	job_is_late(false);
	job_is_late(true);
}

static void *destroy(void *comm)
{
	(void)choir_comm_destroy(comm);
	return NULL;
}

/* So does the destruction of the comm. */
static void test_destroy_waits(void **state)
{
	pthread_t thread;
	int done = 1;

	(void)state;
	begin(20000);
	calls[1].event = NULL;
	assert_int_equal(start(&calls[0], world.comms[0], true), CHOIR_SUCCESS);
	sem_wait(&entered);
	world.comms[0]->deadline_ms = 50; /* that of the destruction: the call may take long to its work */
	assert_int_equal(pthread_create(&thread, NULL, destroy, world.comms[0]), 0);
	while (choir_comm_status(world.comms[1]) == CHOIR_SUCCESS) /* the end of the comm is known */
		sched_yield();
	assert_int_equal(choir_event_test(calls[0].event, &done), CHOIR_SUCCESS);
	assert_false(done);
	sem_post(&opened);
	pthread_join(thread, NULL);
	assert_int_equal(choir_event_status(calls[0].event), CHOIR_TIMEOUT);
	world.comms[0] = NULL;
	end();
}

static int drop(void **state)
{
	(void)state;
	world_device_drop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiter_goes_on),        cmocka_unit_test(test_nobody_waits),
		cmocka_unit_test(test_background_takes_over), cmocka_unit_test(test_messages_leave),
		cmocka_unit_test(test_plans_are_let_go),      cmocka_unit_test(test_abort_waits),
		cmocka_unit_test(test_destroy_waits),         cmocka_unit_test(test_job_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, drop);
}
