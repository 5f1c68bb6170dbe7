/* SPDX-License-Identifier: MIT */
/* gather(v), scatter(v), scan and exscan beside the table of test_dense: buffers that are left out, wrong arguments,
 * calls that differ, and the bits of a scan. */
#include "seeded.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 5, BLOCK = 300, BITS = 5000 };

static void wrong_calls(struct world *world, choir_comm *comm)
{
	static float a[64], b[64];
	choir_buffer s = choir_host(a), r = choir_host(b), none = choir_none();
	size_t counts[] = { 4, 4 }, apart[] = { 0, 2 }, huge[] = { (size_t)1 << 61, 4 }, long_block = SIZE_MAX / 4;
	choir_status wrong = CHOIR_ARGUMENT;
	int rank = 0;

	SAYS(choir_gather(comm, s, none, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_gather|recv");
	SAYS(choir_gather(comm, none, r, 4, CHOIR_F32, 1, NULL, NULL), wrong, "choir_gather|send");
	SAYS(choir_gather(comm, s, r, 4, CHOIR_F32, 2, NULL, NULL), wrong, "choir_gather|rank 2");
	SAYS(choir_gather(comm, s, r, 4, CHOIR_F32, -1, NULL, NULL), wrong, "choir_gather|rank -1");
	SAYS(choir_gather(comm, s, r, long_block, CHOIR_F32, 0, NULL, NULL), wrong, "choir_gather|2^63");
	SAYS(choir_gather(comm, choir_host(b + 1), r, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_gather|overlap");
	SAYS(choir_gather(NULL, s, r, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_gather|null");
	SAYS(choir_scatter(comm, none, r, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_scatter|send");
	SAYS(choir_scatter(comm, none, none, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_scatter|send");
	SAYS(choir_scatter(comm, s, none, 4, CHOIR_F32, 1, NULL, NULL), wrong, "choir_scatter|recv");
	SAYS(choir_scatter(comm, s, choir_host(a + 2), 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_scatter|overlap");
	SAYS(choir_scatter(comm, s, choir_host((char *)b + 2), 4, CHOIR_F32, 0, NULL, NULL), wrong, "4 bytes");
	SAYS(choir_gatherv(comm, s, 4, r, NULL, NULL, CHOIR_F32, 0, NULL, NULL), wrong, "choir_gatherv|recv_counts");
	SAYS(choir_gatherv(comm, s, 3, r, counts, NULL, CHOIR_F32, 0, NULL, NULL), wrong,
	     "choir_gatherv|rank 0 sends 3|recv_counts says 4");
	SAYS(choir_gatherv(comm, s, 4, r, counts, apart, CHOIR_F32, 0, NULL, NULL), wrong, "choir_gatherv|overlap");
	SAYS(choir_gatherv(comm, s, 4, r, counts, NULL, CHOIR_F32, 2, NULL, NULL), wrong, "choir_gatherv|rank 2");
	SAYS(choir_scatterv(comm, s, NULL, NULL, r, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_scatterv|send_counts");
	SAYS(choir_scatterv(comm, s, counts, NULL, r, 5, CHOIR_F32, 0, NULL, NULL), wrong,
	     "choir_scatterv|rank 0 receives 5|send_counts says 4");
	SAYS(choir_scatterv(comm, s, huge, NULL, r, 4, CHOIR_F32, 0, NULL, NULL), wrong, "choir_scatterv|rank 0|2^63");
	SAYS(choir_scan(comm, s, none, 4, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), wrong, "choir_scan|recv");
	SAYS(choir_scan(comm, s, r, 4, 77, CHOIR_OP_SUM, NULL, NULL), wrong, "choir_scan|77");
	SAYS(choir_scan(comm, s, r, 4, CHOIR_F32, 77, NULL, NULL), wrong, "choir_scan");
	SAYS(choir_scan(comm, s, r, 4, CHOIR_F32, CHOIR_OP_MEAN, NULL, NULL), CHOIR_UNSUPPORTED, "choir_scan|mean");
	SAYS(choir_exscan(comm, s, r, 4, CHOIR_F32, CHOIR_OP_MEAN, NULL, NULL), CHOIR_UNSUPPORTED,
	     "choir_exscan|mean|exscan");
	SAYS(choir_exscan(comm, s, r, 4, CHOIR_F32, CHOIR_OP_LOCAL, NULL, NULL), CHOIR_UNSUPPORTED,
	     "choir_exscan|local");
	SAYS(choir_supports(comm, "scan", CHOIR_F32, CHOIR_OP_MEAN, none), CHOIR_UNSUPPORTED, "mean|scan");
	OK(choir_supports(comm, "scan", CHOIR_F32, CHOIR_OP_LOCAL, none));
	SAYS(choir_supports(comm, "exscan", CHOIR_F32, CHOIR_OP_LOCAL, none), CHOIR_UNSUPPORTED, "local|exscan");
	OK(choir_supports(comm, "gatherv", CHOIR_BF16, CHOIR_OP_BXOR, none));
}

static void wrong_arguments(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	if (rank == 0)
		wrong_calls(world, comm);
	CHECK(sum_works(comm, 7)); /* nothing was sent */
}

static void test_arguments(void **state)
{
	(void)state;
	world_run_at(2, 0, 20000, wrong_arguments, NULL);
}

/* Roots, and counts of one block, that differ: a sentence that names both calls. */
static void differing(struct world *world, int rank, choir_comm *comm, void *counts_differ)
{
	static float a[2][64], b[2][64];
	size_t counts[] = { 4, counts_differ != NULL && rank == 1 ? 5 : 4 };
	int root = counts_differ == NULL ? rank : 0;
	choir_status st;

	st = choir_gatherv(comm, choir_host(a[rank]), counts[rank], choir_host(b[rank]), counts, NULL, CHOIR_F32, root,
	                   NULL, NULL);
	if (rank != root && st == CHOIR_SUCCESS) /* a sender need not wait for the root */
		return;
	SAYS(st, CHOIR_MISMATCH, counts_differ != NULL ? "calls differ|gatherv" : "calls differ|gatherv|root 0|root 1");
}

static void test_mismatch(void **state)
{
	int differ = 1;

	(void)state;
	for (int per_node = 0; per_node < 2; per_node++) {
		world_run_at(2, per_node, 20000, differing, NULL);
		world_run_at(2, per_node, 20000, differing, &differ);
	}
}

/* --- buffers that are left out --- */

static float value(int rank, size_t i)
{
	return (float)(rank * 1000) + (float)(i % 997);
}

static void left_out(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float all[MOST_RANKS * BLOCK], one[BLOCK];
	int n = world->n;

	(void)unused;
	for (int root = 0; root < n; root++) {
		bool is_root = rank == root;

		for (size_t i = 0; i < BLOCK; i++)
			one[i] = all[(size_t)rank * BLOCK + i] = value(rank, i);
		OK(choir_gather(comm, is_root ? choir_none() : choir_host(one),
		                is_root ? choir_host(all) : choir_none(), BLOCK, CHOIR_F32, root, NULL, NULL));
		for (size_t i = 0; i < (size_t)n * BLOCK && is_root; i++)
			CHECK(all[i] == value((int)(i / BLOCK), i % BLOCK));
		memset(one, 0, sizeof one);
		OK(choir_scatter(comm, is_root ? choir_host(all) : choir_none(),
		                 is_root ? choir_none() : choir_host(one), BLOCK, CHOIR_F32, root, NULL, NULL));
		for (size_t i = 0; i < BLOCK && !is_root; i++)
			CHECK(one[i] == value(rank, i));
	}
}

static void test_left_out(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (int n = 1; n <= MOST_RANKS; n += 2)
			world_run_at(n, per_node, 20000, left_out, NULL);
}

/* --- the bits of a scan: a left fold in rank order, by every algorithm and layout --- */

static float random_float(int rank, size_t i)
{
	return (float)((double)(int64_t)random_mix((uint64_t)rank << 32 ^ i * 3) / 1e18);
}

static void left_fold(struct world *world, int rank, choir_comm *comm, void *options)
{
	float *send = calloc(BITS, sizeof *send), *scan = calloc(BITS, sizeof *scan), *ex = calloc(BITS, sizeof *ex);
	choir_call call = CHOIR_CALL_INIT;

	call.options = options;
	for (size_t i = 0; i < BITS; i++)
		send[i] = random_float(rank, i);
	OK(choir_scan(comm, choir_host(send), choir_host(scan), BITS, CHOIR_F32, CHOIR_OP_SUM, &call, NULL));
	OK(choir_exscan(comm, choir_host(send), choir_host(ex), BITS, CHOIR_F32, CHOIR_OP_SUM, &call, NULL));
	for (size_t i = 0; i < BITS; i++) {
		volatile float sum = random_float(0, i);

		for (int r = 1; r < rank; r++)
			sum += random_float(r, i);
		CHECK(rank == 0 || memcmp(&ex[i], (const float *)&sum, sizeof sum) == 0);
		if (rank > 0)
			sum += random_float(rank, i);
		CHECK(memcmp(&scan[i], (const float *)&sum, sizeof sum) == 0);
	}
	free(send);
	free(scan);
	free(ex);
}

static void test_bits(void **state)
{
	static const char *const options[] = { "algorithm=auto", "algorithm=chain", "algorithm=pairwise" };

	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (size_t o = 0; o < sizeof options / sizeof *options; o++)
			world_run_at(MOST_RANKS, per_node, 20000, left_fold, (void *)options[o]);
	world_run_at(MOST_RANKS, 0, 20000, left_fold, (char *)"algorithm=slots");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_arguments), cmocka_unit_test(test_mismatch),
		                            cmocka_unit_test(test_left_out), cmocka_unit_test(test_bits) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
