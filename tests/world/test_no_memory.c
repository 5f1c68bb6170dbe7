/* SPDX-License-Identifier: MIT */
/* Every allocation of the library fails once (world/sweep.h), where worlds are made and in the calls of most programs;
 * test_no_memory_calls.c has others. */
#include "world/sweep.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { RANKS = SWEEP_RANKS, COUNT = SWEEP_COUNT };

static choir_status sum_event(choir_comm *comm, choir_buffer in, choir_buffer out)
{
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm, choir_allreduce(comm, in, out, COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, &event));
	return world_wait(st, event);
}

static choir_status dense(choir_comm *comm, int rank)
{
	float in[COUNT], out[COUNT] = { 0 };
	choir_status st;

	sweep_fill(in, COUNT, 1);
	TWICE(st, comm,
	      choir_allreduce(comm, choir_host(in), choir_host(out), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL));
	RIGHT(sweep_all_are(out, COUNT, RANKS));
	sweep_fill(out, COUNT, 0);
	DO(sum_event(comm, choir_host(in), choir_host(out)));
	RIGHT(sweep_all_are(out, COUNT, RANKS));
	DO(sum_event(comm, choir_mem(sweep_mem(rank), 0), choir_mem(sweep_mem(rank), 0)));
	TWICE(st, comm,
	      choir_broadcast(comm, choir_mem(sweep_mem(rank), 0), choir_mem(sweep_mem(rank), 0), COUNT, CHOIR_F32, 1,
	                      NULL, NULL));
	return st;
}

static choir_status list_event(choir_comm *comm, const choir_tensor *list, size_t n)
{
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm, choir_allreduce_multi(comm, list, n, CHOIR_OP_SUM, NULL, &event));
	return world_wait(st, event);
}

static choir_status list(choir_comm *comm, int rank)
{
	float in[2][COUNT] = { { 0 } }, out[2][COUNT] = { { 0 } };
	int32_t ints[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, sums[8] = { 0 };
	choir_tensor tensors[] = { { choir_host(in[0]), choir_host(out[0]), COUNT, CHOIR_F32 },
		                   { choir_host(ints), choir_host(sums), 8, CHOIR_I32 },
		                   { choir_mem(sweep_mem(rank), 0), choir_mem(sweep_mem(rank), 0), 9, CHOIR_F32 },
		                   { choir_host(in[1]), choir_host(out[1]), COUNT, CHOIR_F32 } };
	choir_status st;

	sweep_fill(in[0], 2 * COUNT, 1);
	TWICE(st, comm, choir_allreduce_multi(comm, tensors, 4, CHOIR_OP_SUM, NULL, NULL));
	RIGHT(sweep_all_are(out[0], 2 * COUNT, RANKS) && sums[7] == RANKS);
	sweep_fill(out[0], 2 * COUNT, 0);
	DO(list_event(comm, tensors, 4));
	RIGHT(sweep_all_are(out[0], 2 * COUNT, RANKS) && sums[7] == RANKS);
	return st;
}

static choir_status vector_event(choir_comm *comm, choir_buffer in, choir_buffer out, const size_t *counts)
{
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm, choir_alltoallv(comm, in, counts, NULL, out, counts, NULL, CHOIR_F32, NULL, &event));
	return world_wait(st, event);
}

static choir_status vectors(choir_comm *comm, int rank)
{
	const size_t counts[RANKS] = { COUNT / 2, COUNT / 2 };
	float in[COUNT], out[COUNT] = { 0 };
	choir_status st;

	(void)rank;
	sweep_fill(in, COUNT, 1);
	TWICE(
	    st, comm,
	    choir_alltoallv(comm, choir_host(in), counts, NULL, choir_host(out), counts, NULL, CHOIR_F32, NULL, NULL));
	RIGHT(sweep_all_are(out, COUNT, 1));
	sweep_fill(out, COUNT, 0);
	DO(vector_event(comm, choir_host(in), choir_host(out), counts));
	RIGHT(sweep_all_are(out, COUNT, 1));
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
	return world_wait(st, event);
}

static choir_status sparse(choir_comm *comm, int rank)
{
	enum { PAIRS = 64 };
	int32_t ind[PAIRS], out_ind[RANKS * PAIRS];
	float val[PAIRS], out_val[RANKS * PAIRS];

	(void)rank;
	for (int i = 0; i < PAIRS; i++)
		ind[i] = 3 * i;
	sweep_fill(val, PAIRS, 1);
	DO(sparse_event(comm, ind, val, out_ind, out_val, PAIRS, 1));
	RIGHT(sweep_all_are(out_val, PAIRS, RANKS) && out_ind[1] == 3);
	DO(sparse_event(comm, ind, val, out_ind, out_val, PAIRS, 1));
	RIGHT(sweep_all_are(out_val, PAIRS, RANKS) && out_ind[1] == 3);
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
	sweep_fill(vals[rank], PAIRS * WIDTH, 1);
	DO(sparse_event(comm, inds[rank], vals[rank], out_inds[rank], out_vals[rank], PAIRS, WIDTH));
	RIGHT(sweep_all_are(out_vals[rank], PAIRS * WIDTH, RANKS) && out_inds[rank][1] == 3);
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
	sweep_fill(in, COUNT, 1);
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
	st = world_wait(st, event);
	choir_request_free(request);
	RIGHT(st != CHOIR_SUCCESS || sweep_all_are(out, COUNT, RANKS));
	return st;
}

/* More calls than a group has room for at first.  One that is refused is not made again: the others have been
 * submitted. */
static choir_status group(choir_comm *comm, int rank)
{
	float in[COUNT], out[COUNT] = { 0 }, mine[2] = { 1, 1 }, theirs[2] = { 0 };
	choir_status st = choir_group_begin(), ended;

	sweep_fill(in, COUNT, 1);
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
	RIGHT(st != CHOIR_SUCCESS || (sweep_all_are(out, COUNT, RANKS) && theirs[1] == 1));
	return st;
}

static choir_status symmetric(choir_comm *comm, int rank)
{
	float *share = NULL;
	cl_mem mem;
	choir_status st;

	(void)rank;
	DO(choir_mem_alloc(comm, COUNT * sizeof *share, (void **)&share, &mem));
	sweep_fill(share, COUNT, 1);
	TWICE(st, comm,
	      choir_allreduce(comm, choir_host(share), choir_host(share), COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL));
	RIGHT(sweep_all_are(share, COUNT, RANKS));
	return choir_mem_free(comm, share);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SWEEP("create", .act = NULL),
		SWEEP("dense", .act = dense),
		SWEEP("list", .act = list),
		SWEEP("vectors", .act = vectors),
		SWEEP("sparse", .act = sparse, .stride = 3,
		      .may_leave = true), /* a block whose reader has failed stays (sparse/share.c) */
		SWEEP("sparse_rows", .act = sparse_rows, .stride = 3, .may_leave = true),
		SWEEP("split", .act = split),
		SWEEP("persistent", .act = persistent),
		SWEEP("group", .act = group),
		SWEEP("symmetric", .act = symmetric),
	};

	return cmocka_run_group_tests(tests, sweep_open, sweep_close);
}
