/* SPDX-License-Identifier: MIT */
/* CHOIR_LOG: the environment of each ctest entry sets it.  With debug a line for every call of every rank, inline or
 * queued; with warn the late rank and no calls; with error only a comm's failure; a program's own function gets
 * the others, and no lines of calls. */
#include "base/log.h"
#include "world/world.h"

#include <choir/topk.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 2, CALLS = 5 };

static const char *file_name; /* of CHOIR_LOG */
static char level[8];

static char *read_log(void)
{
	static char text[65536];
	FILE *file = fopen(file_name, "r");
	size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;

	text[n] = '\0';
	if (file != NULL)
		fclose(file);
	return text;
}

static int count(const char *word)
{
	int n = 0;

	for (const char *at = read_log(); (at = strstr(at, word)) != NULL; at++)
		n++;
	return n;
}

static bool wants(const char *least)
{
	static const char *const order[] = { "error", "warn", "info", "debug" };
	int mine = 0, other = 0;

	for (int i = 0; i < 4; i++) {
		mine = strcmp(order[i], level) == 0 ? i : mine;
		other = strcmp(order[i], least) == 0 ? i : other;
	}
	return mine >= other;
}

static void calls(struct world *world, int rank, choir_comm *comm, void *arg)
{
	float x[3] = { 1, 2, 3 };
	choir_event *event;

	(void)arg;
	for (int i = 0; i < CALLS; i++)
		OK(choir_allreduce(comm, choir_host(x), choir_host(x), 3, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL));
	OK(choir_broadcast(comm, choir_host(x), choir_host(x), 3, CHOIR_F32, 0, NULL, &event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	if (rank == 0)
		OK(choir_send(comm, choir_host(x), 2, CHOIR_F32, 1, NULL, NULL));
	else
		OK(choir_recv(comm, choir_host(x), 2, CHOIR_F32, 0, NULL, NULL));
}

static void test_calls(void **state)
{
	(void)state;
	world_run(RANKS, NULL, calls, NULL);
	assert_int_equal(count("rank 0: allreduce #"), wants("debug") ? CALLS : 0);
	assert_int_equal(count("rank 1: allreduce #"), wants("debug") ? CALLS : 0);
	assert_int_equal(count("(3 x f32, "), wants("debug") ? RANKS * (CALLS + 1) : 0);
	assert_int_equal(count(": SUCCESS after "), wants("debug") ? RANKS * (CALLS + 2) : 0);
	assert_int_equal(count("broadcast #"), wants("debug") ? RANKS : 0);
	/* only a reduction has an operator, only a rooted call a root */
	assert_int_equal(count("f32, sum"), wants("debug") ? RANKS * CALLS : 0);
	assert_int_equal(count("f32, root 0"), wants("debug") ? RANKS : 0);
	assert_int_equal(count("(2 x f32) to rank 1 by "), wants("debug") ? 1 : 0);
	assert_int_equal(count("(2 x f32) from rank 0 by "), wants("debug") ? 1 : 0);
	assert_int_equal(count(" 1 by ") + count(" 0 by "), wants("debug") ? RANKS : 0);
	assert_int_equal(count(") by "), 0); /* the algorithm stands inside the brackets */
	assert_int_equal(count(", inline: ") + count(", queued: "), wants("debug") ? RANKS * (CALLS + 2) : 0);
}

/* Calls whose sizes ranks do not agree on: the line has this rank's.  The first alltoallv is a script, the others have
 * the counts of the one before. */
static void own_sizes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	size_t counts[] = { 1, 3 }, at[] = { 0, 1 }, mine[] = { counts[rank], counts[rank] }, my_at[] = { 0, mine[0] };
	int32_t ind[] = { 4, 5, 6 }, to_ind[8];
	float x[8] = { 1, 2, 3 }, y[16];
	size_t n_ind = 8, n_val = 16;

	(void)arg;
	for (int i = 0; i < CALLS; i++)
		OK(choir_alltoallv(comm, choir_host(x), counts, at, choir_host(y), mine, my_at, CHOIR_F32, NULL, NULL));
	OK(choir_sparse_allreduce(comm, choir_host(ind), 3, choir_host(x), 6, choir_host(to_ind), &n_ind, choir_host(y),
	                          &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL, NULL));
	n_ind = 8, n_val = 16;
	OK(choir_sparse_allreduce(comm, choir_host(ind), 1, choir_host(x), 3, choir_host(to_ind), &n_ind, choir_host(y),
	                          &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL, NULL));
}

static void test_own_sizes(void **state)
{
	(void)state;
	world_run(RANKS, NULL, own_sizes, NULL);
	assert_int_equal(count("alltoallv #"), wants("debug") ? RANKS * CALLS : 0);
	assert_int_equal(count("(4 x f32, "), wants("debug") ? RANKS * CALLS : 0);
	assert_int_equal(count("(6 x f32, "), wants("debug") ? RANKS : 0);
	assert_int_equal(count("), 3 rows of 2"), wants("debug") ? RANKS : 0);
	assert_int_equal(count("), 1 row of 3"), wants("debug") ? RANKS : 0);
}

/* choir_call.name stands in the line, of whatever kind the call is.  Returns how many lines they have: a sendrecv
 * has two. */
static int make_named(struct world *world, int rank, choir_comm *comm, const choir_call *call)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state = NULL;
	int32_t ind[] = { 4, 5, 6 }, to_ind[8];
	float x[8] = { 1, 2, 3 }, y[16];
	choir_tensor tensors[2] = { { choir_host(x), choir_host(y), 2, CHOIR_F32 },
		                    { choir_host(x + 2), choir_host(y + 2), 3, CHOIR_F32 } };
	choir_request *request = NULL;
	size_t n_ind = 8, n_val = 16;

	config.count = 8;
	out.dense = choir_host(y);
	for (int i = 0; i < 2; i++) /* the second is inline */
		OK(choir_scan(comm, choir_host(x), choir_host(y), 3, CHOIR_F32, CHOIR_OP_SUM, call, NULL));
	OK(choir_reduce_multi(comm, tensors, 2, CHOIR_OP_SUM, 0, call, NULL));
	OK(choir_sparse_allreduce(comm, choir_host(ind), 3, choir_host(x), 6, choir_host(to_ind), &n_ind, choir_host(y),
	                          &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, call, NULL));
	OK(choir_sendrecv(comm, choir_host(x), 3, 1 - rank, choir_host(y), 3, 1 - rank, CHOIR_F32, call, NULL));
	OK(choir_topk_create(comm, &config, &state));
	OK(choir_topk_allreduce(state, choir_host(x), &out, call, NULL));
	choir_topk_destroy(state);
	OK(choir_allreduce_multi_init(comm, tensors, 2, CHOIR_OP_SUM, call, &request));
	OK(choir_start(request, NULL, NULL));
	choir_request_free(request);
	return 8;
}

static _Atomic int n_named;

static void named(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;

	(void)arg;
	call.name = "gradients";
	n_named += make_named(world, rank, comm, &call);
	(void)make_named(world, rank, comm, NULL);
}

static void test_names(void **state)
{
	(void)state;
	world_run(RANKS, NULL, named, NULL);
	assert_int_equal(count("'gradients' ("), wants("debug") ? n_named : 0);
	assert_int_equal(count("scan #0 'gradients' (3 x f32, "), wants("debug") ? RANKS : 0);
	assert_int_equal(count("gradients"), count("'gradients' (")); /* no call has the name of one before */
}

/* Rank 1 calls when the log names it. */
static void late(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	while (rank == 1 && wants("warn") && strstr(read_log(), "waits for rank 1") == NULL)
		sched_yield();
	OK(choir_barrier(comm, NULL, NULL));
}

static void test_late_rank(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.warn_ms = 20;
	world_run(RANKS, &config, late, NULL);
	assert_true(wants("warn") ? count(" warn: ") > 0 : count(" warn: ") == 0);
}

static void fails(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg;
	if (rank == 0)
		choir_comm_abort(comm);
	IS(choir_barrier(comm, NULL, NULL), CHOIR_ABORTED);
}

static void test_failure(void **state)
{
	(void)state;
	world_run(RANKS, NULL, fails, NULL);
	assert_true(count(" error: ") > 0);
}

static int seen, seen_calls;

static void keep(void *ctx, int lines_level, const char *text)
{
	(void)ctx;
	seen += lines_level == 0;
	seen_calls += lines_level == 3 && strstr(text, "barrier") != NULL;
}

static void meet(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	OK(choir_barrier(comm, NULL, NULL));
}

static void test_own_function(void **state)
{
	size_t before = strlen(read_log());

	(void)state;
	choir_set_log(keep, NULL);
	world_run(RANKS, NULL, meet, NULL);
	world_run(RANKS, NULL, fails, NULL);
	choir_set_log(NULL, NULL);
	assert_true(seen > 0);
	assert_int_equal(seen_calls >= RANKS, strcmp(level, "debug") == 0);
	assert_int_equal(strlen(read_log()), before);
}

static sem_t inside, go;

static void hold(void *ctx, int lines_level, const char *text)
{
	(void)ctx, (void)lines_level, (void)text;
	sem_post(&inside);
	sem_wait(&go);
}

static void *write_a_line(void *arg)
{
	(void)arg;
	log_text(LOG_ERROR, "a line");
	return NULL;
}

/* A child of a process in which another thread writes a line. */
static void test_fork(void **state)
{
	pthread_t writer;
	int status;
	pid_t child;

	(void)state;
	sem_init(&inside, 0, 0);
	sem_init(&go, 0, 0);
	choir_set_log(hold, NULL);
	assert_int_equal(pthread_create(&writer, NULL, write_a_line, NULL), 0);
	sem_wait(&inside);
	child = fork();
	if (child == 0) {
		alarm(10);
		choir_set_log(NULL, NULL);
		log_text(LOG_DEBUG, "a line of the child's");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	sem_post(&go);
	pthread_join(writer, NULL);
	choir_set_log(NULL, NULL);
	assert_true(WIFEXITED(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_calls),   cmocka_unit_test(test_own_sizes),
		                            cmocka_unit_test(test_names),   cmocka_unit_test(test_late_rank),
		                            cmocka_unit_test(test_failure), cmocka_unit_test(test_own_function),
		                            cmocka_unit_test(test_fork) };
	const char *text = getenv("CHOIR_LOG"), *colon = text != NULL ? strchr(text, ':') : NULL;
	int rc;

	if (colon == NULL || (size_t)(colon - text) >= sizeof level)
		return 77;
	memcpy(level, text, (size_t)(colon - text));
	file_name = colon + 1;
	unlink(file_name);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	world_device_drop();
	return rc;
}
