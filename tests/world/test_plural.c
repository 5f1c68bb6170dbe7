/* SPDX-License-Identifier: MIT */
/* Sentences about one thing: "1 rank", never "1 ranks". */
#include "world/gate.h"

#include "exec/comm.h"
#include "exec/gone.h"

#include <choir/chunks.h>
#include <choir/pairs.h>
#include <choir/plan.h>
#include <choir/topk.h>
#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Does the text hold the words, with no letter behind them? */
static bool tells(const char *text, const char *words)
{
	size_t n = strlen(words);

	for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words))
		if (!isalpha((unsigned char)at[n]))
			return true;
	return false;
}

#define TELLS(text, words)                                                                                             \
	do {                                                                                                           \
		if (!tells(text, words))                                                                               \
			world_fail(world, rank, "line %d: \"%s\" does not say \"%s\"\n", __LINE__, text, words);       \
	} while (0)

#define REFUSED(call, wanted, words)                                                                                   \
	do {                                                                                                           \
		if (IS(call, wanted))                                                                                  \
			TELLS(choir_last_error(), words);                                                              \
	} while (0)

/* --- one rank --- */

static void buffers(struct world *world, int rank, choir_comm *comm, void *arg)
{
	cl_mem mem = clCreateBuffer(choir_device_context(world->device), CL_MEM_READ_WRITE, 1, NULL, NULL);
	choir_buffer end = { CHOIR_BUFFER_HOST, (void *)16, SIZE_MAX - 16 };
	size_t two = 2;
	char x = 0, y[2] = { 0 };

	(void)arg;
	REFUSED(choir_allreduce(comm, choir_mem(mem, 1), choir_host(y), 1, CHOIR_I8, CHOIR_OP_SUM, NULL, NULL),
	        CHOIR_ARGUMENT, "a range of 1 byte from offset 1 does not fit into its 1 byte");
	REFUSED(choir_allreduce(comm, end, choir_host(y), 1, CHOIR_I8, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT,
	        "a range of 1 byte from offset");
	REFUSED(choir_allreduce(comm, choir_none(), choir_host(y), 1, CHOIR_I8, CHOIR_OP_SUM, NULL, NULL),
	        CHOIR_ARGUMENT, "needs 1 byte");
	REFUSED(choir_allgatherv(comm, choir_host(&x), 1, choir_host(y), &two, NULL, CHOIR_I8, NULL, NULL),
	        CHOIR_ARGUMENT, "sends 1 element");
	clReleaseMemObject(mem);
}

static void groups(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const choir_comm_group all = { sizeof all, CHOIR_COMM_GROUP_ALL, 3, 1 };
	static const choir_comm_group pairs = { sizeof pairs, CHOIR_COMM_GROUP_CONSECUTIVE, 2, 1 };
	static const choir_comm_group apart = { sizeof apart, CHOIR_COMM_GROUP_CONSECUTIVE, 1, 2 };
	static const int both[2] = { 0, 1 }, far = 1;
	choir_comm *group;
	choir_event *event;

	(void)arg;
	REFUSED(choir_comm_group_split(comm, &all, NULL, &group), CHOIR_ARGUMENT, "has all 1 rank");
	REFUSED(choir_comm_group_split(comm, &pairs, NULL, &group), CHOIR_ARGUMENT, "divide the 1 rank");
	REFUSED(choir_comm_group_split(comm, &apart, NULL, &group), CHOIR_ARGUMENT, "groups of 1 rank");
	TELLS(choir_last_error(), "divide the 1 rank");
	REFUSED(choir_comm_create_group(comm, "g", both, 2, NULL, &group), CHOIR_ARGUMENT, "has 1 rank");
	REFUSED(choir_comm_create_group(comm, "g", &far, 1, NULL, &group), CHOIR_ARGUMENT, "has 1 rank");
	REFUSED(choir_comm_create_group_start(comm, "g", both, 2, NULL, &group, &event), CHOIR_ARGUMENT, "has 1 rank");
}

static void chunks(struct world *world, int rank, choir_comm *comm, void *arg)
{
	char x = 0;
	choir_chunk chunk[2] = { { .buffer = choir_host(&x), .index = 1, .count = 1 } };
	choir_chunks set = CHOIR_CHUNKS_INIT;
	choir_buffer to = choir_host(&x);

	(void)arg;
	set.dtype = CHOIR_I8;
	set.chunks = chunk;
	set.n = 2;
	REFUSED(choir_chunks_allgather(1, &comm, &set, &to, NULL, NULL), CHOIR_ARGUMENT, "has 1 rank");
	set.n = 1;
	REFUSED(choir_chunks_allgather(1, &comm, &set, &to, NULL, NULL), CHOIR_ARGUMENT, "is 1 of 1 chunk");
	chunk[0].index = 0;
	REFUSED(choir_chunks_allgather(1, &comm, &set, &to, NULL, NULL), CHOIR_ARGUMENT, "has 1 element");
	REFUSED(choir_chunks_concat(1, &comm, &set, 1, to, NULL, NULL), CHOIR_ARGUMENT, "is 1 of 1 comm");
}

static void on_device(struct world *world, int rank, choir_device *device)
{
	int32_t ind = 1;
	float x = 1, y[2] = { 0 };
	size_t room = 0;

	REFUSED(choir_select_top(device, choir_host(&x), 1, CHOIR_F32, 2, choir_host(&ind), CHOIR_I32, choir_host(y),
	                         NULL, NULL),
	        CHOIR_ARGUMENT, "k is 2 of 1 element");
	REFUSED(choir_gather_rows(device, choir_host(&ind), 1, CHOIR_I32, choir_host(&x), 1, 1, CHOIR_F32,
	                          choir_host(y), NULL, NULL),
	        CHOIR_ARGUMENT, "is not one of 1 row");
	ind = -1;
	REFUSED(choir_gather_rows(device, choir_host(&ind), 1, CHOIR_I32, choir_host(&x), 1, 1, CHOIR_F32,
	                          choir_host(y), NULL, NULL),
	        CHOIR_ARGUMENT, "is not one of 1 row");
	REFUSED(choir_select_above(device, choir_host(&x), 1, CHOIR_F32, 0.5, choir_host(&ind), CHOIR_I32,
	                           choir_host(y), &room, NULL, NULL),
	        CHOIR_CAPACITY, "1 pair");
}

static void pairs(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int32_t ind = 1;
	float x = 1, y[2] = { 0 };
	size_t no_ind = 0, no_val = 0;

	(void)arg;
	on_device(world, rank, world->device);
	on_device(world, rank, world_far_device(CHOIR_REDUCE_KERNEL));
	REFUSED(choir_sparse_allreduce(comm, choir_host(&ind), 1, choir_host(&x), 1, choir_host(y), &no_ind,
	                               choir_host(y), &no_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL, NULL),
	        CHOIR_CAPACITY, "1 index and 1 value");
}

static void topk(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	float x[2] = { 1 }, y[2] = { 0 };
	choir_tensor tensor = { choir_host(x), choir_host(y), 2, CHOIR_F32 };
	int32_t ind = 1, at = 1;
	size_t room = 0;

	(void)arg;
	config.count = 1;
	config.k = 2;
	REFUSED(choir_topk_create(comm, &config, &state), CHOIR_ARGUMENT, "k is 2 of 1 element");
	config.k = 1;
	config.algorithm = "topka";
	if (!OK(choir_topk_create(comm, &config, &state)))
		return;
	out.ind = choir_host(&ind);
	out.val = choir_host(y);
	out.pairs_p = &room;
	REFUSED(choir_topk_allreduce_multi(state, &tensor, 1, &out, NULL, NULL), CHOIR_ARGUMENT,
	        "more than the 1 element");
	tensor.count = 0;
	REFUSED(choir_topk_allreduce_multi(state, &tensor, 1, &out, NULL, NULL), CHOIR_ARGUMENT, "of the 1 element");
	REFUSED(choir_topk_allreduce(state, choir_host(x), &out, NULL, NULL), CHOIR_CAPACITY, "1 pair");
	room = 1;
	REFUSED(choir_topk_allreduce_at(state, choir_host(x), choir_host(&at), 1, CHOIR_I32, &out, NULL, NULL),
	        CHOIR_ARGUMENT, "is not one of 1 element");
	choir_topk_destroy(state);
}

static void plans(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_plan_options o = CHOIR_PLAN_OPTIONS_INIT;
	char *text;

	(void)comm, (void)arg;
	o.collective = "broadcast";
	o.ranks = 1;
	o.dtype = CHOIR_F32;
	o.bytes = 1;
	REFUSED(choir_plan_check(&o, &text), CHOIR_ARGUMENT, "1 byte of f32 on 1 rank");
	o.bytes = 4;
	o.root = 1;
	REFUSED(choir_plan_check(&o, &text), CHOIR_ARGUMENT, "root is 1 of 1 rank");
	o.root = 0;
	o.dtype = CHOIR_I8;
	o.bytes = 1;
	if (OK(choir_plan_check(&o, &text))) {
		TELLS(text, "1 rank on 1 node, 1 byte: 1 step");
		free(text);
	}
	if (OK(choir_plan_text(&o, 0, CHOIR_PLAN_TEXT, &text))) {
		TELLS(text, ": 1 step");
		free(text);
	}
	o.collective = "send";
	o.ranks = 2;
	if (OK(choir_plan_check(&o, &text))) {
		TELLS(text, "1 message");
		free(text);
	}
}

static void alone(void **fn_p)
{
	world_run(1, NULL, *(world_fn *)*fn_p, NULL);
}

/* --- two ranks --- */

/* Rank 1 has made a call and not taken its lane, so nobody knows the call's arguments. */
static void last_calls(struct world *world, int rank, choir_comm *comm, void *arg)
{
	cl_event gate = gate_make(choir_device_context(world->device));
	struct run *run = calloc(1, sizeof *run);
	struct gone gone = { .told.calls = 1 };
	choir_call call = CHOIR_CALL_INIT;
	char text[512];
	struct sum sum;

	(void)arg;
	run->comm = comm;
	call.cl_deps = &gate;
	call.n_cl_deps = rank == 1;
	OK(sum_start(&sum, comm, 8, 1, &call, true));
	line_up();
	if (rank == 0)
		REFUSED(gone_dead_error(run, 1, "dead"), CHOIR_PEER_DEAD, "it has made 1 collective call");
	gone_failure(&gone, text, sizeof text);
	TELLS(text, "after 1 collective call");
	line_up();
	gate_open(gate, CL_COMPLETE);
	OK(choir_event_wait(sum.event, -1));
	sum_free(&sum);
	clReleaseEvent(gate);
	free(run);
}

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[65536];

static void keep_log(void *ctx, int level, const char *text)
{
	(void)ctx, (void)level;
	pthread_mutex_lock(&log_lock);
	strncat(logged, text, sizeof logged - strlen(logged) - 2);
	pthread_mutex_unlock(&log_lock);
}

static void one_pair(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int32_t ind = 1, to_ind[2];
	float x = 1, y[2] = { 0 };
	size_t n_ind = 2, n_val = 2, n = rank == 0;

	(void)arg;
	OK(choir_sparse_allreduce(comm, choir_host(&ind), n, choir_host(&x), n, choir_host(to_ind), &n_ind,
	                          choir_host(y), &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL, NULL));
}

static void differ(struct world *world, int rank, choir_comm *comm, void *arg)
{
	size_t sent[2] = { 1, 1 }, received[2] = { 1, 1 };
	char x[2] = { 0 }, y[3] = { 0 };
	void *memory;

	(void)arg;
	IS(choir_mem_alloc(comm, 1 + (size_t)rank, &memory, NULL), CHOIR_MISMATCH);
	if (rank == 0)
		TELLS(choir_last_error(), "asks for 1 byte");
	received[0] += rank == 1;
	line_up();
	REFUSED(choir_alltoallv(comm, choir_host(x), sent, NULL, choir_host(y), received, NULL, CHOIR_I8, NULL, NULL),
	        CHOIR_MISMATCH, "sends 1 element");
}

static void test_last_calls(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, last_calls, NULL);
}

static void test_differ(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, differ, NULL);
}

static void test_log(void **state)
{
	(void)state;
	choir_set_log(keep_log, NULL);
	world_run_at(2, 0, 30000, one_pair, NULL);
	choir_set_log(NULL, NULL);
	if (!tells(logged, "2 ranks, 1 pair"))
		fail_msg("the log: %s", logged);
}

#define ALONE(fn) cmocka_unit_test_prestate(alone, &(world_fn){ fn })

int main(void)
{
	const struct CMUnitTest tests[] = { ALONE(buffers),
		                            ALONE(groups),
		                            ALONE(chunks),
		                            ALONE(pairs),
		                            ALONE(topk),
		                            ALONE(plans),
		                            cmocka_unit_test(test_last_calls),
		                            cmocka_unit_test(test_differ),
		                            cmocka_unit_test(test_log) };
	int failures = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failures;
}
