/* SPDX-License-Identifier: MIT */
/* gather(v), scatter(v), scan and exscan beside the table of test_dense: buffers that are left out, wrong arguments,
 * calls that differ, persistent forms, and the bits of a scan. */
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

/* --- persistent forms: started three times, with other data each time --- */

struct persistent {
	float send[MOST_RANKS * BLOCK], recv[MOST_RANKS * BLOCK];
	size_t counts[MOST_RANKS];
};

enum { GATHER, GATHERV, SCATTER, SCATTERV, SCAN, EXSCAN, RSV, AGV, N_FORMS };

static choir_status make_request(choir_comm *comm, int form, struct persistent *p, choir_request **request_p)
{
	choir_buffer s = choir_host(p->send), r = choir_host(p->recv);
	size_t mine = p->counts[choir_comm_rank(comm)];

	switch (form) {
	case GATHER: return choir_gather_init(comm, s, r, BLOCK, CHOIR_F32, 0, NULL, request_p);
	case GATHERV: return choir_gatherv_init(comm, s, mine, r, p->counts, NULL, CHOIR_F32, 0, NULL, request_p);
	case SCATTER: return choir_scatter_init(comm, s, r, BLOCK, CHOIR_F32, 0, NULL, request_p);
	case SCATTERV: return choir_scatterv_init(comm, s, p->counts, NULL, r, mine, CHOIR_F32, 0, NULL, request_p);
	case SCAN: return choir_scan_init(comm, s, r, BLOCK, CHOIR_F32, CHOIR_OP_SUM, NULL, request_p);
	case EXSCAN: return choir_exscan_init(comm, s, r, BLOCK, CHOIR_F32, CHOIR_OP_SUM, NULL, request_p);
	case RSV: return choir_reduce_scatterv_init(comm, s, r, p->counts, CHOIR_F32, CHOIR_OP_SUM, NULL, request_p);
	default: return choir_allgatherv_init(comm, s, mine, r, p->counts, NULL, CHOIR_F32, NULL, request_p);
	}
}

/* Element i of that rank's send, in that round. */
static float input(int rank, size_t i, int round)
{
	return value(rank, i) + (float)(round * 8);
}

/* The element i of what the rank gets; NAN-free: -1 = nothing. */
static float wanted(int form, const struct persistent *p, int n, int rank, size_t i, int round)
{
	bool gathers = form == GATHER || form == GATHERV || form == AGV;
	size_t off = 0, at = i;
	float sum = 0;
	int from = 0;

	if ((rank != 0 && (form == GATHER || form == GATHERV)) || (form == EXSCAN && rank == 0))
		return -1;
	if (gathers) {
		for (; from < n && at >= (form == GATHER ? BLOCK : p->counts[from]); from++)
			at -= form == GATHER ? BLOCK : p->counts[from];
		return from < n ? input(from, at, round) : -1;
	}
	for (int r = 0; r < rank && form != SCAN && form != EXSCAN; r++)
		off += form == SCATTER ? BLOCK : p->counts[r];
	if (i >= (form == SCATTERV || form == RSV ? p->counts[rank] : (size_t)BLOCK))
		return -1;
	if (form == SCATTER || form == SCATTERV)
		return input(0, off + i, round);
	for (int r = 0; r < (form == RSV ? n : form == SCAN ? rank + 1 : rank); r++)
		sum += input(r, off + i, round);
	return sum;
}

static void start_thrice(struct world *world, int rank, choir_comm *comm, int form, struct persistent *p)
{
	choir_request *request = NULL;

	for (int r = 0; r < world->n; r++)
		p->counts[r] = (size_t)(r * 37 % 5) * 20;
	if (!OK(make_request(comm, form, p, &request)))
		return;
	memset(p->counts, 0xff, sizeof p->counts); /* the request has its own */
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < MOST_RANKS * BLOCK; i++) {
			p->send[i] = input(rank, i, round);
			p->recv[i] = -1;
		}
		OK(choir_start(request, NULL, NULL));
		for (int r = 0; r < world->n; r++)
			p->counts[r] = (size_t)(r * 37 % 5) * 20;
		for (size_t i = 0; i < MOST_RANKS * BLOCK; i++)
			if (p->recv[i] != wanted(form, p, world->n, rank, i, round)) {
				world_fail(world, rank, "form %d, round %d, element %zu is %g", form, round, i,
				           (double)p->recv[i]);
				break;
			}
	}
	choir_request_free(request);
}

static void persistent(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct persistent *p = malloc(sizeof *p);

	(void)unused;
	for (int form = 0; form < N_FORMS; form++)
		start_thrice(world, rank, comm, form, p);
	free(p);
}

static void test_persistent(void **state)
{
	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		for (int n = 1; n <= 3; n++)
			world_run_at(n, per_node, 20000, persistent, NULL);
}

/* A ring of persistent sendrecvs, and a pair of persistent send and recv, which meet ordinary calls in round 1. */
static void pair_requests(struct world *world, int rank, choir_comm *comm, void *count_p)
{
	size_t count = *(const size_t *)count_p;
	int n = world->n, next = (rank + 1) % n, previous = (rank + n - 1) % n;
	float *sent = calloc(count, sizeof *sent), *got = calloc(count, sizeof *got);
	choir_buffer s = choir_host(sent), r = choir_host(got);
	choir_request *ring = NULL, *pair = NULL;

	OK(choir_sendrecv_init(comm, s, count, next, r, count, previous, CHOIR_F32, NULL, &ring));
	if (rank < 2)
		OK(rank == 0 ? choir_send_init(comm, s, count, CHOIR_F32, 1, NULL, &pair)
		             : choir_recv_init(comm, r, count, CHOIR_F32, 0, NULL, &pair));
	for (int round = 0; round < 3 && ring != NULL; round++) {
		for (size_t i = 0; i < count; i++)
			sent[i] = input(rank, i, round);
		OK(choir_start(ring, NULL, NULL));
		for (size_t i = 0; i < count; i++)
			CHECK(got[i] == input(previous, i, round));
		memset(got, 0, count * sizeof *got);
		if (rank == 0 && round == 1)
			OK(choir_send(comm, s, count, CHOIR_F32, 1, NULL, NULL));
		else if (rank < 2)
			OK(choir_start(pair, NULL, NULL));
		for (size_t i = 0; i < count && rank == 1; i++)
			CHECK(got[i] == input(0, i, round));
	}
	choir_request_free(ring);
	choir_request_free(pair);
	free(sent);
	free(got);
}

static void wrong_requests(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float a[4];
	choir_request *request = NULL;

	(void)unused;
	SAYS(choir_send_init(comm, choir_none(), 4, CHOIR_F32, 1, NULL, &request), CHOIR_ARGUMENT, "choir_send|send");
	SAYS(choir_recv_init(comm, choir_host(a), 4, CHOIR_F32, 2, NULL, &request), CHOIR_ARGUMENT,
	     "choir_recv|rank 2");
	SAYS(choir_sendrecv_init(comm, choir_host(a), 4, 1, choir_host(a), 4, 1, CHOIR_F32, NULL, &request),
	     CHOIR_ARGUMENT, "choir_sendrecv|overlap");
	SAYS(choir_send_init(comm, choir_host(a), 4, CHOIR_F32, 1, NULL, NULL), CHOIR_ARGUMENT, "choir_send_init|null");
	CHECK(request == NULL);
}

static void test_pair_requests(void **state)
{
	static size_t counts[] = { 1, 3000, 300000 };

	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
			world_run_at(3, per_node, 20000, pair_requests, &counts[i]);
	world_run_at(2, 0, 20000, wrong_requests, NULL);
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
		                            cmocka_unit_test(test_left_out), cmocka_unit_test(test_persistent),
		                            cmocka_unit_test(test_pair_requests),
		                            cmocka_unit_test(test_bits) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
