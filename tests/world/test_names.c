/* SPDX-License-Identifier: MIT */
/* choir_call.name stands in every sentence about that call, whatever kind of call it is and whatever goes wrong. */
#include "base/wait.h"
#include "exec/engine.h"
#include "world/gate.h"
#include "world/named_calls.h"

#include <choir/topk.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DEADLINE_MS = 200, SPARSE_MS = 600, FAR_SPARSE_MS = 2000, WARN_MS = 50 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[4096];

static void keep_log(void *ctx, int level, const char *text)
{
	(void)ctx;
	(void)level;
	pthread_mutex_lock(&log_lock);
	strncat(logged, text, sizeof logged - strlen(logged) - 1);
	pthread_mutex_unlock(&log_lock);
}

static bool log_names_the_call(void)
{
	bool does;

	pthread_mutex_lock(&log_lock);
	does = strstr(logged, "'gradients' (") != NULL;
	pthread_mutex_unlock(&log_lock);
	return does;
}

/* On a GPU a sparse call builds kernels, which takes longer than the deadline below: it finds them built. */
static void build_kernels(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct named_buffers *b = calloc(1, sizeof *b);

	(void)unused;
	OK(named_sparse(comm, b, NULL, NULL));
	OK(named_topk(comm, b, NULL, NULL));
	free(b);
}

static bool log_names_the_call_soon(void)
{
	int64_t end = wait_now_ns() + INT64_C(20000000000);

	while (!log_names_the_call() && wait_now_ns() < end)
		sched_yield();
	return log_names_the_call();
}

/* Rank 1 makes its call when the log has warned of it. */
static void warns(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();
	named_call_fn *fn = *(named_call_fn **)arg;

	CHECK(rank == 0 || log_names_the_call_soon());
	if (rank == 1 && fn == named_recv)
		OK(choir_send(comm, choir_host(b->in), NAMED_COUNT, CHOIR_I32, 0, NULL, NULL));
	else
		OK(fn(comm, b, &call, NULL));
	free(b);
}

/* Rank 1 makes no call: rank 0's ends by its deadline. */
static void late(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();

	if (rank == 0)
		SAYS((*(named_call_fn **)arg)(comm, b, &call, NULL), CHOIR_TIMEOUT,
		     "#|'gradients' (|rank 0|waits for rank 1");
	free(b);
}

/* A sparse call has work to do before it waits for rank 1, which takes many commands on a GPU. */
static int64_t deadline_of(named_call_fn *fn)
{
	if (fn != named_sparse && fn != named_kept_sparse && fn != named_topk)
		return DEADLINE_MS;
	return choir_device_class(world_device()) == CHOIR_CLASS_STAGE ? FAR_SPARSE_MS : SPARSE_MS;
}

static void test_late(void **state)
{
	(void)state;
	world_run(2, NULL, build_kernels, NULL);
	for (int per_node = 0; per_node <= 1; per_node++)
		for (int i = 0; i < N_NAMED_CALLS; i++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
			named_call_fn *fn = named_calls[i];

			config.ranks_per_node = per_node;
			config.deadline_ms = 60000;
			config.warn_ms = WARN_MS;
			logged[0] = '\0';
			choir_set_log(keep_log, NULL);
			world_run(2, &config, warns, &fn);
			config.deadline_ms = deadline_of(fn);
			config.warn_ms = 60000;
			logged[0] = '\0';
			world_run(2, &config, late, &fn);
			choir_set_log(NULL, NULL);
			if (!log_names_the_call())
				fail_msg("call %d: the failure does not name it: %s", i, logged);
		}
}

/* The ranks' calls differ: the sentence has the name of the one that it is told to. */
static void differ(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();

	(void)arg;
	if (rank == 0)
		IS(named_allreduce(comm, b, &call, NULL), CHOIR_MISMATCH);
	else
		IS(choir_allreduce(comm, choir_host(b->in), choir_host(b->out), NAMED_COUNT - 1, CHOIR_I32,
		                   CHOIR_OP_SUM, &call, NULL),
		   CHOIR_MISMATCH);
	CHECK(says(choir_last_error(), "'gradients' (|rank 0 calls|rank 1 calls|100 x i32|99 x i32"));
	free(b);
}

static void test_mismatch(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 1; per_node++)
		line_up_run(2, per_node, 20000, differ, NULL);
}

/* Of top-k: no place for a result, and no gradient. */
static void refuse_topk(struct world *world, int rank, choir_comm *comm, struct named_buffers *b)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state = NULL;
	choir_call call = named();

	config.count = NAMED_COUNT;
	if (!OK(choir_topk_create(comm, &config, &state)))
		return;
	SAYS(choir_topk_allreduce(state, choir_host(b->values), &out, &call, NULL), CHOIR_ARGUMENT, "'gradients'");
	out.dense = choir_host(b->sums);
	SAYS(choir_topk_allreduce(state, choir_host(NULL), &out, &call, NULL), CHOIR_ARGUMENT, "'gradients'");
	choir_topk_destroy(state);
}

/* Of a list that is kept: no buffer; and a start with an option, which belongs to the init. */
static void refuse_kept(struct world *world, int rank, choir_comm *comm, struct named_buffers *b)
{
	choir_tensor tensors[2] = { { choir_host(b->in), choir_host(b->out), NAMED_COUNT, CHOIR_I32 },
		                    { choir_host(NULL), choir_host(b->sums), NAMED_COUNT, CHOIR_F32 } };
	choir_call call = named(), start = CHOIR_CALL_INIT;
	choir_request *request = NULL;

	start.options = "method=broadcast";
	SAYS(choir_reduce_multi_init(comm, tensors, 2, CHOIR_OP_SUM, 0, &call, &request), CHOIR_ARGUMENT,
	     "'gradients'");
	SAYS(choir_reduce_scatter_multi(comm, tensors, 2, CHOIR_OP_SUM, &call, NULL), CHOIR_ARGUMENT, "'gradients'");
	tensors[1].send = choir_host(b->values);
	if (OK(choir_reduce_multi_init(comm, tensors, 2, CHOIR_OP_SUM, 0, &call, &request)))
		SAYS(choir_start(request, &start, NULL), CHOIR_ARGUMENT, "'gradients'");
	choir_request_free(request);
}

/* Wrong arguments, and an event's error. */
static void refused(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();
	choir_event *event;

	(void)arg;
	SAYS(choir_allreduce(comm, choir_host(NULL), choir_host(b->out), NAMED_COUNT, CHOIR_I32, CHOIR_OP_SUM, &call,
	                     NULL),
	     CHOIR_ARGUMENT, "'gradients'");
	SAYS(choir_sparse_allreduce(comm, choir_host(b->in), NAMED_COUNT, choir_host(b->values), NAMED_COUNT + 1,
	                            choir_host(b->out), &b->n_ind, choir_host(b->sums), &b->n_val, CHOIR_I32, CHOIR_F32,
	                            CHOIR_OP_SUM, NULL, &call, NULL),
	     CHOIR_ARGUMENT, "'gradients'");
	SAYS(choir_recv(comm, choir_host(b->out), NAMED_COUNT, CHOIR_I32, 7, &call, NULL), CHOIR_ARGUMENT,
	     "'gradients'");
	refuse_topk(world, rank, comm, b);
	refuse_kept(world, rank, comm, b);
	line_up(); /* the comm fails when both have been refused */
	if (rank == 0 && OK(named_allreduce(comm, b, &call, &event))) {
		IS(choir_event_wait(event, -1), CHOIR_TIMEOUT);
		CHECK(says(choir_event_error(event), "allreduce #|'gradients' ("));
		choir_event_release(event);
	}
	free(b);
}

static void test_refused(void **state)
{
	(void)state;
	line_up_run(2, 0, DEADLINE_MS, refused, NULL);
}

/* A wait that gives up says whose end it waited for, unless another thread drives for long; rank 1 makes its call
 * behind it. */
static void wait_briefly(struct world *world, int rank, choir_comm *comm, void *fn)
{
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();
	choir_event *event;
	int tries = 0;

	if (rank == 0 && OK((*(named_call_fn **)fn)(comm, b, &call, &event))) {
		do
			SAYS(choir_event_wait(event, 10), CHOIR_TIMEOUT,
			     "rank 0: |'gradients'| was not complete after 10 ms");
		while (strstr(choir_last_error(), "#") == NULL && ++tries < 100);
		CHECK(says(choir_last_error(), "#|'gradients' ("));
		line_up();
		OK(choir_event_wait(event, -1));
		choir_event_release(event);
	} else {
		line_up();
		OK((*(named_call_fn **)fn)(comm, b, &call, NULL));
	}
	free(b);
}

static void test_short_wait(void **state)
{
	static named_call_fn *waited[] = { named_allreduce, named_sendrecv, named_list };

	(void)state;
	for (size_t i = 0; i < sizeof waited / sizeof *waited; i++)
		line_up_run(2, 0, 20000, wait_briefly, &waited[i]);
}

/* A thread that another one keeps from driving knows the name all the same, and so does one whose call stands in an
 * open group. */
static void wait_beside(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();
	choir_event *event = NULL;

	(void)unused;
	if (rank == 0) {
		OK(choir_group_begin());
		OK(named_allreduce(comm, b, &call, &event));
		SAYS(choir_event_wait(event, 0), CHOIR_WOULD_DEADLOCK, "'gradients'|choir_group_end has not started");
		OK(choir_group_end());
		while (!engine_enter(&comm->engine))
			sched_yield();
		SAYS(choir_event_wait(event, 0), CHOIR_TIMEOUT, "rank 0: 'gradients' was not complete after 0 ms");
		engine_leave(&comm->engine);
	}
	line_up();
	if (rank == 1)
		OK(named_allreduce(comm, b, &call, &event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	free(b);
}

static void test_wait_beside(void **state)
{
	(void)state;
	line_up_run(2, 0, 20000, wait_beside, NULL);
}

/* The comm fails for another reason while the call is in flight: its event says so, with its name. */
static void fail_beside(struct world *world, int rank, choir_comm *comm, void *fn)
{
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();
	choir_event *event = NULL;

	if (rank == 0 && OK((*(named_call_fn **)fn)(comm, b, &call, &event))) {
		OK(choir_comm_abort(comm));
		SAYS(choir_event_wait(event, -1), CHOIR_ABORTED, "'gradients'|aborted");
		CHECK(says(choir_event_error(event), "'gradients'|aborted"));
		choir_event_release(event);
	}
	line_up();
	free(b);
}

static void test_fail_beside(void **state)
{
	static named_call_fn *waiting[] = { named_allreduce, named_allgatherv, named_alltoallv, named_list,
		                            named_recv,      named_sendrecv,   named_sparse,    named_kept };

	(void)state;
	for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
		line_up_run(2, 0, 20000, fail_beside, &waiting[i]);
}

/* --- a call that was made before, executed by the caller's thread --- */

choir_status __real_run_create(choir_comm *comm, struct run **out_p);
choir_status __wrap_run_create(choir_comm *comm, struct run **out_p);
static _Atomic bool refuse_runs;

choir_status __wrap_run_create(choir_comm *comm, struct run **out_p)
{
	return refuse_runs ? error_no_memory("a call", sizeof(struct run)) : __real_run_create(comm, out_p);
}

/* With an event first, so that the comm knows the call and has not executed it inline. */
static void inline_failure(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();
	choir_event *event = NULL;

	(void)arg;
	if (OK(named_allreduce(comm, b, NULL, &event)))
		IS(choir_event_wait(event, -1), CHOIR_SUCCESS);
	choir_event_release(event);
	line_up();
	refuse_runs = true;
	if (rank == 0)
		SAYS(named_allreduce(comm, b, &call, NULL), CHOIR_NO_MEMORY, "'gradients'|no memory for a call");
	line_up();
	refuse_runs = false;
	free(b);
}

static void test_inline_failure(void **state)
{
	(void)state;
	line_up_run(2, 0, 20000, inline_failure, NULL);
}

/* --- one thread, several ranks --- */

static bool log_names_the_idle_rank(void)
{
	bool does;

	pthread_mutex_lock(&log_lock);
	does = says(logged, "'gradients': rank 0 waits for rank 1, which no thread has called for yet");
	pthread_mutex_unlock(&log_lock);
	return does;
}

/* Both ranks' calls by this thread, so each comm knows it. */
static void group_of_both(struct world *world, struct named_buffers *b)
{
	assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
	for (int r = 0; r < 2; r++)
		assert_int_equal(named_allreduce(world->comms[r], &b[r], NULL, NULL), CHOIR_SUCCESS);
	assert_int_equal(choir_group_end(), CHOIR_SUCCESS);
}

static void test_would_deadlock(void **state)
{
	struct named_buffers *b = calloc(2, sizeof *b);
	choir_call call = named();
	struct world world;

	(void)state;
	world_begin(&world, 2, NULL);
	group_of_both(&world, b);
	assert_int_equal(named_allreduce(world.comms[0], b, &call, NULL), CHOIR_WOULD_DEADLOCK);
	assert_true(says(choir_last_error(), "'gradients'|rank 0 would block for rank 1"));
	call.name = ""; /* none */
	assert_int_equal(named_allreduce(world.comms[0], b, &call, NULL), CHOIR_WOULD_DEADLOCK);
	assert_null(strstr(choir_last_error(), "''"));
	call.name = "rank"; /* a word of the sentence */
	assert_int_equal(named_allreduce(world.comms[0], b, &call, NULL), CHOIR_WOULD_DEADLOCK);
	assert_true(says(choir_last_error(), "'rank'"));
	world_end(&world);
	free(b);
}

/* Nobody has used rank 1.  A sparse call is submitted, an allreduce executed inline at first. */
static void test_idle_sibling(void **state)
{
	static named_call_fn *const waiting[] = { named_allreduce, named_list, named_sparse };
	struct named_buffers *b = calloc(1, sizeof *b);
	choir_call call = named();

	(void)state;
	for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		struct world world;

		config.warn_ms = WARN_MS;
		config.deadline_ms = deadline_of(waiting[i]);
		world_begin(&world, 2, &config);
		logged[0] = '\0';
		choir_set_log(keep_log, NULL);
		assert_int_equal(waiting[i](world.comms[0], b, &call, NULL), CHOIR_TIMEOUT);
		choir_set_log(NULL, NULL);
		if (!log_names_the_idle_rank())
			fail_msg("call %zu: the warning does not name it: %s", i, logged);
		world_end(&world);
	}
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late),           cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_refused),        cmocka_unit_test(test_short_wait),
		cmocka_unit_test(test_wait_beside),    cmocka_unit_test(test_fail_beside),
		cmocka_unit_test(test_inline_failure), cmocka_unit_test(test_would_deadlock),
		cmocka_unit_test(test_idle_sibling)
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
