/* SPDX-License-Identifier: MIT */
/* gather(v), scatter(v), scan, exscan and the other calls of blocks as persistent forms: each started again and again
 * with other data, and all in one sequence. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 8, BLOCK = 300 };

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
	case GATHER:
		return choir_gather_init(comm, s, r, BLOCK, CHOIR_F32, 0, NULL, request_p);
	case GATHERV:
		return choir_gatherv_init(comm, s, mine, r, p->counts, NULL, CHOIR_F32, 0, NULL, request_p);
	case SCATTER:
		return choir_scatter_init(comm, s, r, BLOCK, CHOIR_F32, 0, NULL, request_p);
	case SCATTERV:
		return choir_scatterv_init(comm, s, p->counts, NULL, r, mine, CHOIR_F32, 0, NULL, request_p);
	case SCAN:
		return choir_scan_init(comm, s, r, BLOCK, CHOIR_F32, CHOIR_OP_SUM, NULL, request_p);
	case EXSCAN:
		return choir_exscan_init(comm, s, r, BLOCK, CHOIR_F32, CHOIR_OP_SUM, NULL, request_p);
	case RSV:
		return choir_reduce_scatterv_init(comm, s, r, p->counts, CHOIR_F32, CHOIR_OP_SUM, NULL, request_p);
	default:
		return choir_allgatherv_init(comm, s, mine, r, p->counts, NULL, CHOIR_F32, NULL, request_p);
	}
}

/* Element i of that rank's send, in that round. */
static float input(int rank, size_t i, int round)
{
	return (float)(rank * 1000) + (float)(i % 997) + (float)(round * 8);
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

static void set_counts(struct persistent *p, int n)
{
	for (int r = 0; r < n; r++)
		p->counts[r] = (size_t)(r * 37 % 5) * 20;
}

static void fill(struct persistent *p, int rank, int round)
{
	for (size_t i = 0; i < MOST_RANKS * BLOCK; i++) {
		p->send[i] = input(rank, i, round);
		p->recv[i] = -1;
	}
}

static void compare(struct world *world, int rank, int form, struct persistent *p, int round)
{
	set_counts(p, world->n);
	for (size_t i = 0; i < MOST_RANKS * BLOCK; i++)
		if (p->recv[i] != wanted(form, p, world->n, rank, i, round)) {
			world_fail(world, rank, "form %d, round %d, element %zu is %g", form, round, i,
			           (double)p->recv[i]);
			return;
		}
}

static void start_thrice(struct world *world, int rank, choir_comm *comm, int form, struct persistent *p)
{
	choir_request *request = NULL;

	set_counts(p, world->n);
	if (!OK(make_request(comm, form, p, &request)))
		return;
	memset(p->counts, 0xff, sizeof p->counts); /* the request has its own */
	for (int round = 0; round < 3; round++) {
		fill(p, rank, round);
		OK(choir_start(request, NULL, NULL));
		compare(world, rank, form, p, round);
	}
	choir_request_free(request);
}

/* All forms, a barrier, a ring of sendrecvs and a list of padded blocks, as one sequence. */
static void in_one_sequence(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct persistent *p = calloc(N_FORMS, sizeof *p);
	int32_t out = rank, in = -1, block[2] = { 0 }, vector[3] = { 1, 2, 3 };
	choir_tensor padded = { choir_host(vector), choir_host(block), 3, CHOIR_I32 };
	int next = (rank + 1) % world->n, before = (rank + world->n - 1) % world->n;
	choir_request *requests[N_FORMS + 3] = { NULL };
	choir_sequence *sequence = NULL;

	(void)unused;
	for (int form = 0; form < N_FORMS; form++) {
		set_counts(&p[form], world->n);
		OK(make_request(comm, form, &p[form], &requests[form]));
	}
	OK(choir_barrier_init(comm, NULL, &requests[N_FORMS]));
	OK(choir_sendrecv_init(comm, choir_host(&out), 1, next, choir_host(&in), 1, before, CHOIR_I32, NULL,
	                       &requests[N_FORMS + 1]));
	OK(choir_reduce_scatter_padded_multi_init(comm, &padded, 1, CHOIR_OP_SUM, NULL, &requests[N_FORMS + 2]));
	OK(choir_sequence_create(requests, N_FORMS + 3, &sequence));
	for (int round = 0; round < 3 && sequence != NULL; round++) {
		for (int form = 0; form < N_FORMS; form++)
			fill(&p[form], rank, round);
		out = rank + 10 * round;
		vector[0] = 1 + round;
		OK(choir_sequence_start(sequence, NULL, NULL));
		for (int form = 0; form < N_FORMS; form++)
			compare(world, rank, form, &p[form], round);
		CHECK(in == before + 10 * round);
		CHECK(rank > 0 || block[0] == world->n * (1 + round));
	}
	choir_sequence_free(sequence);
	for (int i = 0; i < N_FORMS + 3; i++)
		choir_request_free(requests[i]);
	free(p);
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
	static const int sizes[] = { 1, 2, 3, 5, MOST_RANKS };

	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			world_run_at(sizes[i], per_node, 60000, persistent, NULL);
			if (sizes[i] > 1)
				world_run_at(sizes[i], per_node, 60000, in_one_sequence, NULL);
		}
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_persistent), cmocka_unit_test(test_pair_requests) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
