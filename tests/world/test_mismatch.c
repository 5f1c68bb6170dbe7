/* SPDX-License-Identifier: MIT */
/* Calls that differ between ranks: all ranks fail, naming both calls; the failure stays; on one node nothing was
 * written.  Every pair of different calls, on one node, on a node a rank, and on nodes of two. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 4096 };

/* One rank's call: what all ranks call, and what the odd one calls instead. */
struct variant {
	const char *name, *says;
	choir_status (*usual)(choir_comm *comm, float *send, float *recv);
	choir_status (*odd)(choir_comm *comm, float *send, float *recv);
};

static choir_status sum_of(choir_comm *comm, float *send, float *recv, size_t count, choir_dtype dtype, choir_op op,
                           const char *options)
{
	choir_call call = CHOIR_CALL_INIT;

	call.options = options;
	return choir_allreduce(comm, choir_host(send), choir_host(recv), count, dtype, op, &call, NULL);
}

static choir_status sum_100(choir_comm *c, float *s, float *r)
{
	return sum_of(c, s, r, 100, CHOIR_F32, CHOIR_OP_SUM, NULL);
}
static choir_status sum_101(choir_comm *c, float *s, float *r)
{
	return sum_of(c, s, r, 101, CHOIR_F32, CHOIR_OP_SUM, NULL);
}
static choir_status sum_0(choir_comm *c, float *s, float *r)
{
	return sum_of(c, s, r, 0, CHOIR_F32, CHOIR_OP_SUM, NULL);
}
static choir_status sum_i32(choir_comm *c, float *s, float *r)
{
	return sum_of(c, s, r, 100, CHOIR_I32, CHOIR_OP_SUM, NULL);
}
static choir_status max_100(choir_comm *c, float *s, float *r)
{
	return sum_of(c, s, r, 100, CHOIR_F32, CHOIR_OP_MAX, NULL);
}
static choir_status local_100(choir_comm *c, float *s, float *r)
{
	return sum_of(c, s, r, 100, CHOIR_F32, CHOIR_OP_LOCAL, NULL);
}

static choir_status barrier(choir_comm *c, float *s, float *r)
{
	(void)s, (void)r;
	return choir_barrier(c, NULL, NULL);
}

static choir_status ring(choir_comm *c, float *s, float *r)
{
	static const char *const names[] = { "algorithm=twoshot", "algorithm=ring", "algorithm=hier_ring" };

	return sum_of(c, s, r, 100, CHOIR_F32, CHOIR_OP_SUM,
	              names[choir_comm_nodes(c) == 1                    ? 0
	                    : choir_comm_nodes(c) == choir_comm_size(c) ? 1
	                                                                : 2]);
}

static choir_status cast_0(choir_comm *c, float *s, float *r)
{
	return choir_broadcast(c, choir_host(s), choir_host(r), 100, CHOIR_F32, 0, NULL, NULL);
}
static choir_status cast_1(choir_comm *c, float *s, float *r)
{
	return choir_broadcast(c, choir_host(s), choir_host(r), 100, CHOIR_F32, 1, NULL, NULL);
}
static choir_status to_0(choir_comm *c, float *s, float *r)
{
	return choir_reduce(c, choir_host(s), choir_host(r), 100, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, NULL);
}
static choir_status to_1(choir_comm *c, float *s, float *r)
{
	return choir_reduce(c, choir_host(s), choir_host(r), 100, CHOIR_F32, CHOIR_OP_SUM, 1, NULL, NULL);
}
static choir_status gather_100(choir_comm *c, float *s, float *r)
{
	return choir_allgather(c, choir_host(s), choir_host(r), 100, CHOIR_F32, NULL, NULL);
}

static choir_status gather_v(choir_comm *c, float *s, float *r, size_t last)
{
	size_t counts[8];

	for (int i = 0; i < choir_comm_size(c); i++)
		counts[i] = 50;
	counts[choir_comm_size(c) - 1] = last;
	return choir_allgatherv(c, choir_host(s), counts[choir_comm_rank(c)], choir_host(r), counts, NULL, CHOIR_F32,
	                        NULL, NULL);
}

static choir_status gather_v50(choir_comm *c, float *s, float *r)
{
	return gather_v(c, s, r, 50);
}
static choir_status gather_v51(choir_comm *c, float *s, float *r)
{
	return gather_v(c, s, r, 51);
}
static choir_status scatter_100(choir_comm *c, float *s, float *r)
{
	return choir_reduce_scatter(c, choir_host(s), choir_host(r), 100, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
}
static choir_status scatter_90(choir_comm *c, float *s, float *r)
{
	return choir_reduce_scatter(c, choir_host(s), choir_host(r), 90, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
}

static choir_status scatter_v(choir_comm *c, float *s, float *r, size_t last)
{
	size_t counts[8];

	for (int i = 0; i < choir_comm_size(c); i++)
		counts[i] = 50;
	counts[choir_comm_size(c) - 1] = last;
	return choir_reduce_scatterv(c, choir_host(s), choir_host(r), counts, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
}

static choir_status scatter_v50(choir_comm *c, float *s, float *r)
{
	return scatter_v(c, s, r, 50);
}
static choir_status scatter_v51(choir_comm *c, float *s, float *r)
{
	return scatter_v(c, s, r, 51);
}
static choir_status turn_100(choir_comm *c, float *s, float *r)
{
	return choir_alltoall(c, choir_host(s), choir_host(r), 100, CHOIR_F32, NULL, NULL);
}
static choir_status turn_99(choir_comm *c, float *s, float *r)
{
	return choir_alltoall(c, choir_host(s), choir_host(r), 99, CHOIR_F32, NULL, NULL);
}

static choir_status turn_v(choir_comm *c, float *s, float *r, choir_dtype dtype, const char *options)
{
	static const size_t counts[] = { 50, 50, 50, 50, 50, 50, 50, 50 };
	choir_call call = CHOIR_CALL_INIT;

	call.options = options;
	return choir_alltoallv(c, choir_host(s), counts, NULL, choir_host(r), counts, NULL, dtype, &call, NULL);
}

static choir_status turn_auto(choir_comm *c, float *s, float *r)
{
	return turn_v(c, s, r, CHOIR_F32, NULL);
}
static choir_status turn_i32(choir_comm *c, float *s, float *r)
{
	return turn_v(c, s, r, CHOIR_I32, NULL);
}

static choir_status turn_named(choir_comm *c, float *s, float *r)
{
	return turn_v(c, s, r, CHOIR_F32, choir_comm_nodes(c) == 1 ? "algorithm=slots" : "algorithm=pairwise");
}

static choir_status sparse(choir_comm *c, float *r, choir_dtype ind, choir_dtype val, choir_op op, const char *options)
{
	static int64_t indices[4] = { 1, 2, 3, 4 };
	static float rows[8];
	choir_call call = CHOIR_CALL_INIT;
	size_t n_ind = 100, n_val = 200;

	call.options = options;
	return choir_sparse_allreduce(c, choir_host(indices), 4, choir_host(rows), 8, choir_host(r), &n_ind,
	                              choir_host(r + 1000), &n_val, ind, val, op, NULL, &call, NULL);
}

static choir_status sparse_sum(choir_comm *c, float *s, float *r)
{
	(void)s;
	return sparse(c, r, CHOIR_I64, CHOIR_F32, CHOIR_OP_SUM, NULL);
}
static choir_status sparse_i32(choir_comm *c, float *s, float *r)
{
	(void)s;
	return sparse(c, r, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL);
}
static choir_status sparse_max(choir_comm *c, float *s, float *r)
{
	(void)s;
	return sparse(c, r, CHOIR_I64, CHOIR_F32, CHOIR_OP_MAX, NULL);
}
static choir_status sparse_bf16(choir_comm *c, float *s, float *r)
{
	(void)s;
	return sparse(c, r, CHOIR_I64, CHOIR_BF16, CHOIR_OP_SUM, NULL);
}
static choir_status sparse_split(choir_comm *c, float *s, float *r)
{
	(void)s;
	return sparse(c, r, CHOIR_I64, CHOIR_F32, CHOIR_OP_SUM, "algorithm=split");
}

static const struct variant variants[] = {
	{ "count", "100 x f32|101 x f32", sum_100, sum_101 },
	{ "count 0", "100 x f32|allreduce", sum_100, sum_0 },
	{ "dtype", "100 x f32|100 x i32", sum_100, sum_i32 },
	{ "op", "sum|max", sum_100, max_100 },
	{ "op local", "sum|local", sum_100, local_100 },
	{ "collective", "allreduce|allgather", sum_100, gather_100 },
	{ "barrier", "allreduce|barrier", sum_100, barrier },
	{ "barrier too", "allreduce|barrier", barrier, sum_100 },
	{ "algorithm", "allreduce", sum_100, ring },
	{ "root of broadcast", "root 0|root 1", cast_0, cast_1 },
	{ "root of reduce", "root 0|root 1", to_0, to_1 },
	{ "broadcast for reduce", "broadcast|reduce", cast_0, to_0 },
	{ "counts of allgatherv", "allgatherv", gather_v50, gather_v51 },
	{ "gather for allgatherv", "allgather", gather_v50, gather_100 },
	{ "reduce_scatter", "100 x f32|90 x f32", scatter_100, scatter_90 },
	{ "counts of reduce_scatterv", "reduce_scatterv", scatter_v50, scatter_v51 },
	{ "alltoall", "100 x f32|99 x f32", turn_100, turn_99 },
	{ "alltoallv for alltoall", "alltoall|alltoallv", turn_100, turn_auto },
	{ "dtype of alltoallv", "f32|i32", turn_auto, turn_i32 },
	{ "algorithm of alltoallv", "auto", turn_auto, turn_named },
	{ "sparse for dense", "allreduce|sparse_allreduce", sum_100, sparse_sum },
	{ "sparse index", "sparse_allreduce", sparse_sum, sparse_i32 },
	{ "sparse op", "sum|max", sparse_sum, sparse_max },
	{ "sparse value", "f32|bf16", sparse_sum, sparse_bf16 },
	{ "sparse algorithm", "auto|split", sparse_sum, sparse_split },
};

struct trial {
	const struct variant *variant;
	int odd;
};

static void differ(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct trial *t = arg;
	static __thread float send[ROOM], recv[ROOM];
	choir_status st;
	char at_once[512];

	for (int i = 0; i < ROOM; i++) {
		send[i] = (float)rank + 10;
		recv[i] = -7;
	}
	CHECK(sum_works(comm, 10));
	line_up(); /* a failure takes with it whatever is unfinished */
	st = (rank == t->odd ? t->variant->odd : t->variant->usual)(comm, send, recv);
	strcpy(at_once, st == CHOIR_SUCCESS ? "" : choir_last_error());
	/* a broadcast's receiver waits for its root alone, and "local" for nobody */
	for (int i = 0;
	     i < ROOM && choir_comm_nodes(comm) == 1 && t->variant->usual != cast_0 && t->variant->odd != local_100;
	     i++)
		if (recv[i] != -7 && recv[i] != send[i]) { /* an allgather may have placed its own block */
			world_fail(world, rank, "%s: wrote element %d (%s)", t->variant->name, i,
			           choir_status_name(st));
			break;
		}
	/* A rank that had nothing to wait for may have left its call; it learns of the failure in a later one. */
	for (int i = 0; i < 50 && st == CHOIR_SUCCESS; i++)
		st = choir_barrier(comm, NULL, NULL);
	if (st != CHOIR_MISMATCH || !says(choir_last_error(), "rank|rank"))
		world_fail(world, rank, "%s: %s: %s", t->variant->name, choir_status_name(st), choir_last_error());
	else if (at_once[0] != '\0' && !says(at_once, t->variant->says))
		world_fail(world, rank, "%s: \"%s\" does not say %s", t->variant->name, at_once, t->variant->says);
	if (strstr(at_once, "root") != NULL && strstr(at_once, "broadcast") == NULL &&
	    strstr(at_once, " reduce #") == NULL)
		world_fail(world, rank, "%s: \"%s\" speaks of a root", t->variant->name, at_once);
	IS(choir_comm_status(comm), CHOIR_MISMATCH);
	IS(sum_100(comm, send, recv), CHOIR_MISMATCH);
}

static void on_layout(int n, int per_node, int odd)
{
	for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
		struct trial t = { &variants[v], odd };

		line_up_run(n, per_node, 20000, differ, &t);
	}
}

static void test_node(void **state)
{
	(void)state;
	on_layout(2, 0, 0);
	on_layout(2, 0, 1);
	on_layout(3, 0, 0);
	on_layout(3, 0, 2);
}

static void test_network(void **state)
{
	(void)state;
	on_layout(2, 1, 0);
	on_layout(2, 1, 1);
	on_layout(3, 1, 0);
	on_layout(5, 1, 4);
}

/* The first of its node, the second, and one that is alone on it. */
static void test_nodes(void **state)
{
	(void)state;
	on_layout(4, 2, 0);
	on_layout(4, 2, 3);
	on_layout(5, 2, 4);
}

/* send and recv: the receiver knows; the sender learns it. */
static void pair(struct world *world, int rank, choir_comm *comm, void *arg)
{
	float values[64] = { 0 };
	choir_status st;

	(void)arg;
	if (rank == 0)
		st = choir_send(comm, choir_host(values), 8, CHOIR_F32, 1, NULL, NULL);
	else
		st = choir_recv(comm, choir_host(values), 9, CHOIR_F32, 0, NULL, NULL);
	CHECK(rank == 0 || (st == CHOIR_MISMATCH && says(choir_last_error(), "8 x f32|9 x f32|rank 0|rank 1")));
	for (int i = 0; i < 50 && st == CHOIR_SUCCESS; i++)
		st = choir_barrier(comm, NULL, NULL);
	CHECK(st == CHOIR_MISMATCH && says(choir_last_error(), "8 x f32|9 x f32"));
}

static void test_pair(void **state)
{
	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		world_run_at(2, per_node, 20000, pair, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_node), cmocka_unit_test(test_network),
		                            cmocka_unit_test(test_nodes), cmocka_unit_test(test_pair) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
