/* SPDX-License-Identifier: MIT */
/* Every allocation of the library fails once.  The call says NO_MEMORY with a sentence, or does without; a call that is
 * refused while the comm stands can be made again; a comm that fails does so on all ranks; nothing waits for its
 * deadline; and nothing is left when the comms are gone. */
#include "world/allocations.h"
#include "world/gate.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { RANKS = 2, COUNT = 300, DEADLINE_MS = 20000, SETTLE_S = 1 };

/* What the ranks do while an allocation fails. */
typedef choir_status (*act_fn)(choir_comm *comm, int rank);

static cl_mem mems[RANKS];

static bool all_are(const float *values, size_t n, float wanted)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] != wanted)
			return false;
	return true;
}

static void fill(float *values, size_t n, float with)
{
	for (size_t i = 0; i < n; i++)
		values[i] = with;
}

/* A call that was refused while the comm stands can be made again.  One that ended with an error, or takes part in
 * several collectives (a split, symmetric memory), cannot: its peers have gone on. */
#define TWICE(st, comm, call)                                                                                          \
	do {                                                                                                           \
		st = (call);                                                                                           \
		if (st == CHOIR_NO_MEMORY && choir_comm_status(comm) == CHOIR_SUCCESS)                                 \
			st = (call);                                                                                   \
		if (st != CHOIR_SUCCESS)                                                                               \
			return st;                                                                                     \
	} while (0)

#define DO(call)                                                                                                       \
	do {                                                                                                           \
		choir_status done = (call);                                                                            \
		if (done != CHOIR_SUCCESS)                                                                             \
			return done;                                                                                   \
	} while (0)

#define RIGHT(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			return CHOIR_ARGUMENT; /* no call of ours says so */                                           \
	} while (0)

static choir_status wait_release(choir_status st, choir_event *event)
{
	if (st != CHOIR_SUCCESS)
		return st;
	st = choir_event_wait(event, -1);
	choir_event_release(event);
	return st;
}

static choir_status sum_event(choir_comm *comm, choir_buffer in, choir_buffer out)
{
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm, choir_allreduce(comm, in, out, COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, &event));
	return wait_release(st, event);
}

static choir_status dense(choir_comm *comm, int rank)
{
	float in[COUNT], out[COUNT] = { 0 };
	choir_status st;

	fill(in, COUNT, 1);
	TWICE(st, comm,
	      choir_allreduce(comm, choir_host(in), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL));
	RIGHT(all_are(out, COUNT, RANKS));
	fill(out, COUNT, 0);
	DO(sum_event(comm, choir_host(in), choir_host(out)));
	RIGHT(all_are(out, COUNT, RANKS));
	DO(sum_event(comm, choir_mem(mems[rank], 0), choir_mem(mems[rank], 0)));
	TWICE(
	    st, comm,
	    choir_broadcast(comm, choir_mem(mems[rank], 0), choir_mem(mems[rank], 0), COUNT, CHOIR_F32, 1, NULL, NULL));
	return st;
}

static choir_status list_event(choir_comm *comm, const choir_tensor *list, size_t n)
{
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm, choir_allreduce_multi(comm, list, n, CHOIR_OP_SUM, NULL, &event));
	return wait_release(st, event);
}

static choir_status list(choir_comm *comm, int rank)
{
	float in[2][COUNT] = { { 0 } }, out[2][COUNT] = { { 0 } };
	int32_t ints[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, sums[8] = { 0 };
	choir_tensor tensors[] = { { choir_host(in[0]), choir_host(out[0]), COUNT, CHOIR_F32 },
		                   { choir_host(ints), choir_host(sums), 8, CHOIR_I32 },
		                   { choir_mem(mems[rank], 0), choir_mem(mems[rank], 0), 9, CHOIR_F32 },
		                   { choir_host(in[1]), choir_host(out[1]), COUNT, CHOIR_F32 } };
	choir_status st;

	fill(in[0], 2 * COUNT, 1);
	TWICE(st, comm, choir_allreduce_multi(comm, tensors, 4, CHOIR_OP_SUM, NULL, NULL));
	RIGHT(all_are(out[0], 2 * COUNT, RANKS) && sums[7] == RANKS);
	fill(out[0], 2 * COUNT, 0);
	DO(list_event(comm, tensors, 4));
	RIGHT(all_are(out[0], 2 * COUNT, RANKS) && sums[7] == RANKS);
	return st;
}

static choir_status vector_event(choir_comm *comm, choir_buffer in, choir_buffer out, const size_t *counts)
{
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm, choir_alltoallv(comm, in, counts, NULL, out, counts, NULL, CHOIR_F32, NULL, &event));
	return wait_release(st, event);
}

static choir_status vectors(choir_comm *comm, int rank)
{
	const size_t counts[RANKS] = { COUNT / 2, COUNT / 2 };
	float in[COUNT], out[COUNT] = { 0 };
	choir_status st;

	(void)rank;
	fill(in, COUNT, 1);
	TWICE(
	    st, comm,
	    choir_alltoallv(comm, choir_host(in), counts, NULL, choir_host(out), counts, NULL, CHOIR_F32, NULL, NULL));
	RIGHT(all_are(out, COUNT, 1));
	fill(out, COUNT, 0);
	DO(vector_event(comm, choir_host(in), choir_host(out), counts));
	RIGHT(all_are(out, COUNT, 1));
	TWICE(st, comm,
	      choir_allgatherv(comm, choir_host(in), COUNT / 2, choir_host(out), counts, NULL, CHOIR_F32, NULL, NULL));
	return st;
}

static choir_status sparse_event(choir_comm *comm, const int32_t *ind, const float *val, int32_t *out_ind,
                                 float *out_val, size_t n, size_t width)
{
	size_t n_ind = RANKS * n, n_val = n_ind * width;
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm,
	      choir_sparse_allreduce(comm, choir_host(ind), n, choir_host(val), n * width, choir_host(out_ind), &n_ind,
	                             choir_host(out_val), &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL,
	                             &event));
	return wait_release(st, event);
}

static choir_status sparse(choir_comm *comm, int rank)
{
	enum { PAIRS = 64 };
	int32_t ind[PAIRS], out_ind[RANKS * PAIRS];
	float val[PAIRS], out_val[RANKS * PAIRS];

	(void)rank;
	for (int i = 0; i < PAIRS; i++)
		ind[i] = 3 * i;
	fill(val, PAIRS, 1);
	DO(sparse_event(comm, ind, val, out_ind, out_val, PAIRS, 1));
	RIGHT(all_are(out_val, PAIRS, RANKS) && out_ind[1] == 3);
	DO(sparse_event(comm, ind, val, out_ind, out_val, PAIRS, 1));
	RIGHT(all_are(out_val, PAIRS, RANKS) && out_ind[1] == 3);
	return CHOIR_SUCCESS;
}

/* Long work: Note [long work] in src/sparse/state.h. */
static choir_status sparse_rows(choir_comm *comm, int rank)
{
	enum { PAIRS = 300, WIDTH = 256 };
	static int32_t inds[RANKS][PAIRS], out_inds[RANKS][RANKS * PAIRS];
	static float vals[RANKS][PAIRS * WIDTH], out_vals[RANKS][RANKS * PAIRS * WIDTH];

	for (int i = 0; i < PAIRS; i++)
		inds[rank][i] = 3 * i;
	fill(vals[rank], PAIRS * WIDTH, 1);
	DO(sparse_event(comm, inds[rank], vals[rank], out_inds[rank], out_vals[rank], PAIRS, WIDTH));
	RIGHT(all_are(out_vals[rank], PAIRS * WIDTH, RANKS) && out_inds[rank][1] == 3);
	return CHOIR_SUCCESS;
}

static choir_status split(choir_comm *comm, int rank)
{
	float in[4] = { 1, 1, 1, 1 }, out[4] = { 0 };
	choir_comm *made = NULL;
	choir_status st;

	DO(choir_comm_split(comm, 0, -rank, &made));
	st = choir_allreduce(made, choir_host(in), choir_host(out), 4, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
	if (st != CHOIR_SUCCESS)
		(void)choir_comm_abort(made);
	(void)choir_comm_destroy(made);
	return st;
}

static choir_status persistent(choir_comm *comm, int rank)
{
	float in[COUNT], out[COUNT] = { 0 };
	choir_request *request = NULL;
	choir_event *event = NULL;
	choir_status st;

	(void)rank;
	fill(in, COUNT, 1);
	TWICE(st, comm,
	      choir_allreduce_init(comm, choir_host(in), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL,
	                           &request));
	st = choir_start(request, NULL, NULL);
	if (st == CHOIR_NO_MEMORY && choir_comm_status(comm) == CHOIR_SUCCESS)
		st = choir_start(request, NULL, NULL);
	if (st == CHOIR_SUCCESS)
		st = choir_start(request, NULL, &event);
	if (st == CHOIR_NO_MEMORY && choir_comm_status(comm) == CHOIR_SUCCESS)
		st = choir_start(request, NULL, &event);
	st = wait_release(st, event);
	choir_request_free(request);
	RIGHT(st != CHOIR_SUCCESS || all_are(out, COUNT, RANKS));
	return st;
}

/* More calls than a group has room for at first.  One that is refused is not made again: the others have been
 * submitted. */
static choir_status group(choir_comm *comm, int rank)
{
	float in[COUNT], out[COUNT] = { 0 }, mine[2] = { 1, 1 }, theirs[2] = { 0 };
	choir_status st = choir_group_begin(), ended;

	fill(in, COUNT, 1);
	for (int i = 0; i < 10 && st == CHOIR_SUCCESS; i++)
		st = choir_allreduce(comm, choir_host(in), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
	if (st == CHOIR_SUCCESS)
		st = choir_send(comm, choir_host(mine), 2, CHOIR_F32, 1 - rank, NULL, NULL);
	if (st == CHOIR_SUCCESS)
		st = choir_recv(comm, choir_host(theirs), 2, CHOIR_F32, 1 - rank, NULL, NULL);
	if (st != CHOIR_SUCCESS)
		(void)choir_comm_abort(comm);
	ended = choir_group_end();
	st = st == CHOIR_SUCCESS ? ended : st;
	RIGHT(st != CHOIR_SUCCESS || (all_are(out, COUNT, RANKS) && theirs[1] == 1));
	return st;
}

static choir_status symmetric(choir_comm *comm, int rank)
{
	float *share = NULL;
	cl_mem mem;
	choir_status st;

	(void)rank;
	DO(choir_mem_alloc(comm, COUNT * sizeof *share, (void **)&share, &mem));
	fill(share, COUNT, 1);
	TWICE(st, comm,
	      choir_allreduce(comm, choir_host(share), choir_host(share), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL));
	RIGHT(all_are(share, COUNT, RANKS));
	return choir_mem_free(comm, share);
}

/* --- one pass: a world of its own --- */

struct pass {
	act_fn act;
	choir_status st[RANKS];
	char text[RANKS][512];
};

static void rank_acts(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct pass *pass = arg;

	(void)world;
	pass->st[rank] = pass->act(comm, rank);
	snprintf(pass->text[rank], sizeof pass->text[rank], "%s",
	         pass->st[rank] != CHOIR_SUCCESS ? choir_last_error() : "");
	if (pass->st[rank] != CHOIR_SUCCESS)
		(void)choir_comm_abort(comm);
}

static bool late(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - since->tv_sec > SETTLE_S;
}

/* Both ranks' calls came out and the comm works, or one is out of memory and both comms have failed. */
static void judge(struct world *world, const struct pass *pass)
{
	bool failed = pass->st[0] != CHOIR_SUCCESS || pass->st[1] != CHOIR_SUCCESS;
	struct timespec since;

	clock_gettime(CLOCK_MONOTONIC, &since);
	for (int rank = 0; rank < RANKS; rank++) {
		if (pass->st[rank] == CHOIR_TIMEOUT || pass->st[rank] == CHOIR_ARGUMENT ||
		    (pass->st[rank] != CHOIR_SUCCESS && pass->text[rank][0] == '\0'))
			world_fail(world, rank, "%s: %s", choir_status_name(pass->st[rank]), pass->text[rank]);
		while (failed && choir_comm_status(world->comms[rank]) == CHOIR_SUCCESS && !late(&since))
			sched_yield();
		if ((choir_comm_status(world->comms[rank]) != CHOIR_SUCCESS) != failed)
			world_fail(world, rank, "the comm %s where the calls gave %s (%s), %s (%s)",
			           failed ? "stands" : "has failed", choir_status_name(pass->st[0]), pass->text[0],
			           choir_status_name(pass->st[1]), pass->text[1]);
	}
	if (failed && pass->st[0] != CHOIR_NO_MEMORY && pass->st[1] != CHOIR_NO_MEMORY)
		world_fail(world, 0, "no rank is out of memory: %s (%s), %s (%s)", choir_status_name(pass->st[0]),
		           pass->text[0], choir_status_name(pass->st[1]), pass->text[1]);
}

/* False: no memory for the comms (which is said). */
static bool make_world(struct world *world, int per_node)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *devices[RANKS] = { world_device(), world_device() };
	static choir_comm *comms[RANKS];
	choir_status st;

	memset(world, 0, sizeof *world);
	memset(comms, 0, sizeof comms);
	config.deadline_ms = DEADLINE_MS;
	config.ranks_per_node = per_node;
	world->n = RANKS;
	world->device = devices[0];
	world->comms = comms;
	st = choir_comm_create_local(RANKS, devices, &config, comms);
	if (st != CHOIR_SUCCESS && (st != CHOIR_NO_MEMORY || choir_last_error()[0] == '\0' || comms[0] != NULL))
		world_fail(world, 0, "create: %s: %s", choir_status_name(st), choir_last_error());
	return st == CHOIR_SUCCESS;
}

struct rank_thread {
	pthread_t thread;
	struct world *world;
	struct pass *pass;
	int rank;
};

static void *run_rank(void *arg)
{
	struct rank_thread *t = arg;

	rank_acts(t->world, t->rank, t->world->comms[t->rank], t->pass);
	return NULL;
}

static void act_on_all(struct world *world, struct pass *pass)
{
	struct rank_thread threads[RANKS];

	for (int i = 0; i < RANKS; i++) {
		threads[i] = (struct rank_thread){ .world = world, .pass = pass, .rank = i };
		assert_int_equal(pthread_create(&threads[i].thread, NULL, run_rank, &threads[i]), 0);
	}
	for (int i = 0; i < RANKS; i++)
		pthread_join(threads[i].thread, NULL);
}

/* act NULL: what fails is of creating and destroying. */
static void pass_once(struct world *world, act_fn act, int per_node, unsigned k)
{
	struct pass pass = { .act = act };

	bool made;

	allocations_fail(act == NULL ? k : 0);
	made = make_world(world, per_node);
	if (made && act != NULL) {
		allocations_fail(k);
		act_on_all(world, &pass);
		allocations_stop();
		judge(world, &pass);
	}
	for (int i = 0; i < RANKS; i++)
		if (made && choir_comm_destroy(world->comms[i]) != CHOIR_SUCCESS)
			world_fail(world, i, "destroy: %s", choir_last_error());
	allocations_stop();
}

/* Frees may come a little later, from the background thread. */
static bool settles(size_t wanted)
{
	struct timespec since;

	clock_gettime(CLOCK_MONOTONIC, &since);
	while (allocations_live() > wanted && !late(&since))
		sched_yield();
	return allocations_live() <= wanted;
}

/* True: the k-th allocation was reached, and failed.  A sparse block whose reader has failed stays (sparse/share.c). */
static bool pass_fails(act_fn act, int per_node, unsigned k, const void **left_p)
{
	struct world world;
	const void *site;
	size_t before = allocations_live();
	unsigned mark = allocations_mark();
	bool failed;

	pass_once(&world, act, per_node, k);
	failed = allocations_failed(&site);
	if (world.failure[0] != '\0')
		fail_msg("allocation %u (of %p) failed:%s", k, site, world.failure);
	*left_p = act == sparse || act == sparse_rows || settles(before) ? NULL : allocations_since(mark);
	return failed;
}

/* Every stride-th allocation from the first one on.  What a process keeps for later does not grow when the same
 * allocation fails again. */
static void sweep(act_fn act, int per_node, unsigned first, unsigned stride)
{
	const void *left;
	bool failed = true;

	for (int i = 0; i < 3; i++)
		(void)pass_fails(act, per_node, 0, &left);
	for (unsigned k = first; failed; k += stride) {
		failed = pass_fails(act, per_node, k, &left);
		for (int again = 0; left != NULL && again < 3; again++)
			(void)pass_fails(act, per_node, k, &left);
		if (left != NULL)
			fail_msg("allocation %u failed: what %p allocated is never freed", k, left);
	}
}

static void sweep_layouts(act_fn act, unsigned usual_stride)
{
	unsigned stride = getenv("CHOIR_TEST_LONG") != NULL ? 1 : usual_stride;

	for (int per_node = 0; per_node < 2; per_node++)
		sweep(act, per_node, 1 + (unsigned)per_node, stride);
}

static void test_create(void **state)
{
	(void)state;
	sweep_layouts(NULL, 17);
}
static void test_dense(void **state)
{
	(void)state;
	sweep_layouts(dense, 17);
}
static void test_list(void **state)
{
	(void)state;
	sweep_layouts(list, 17);
}
static void test_vectors(void **state)
{
	(void)state;
	sweep_layouts(vectors, 17);
}
static void test_sparse(void **state)
{
	(void)state;
	sweep_layouts(sparse, 3);
}
static void test_sparse_rows(void **state)
{
	(void)state;
	sweep_layouts(sparse_rows, 3);
}
static void test_split(void **state)
{
	(void)state;
	sweep_layouts(split, 17);
}
static void test_persistent(void **state)
{
	(void)state;
	sweep_layouts(persistent, 17);
}
static void test_group(void **state)
{
	(void)state;
	sweep_layouts(group, 17);
}
static void test_symmetric(void **state)
{
	(void)state;
	sweep_layouts(symmetric, 17);
}

static int make_mems(void **state)
{
	float ones[COUNT];
	cl_int rc = CL_SUCCESS;

	(void)state;
	fill(ones, COUNT, 1);
	for (int i = 0; i < RANKS; i++)
		mems[i] =
		    clCreateBuffer(choir_device_context(world_device()), CL_MEM_COPY_HOST_PTR, sizeof ones, ones, &rc);
	return rc;
}

static int drop_mems(void **state)
{
	(void)state;
	for (int i = 0; i < RANKS; i++)
		clReleaseMemObject(mems[i]);
	world_device_drop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),      cmocka_unit_test(test_dense), cmocka_unit_test(test_list),
		cmocka_unit_test(test_vectors),     cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_sparse_rows), cmocka_unit_test(test_split), cmocka_unit_test(test_persistent),
		cmocka_unit_test(test_group),       cmocka_unit_test(test_symmetric),
	};

	return cmocka_run_group_tests(tests, make_mems, drop_mems);
}
